"""QR, LU and the pseudo-inverse.

Sources: Walter and Lehmann 2010, "Algorithmic differentiation of linear algebra functions", for QR;
de Hoog, Anderssen and Lukas 2011, "Differentiation of matrix functionals using triangular
factorization", for LU; Golub and Pereyra 1973 for the pseudo-inverse.
"""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LEADING, primitive
from talweg.core.dims import below, dims_differ
from talweg.core.dtypes import int32
from talweg.core.errors import compose, invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.kernels import linalg as kernels
from talweg.kernels.factorizations import lu_factors, orthogonal_triangular
from talweg.prims.arithmetic import zeros_of
from talweg.prims.contract import adjoint, matmul
from talweg.prims.indexing import gather
from talweg.prims.layout import concat, strided_slice
from talweg.prims.linalg.diagonal import band_part, matrix_set_diag
from talweg.prims.linalg.spectral import TALL, diagonal
from talweg.prims.linalg.systems import (
    RECTANGLE,
    ROOMY,
    ROOMY_COMPLEX,
    check_matrix,
    check_square,
    half_lower,
    triangular_solve,
)

CHOICE = NoGradient("the order of rows is piecewise constant")


def _rows(x, start: int, stop: object):
    """x[..., start:stop, :]."""
    lead = x.dims[:-2]
    return strided_slice(
        x,
        begin=(*(0,) * len(lead), start, 0),
        end=(*lead, stop, x.dims[-1]),
        strides=(1,) * len(x.dims),
    )


def _columns(x, start: object, stop: object):
    """x[..., start:stop]."""
    lead = x.dims[:-1]
    return strided_slice(
        x, begin=(*(0,) * len(lead), start), end=(*lead, stop), strides=(1,) * len(x.dims)
    )


def upper_of(x: object):
    """Return the upper triangle of x, diagonal halved."""
    return adjoint(half_lower(adjoint(x)))


def hermitian_from_upper(x: object):
    """Return the Hermitian matrix with the upper triangle of x
    and the real part of its diagonal.
    """
    half = upper_of(x)
    return half + adjoint(half)


def over_upper(x: object, r: object):
    """Return x r⁻¹ for upper triangular r."""
    return adjoint(triangular_solve(r, adjoint(x), lower=False, adjoint=True))


def over_upper_adjoint(x: object, r: object):
    """Return x r⁻ᴴ for upper triangular r."""
    return adjoint(triangular_solve(r, adjoint(x), lower=False, adjoint=False))


@primitive
class qr:
    """x = q r for x [..., m, n] with m >= n: q [..., m, n] with qᴴ q = 1, r upper triangular.

    If `full`, q is square and r has x's shape.  With p = qᴴ ẋ r⁻¹ and Φ = upper triangle, diagonal
    halved:  ṙ = Φ(p + pᴴ) r,  q̇ = (ẋ - q ṙ) r⁻¹;  with y = r̄ rᴴ - qᴴ q̄:
    x̄ = (q̄ + q (Φ(y) + Φ(y)ᴴ)) r⁻ᴴ.   A column q₂ beyond n moves by -q q̇ᴴ q₂.
    """

    operands = "x"
    multiple = True

    def infer(x, *, full):
        check_matrix("qr", "input", x)
        m, n = x.dims[-2:]
        if below(m, n):
            raise invalid(
                "TW204", f"qr: input has shape {x.dims}", "at least as many rows as columns"
            )
        inner = m if full else n
        return Aval((*x.dims[:-1], inner), x.dtype), Aval((*x.dims[:-2], inner, n), x.dtype)

    numpy = kernels.widen_kernel(orthogonal_triangular, 4)

    def vjp(g: tuple, z, x, *, full):
        gq, gr, q, r, extra = _thin(g, z, x)
        y = matmul(gr, adjoint(r)) - matmul(adjoint(q), gq)
        total = gq + matmul(q, hermitian_from_upper(y))
        if extra is not None:
            turned = matmul(adjoint(_columns(g[0], q.dims[-1], g[0].dims[-1])), q)
            total = total - matmul(extra, turned)
        return over_upper_adjoint(total, r)

    def jvp(t, z, x, *, full):
        _, _, q, r, extra = _thin(z, z, x)
        p = over_upper(matmul(adjoint(q), t), r)
        dr = matmul(upper_of(p + adjoint(p)), r)
        dq = over_upper(t - matmul(q, dr), r)
        if extra is None:
            return dq, dr
        turned = -matmul(q, matmul(adjoint(dq), extra))
        below = zeros_of(_rows(z[1], q.dims[-1], q.dims[-2]))
        axis = len(x.dims) - 1
        return concat(dq, turned, axis=axis), concat(dr, below, axis=axis - 1)

    batch = LEADING
    memory = "library"
    singular = "x of rank below n: the derivative needs r⁻¹"
    samples = (
        Sample(ROOMY, full=False),
        Sample(TALL, full=False),
        Sample(np.stack([TALL, TALL - 0.5]), full=False),
        Sample(TALL, full=True),
        Sample(ROOMY_COMPLEX, full=False),
        Sample([2, 0], full=False),
    )
    rejects = (
        Reject([3], full=False, code="TW203"),
        Reject(np.ones((2, 2), np.int32), full=False, code="TW102"),
    )


def _thin(g: tuple, z: tuple, x):
    """Return q̄, r̄, q, r without what only full matrices have,
    and the further column of q (or None).
    """
    (gq, gr), (q, r) = g, z
    m, n = x.dims[-2:]
    if q.dims[-1] == n:
        return gq, gr, q, r, None
    if m > n + 1:
        raise NotImplementedError(
            compose(
                "TW402",
                f"qr: no gradient for full_matrices=True and a tensor of shape {x.dims}: the basis "
                "of the complement is not determined by the tensor",
                hint="full_matrices=False",
            )
        )
    parts = _columns(gq, 0, n), _rows(gr, 0, n), _columns(q, 0, n), _rows(r, 0, n)
    return (*parts, _columns(q, n, m))


@primitive
class permute_rows:
    """z = x[p], or z[p] = x if `inverse`, for rows.   x [..., m, n], p [..., m]."""

    operands = "x p"
    no_gradient = {"p": CHOICE}

    def infer(x, p, *, inverse):
        if dims_differ(x.dims[:-1], p.dims):
            raise invalid(
                "TW204", f"permute_rows: perm has shape {p.dims} and rows have shape {x.dims}"
            )
        return x

    def numpy(x: np.ndarray, p, *, inverse):
        order = np.argsort(p, -1) if inverse else p
        if p.size and not 0 <= p.min() <= p.max() < x.shape[-2]:
            raise invalid("TW206", f"perm {p.tolist()}", f"numbers of {x.shape[-2]} rows")
        return np.take_along_axis(x, order[..., None].astype(np.intp), -2)

    def transpose_x(g, x, p, *, inverse):
        return permute_rows(g, p, inverse=not inverse)

    def expand(t, x, p, *, inverse):
        if inverse:
            return NotImplemented
        axis = len(x.dims) - 2
        return t.apply(gather, x, p, axis=axis, batch_dims=axis)

    def xla(j, x, p, *, inverse):
        order = j.numpy.argsort(p, -1) if inverse else p
        return j.numpy.take_along_axis(x, order[..., None], -2)

    batch = LEADING
    memory = "gather"
    samples = (
        Sample([3, 2], np.array([2, 0, 1]), inverse=False),
        Sample([2, 3, 2], np.array([[2, 0, 1], [0, 2, 1]]), inverse=True),
    )
    rejects = (Reject([3, 2], np.array([0, 1]), inverse=False, code="TW204"),)


def unit_lower(x: object):
    """Return the strictly lower triangle of x with ones on the diagonal."""
    ones = zeros_of(diagonal(x)) + 1
    low = band_part(x, lower=-1, upper=0)
    return matrix_set_diag(low, ones, low=0, high=0, align="RIGHT_LEFT")


def strict_lower(x: object):
    """Return the strictly lower triangle of x."""
    return x - band_part(x, lower=0, upper=-1)


@primitive
class lu:
    """x[p] = l u: l - 1 and u in one matrix, and the permutation p, by partial pivoting.

    With m = l⁻¹ ẋ[p] u⁻¹: the tangent is l strict_lower(m) + upper(m) u.
    """

    operands = "x"
    multiple = True

    def infer(x):
        check_square("lu", "input", x)
        return x, Aval(x.dims[:-1], int32)

    numpy = kernels.widen_kernel(lu_factors)

    def vjp(g: tuple, z, x):
        packed, p = z
        lower, upper = unit_lower(packed), band_part(packed, lower=0, upper=-1)
        g_lower, g_upper = strict_lower(g[0]), band_part(g[0], lower=0, upper=-1)
        m = strict_lower(matmul(adjoint(lower), g_lower))
        m = m + band_part(matmul(g_upper, adjoint(upper)), lower=0, upper=-1)
        m = triangular_solve(lower, over_upper_adjoint(m, upper), lower=True, adjoint=True)
        return permute_rows(m, p, inverse=True)

    def jvp(t, z, x):
        packed, p = z
        lower, upper = unit_lower(packed), band_part(packed, lower=0, upper=-1)
        moved = permute_rows(t, p, inverse=False)
        m = triangular_solve(lower, over_upper(moved, upper), lower=True, adjoint=False)
        above = band_part(m, lower=0, upper=-1)
        return matmul(lower, m - above) + matmul(above, upper), None

    batch = LEADING
    memory = "library"
    singular = "x of rank below full"
    samples = (
        Sample(ROOMY),
        Sample(ROOMY_COMPLEX),
        Sample(np.stack([ROOMY, ROOMY.T])),
        Sample([0, 0]),
    )
    rejects = (*RECTANGLE, Reject(np.zeros((2, 2), np.float32), code="TW209"))


@primitive
class pinv:
    """z = x⁺, the pseudo-inverse; singular values up to c times the largest count as zero.

    ż = -z ẋ z + z zᴴ ẋᴴ (1 - x z) + (1 - z x) ẋᴴ zᴴ z, while the rank does not change.
    """

    operands = "x c"

    def infer(x, c):
        check_matrix("pinv", "a", x)
        if dims_differ(c.dims, x.dims[:-2]):
            raise invalid(
                "TW204",
                f"pinv: rcond has shape {c.dims} and a has shape {x.dims}",
                f"shape {x.dims[:-2]}",
            )
        return Aval((*x.dims[:-2], x.dims[-1], x.dims[-2]), x.dtype)

    numpy = kernels.widen_kernel(kernels.pseudo_inverse, 16)

    def vjp(g, z, x, c):
        h, gh = adjoint(z), adjoint(g)
        side = matmul(gh, matmul(z, h))
        other = matmul(matmul(h, z), gh)
        left = side - matmul(x, matmul(z, side))
        right = other - matmul(matmul(other, z), x)
        return left + right - matmul(h, matmul(g, h)), None

    def jvp(t: tuple, z, x, c):
        t = t[0]
        h, th = adjoint(z), adjoint(t)
        side = matmul(matmul(z, h), th)
        other = matmul(th, matmul(h, z))
        left = side - matmul(matmul(side, x), z)
        right = other - matmul(z, matmul(x, other))
        return left + right - matmul(z, matmul(t, z))

    batch = LEADING
    memory = "library"
    singular = "x where its rank changes"
    samples = (
        Sample(ROOMY, np.array(1e-6)),
        Sample(TALL, np.array(1e-6)),
        Sample(np.stack([TALL.T, TALL.T + 1]), np.array([1e-6, 1e-6])),
        Sample(ROOMY_COMPLEX, np.array(1e-6)),
    )
    rejects = (Reject([3], [], code="TW203"), Reject([3, 3], [2], code="TW204"))
