"""Eigenvalues, eigenvectors, singular values and vectors.

Where values coincide their vectors are not determined; the factors 1 / (difference) of the
derivatives are then taken as 0, as in TensorFlow.  Complex vectors are determined up to a phase:
the derivatives are those of a choice of phase that does not turn with x, right for every function
that does not depend on the choice.  Sources: Giles 2008, "Collected matrix derivative results",
section 3; Seeger et al. 2017, "Auto-differentiating linear algebra"; Wan and Zhang 2019,
arXiv:1909.02659 (complex singular vectors).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LEADING, check_dtype, primitive
from talweg.core.dims import largest, smallest
from talweg.core.dtypes import complex64, float16
from talweg.core.errors import compose
from talweg.core.primitive import Reject, Sample
from talweg.kernels import linalg as kernels
from talweg.kernels.factorizations import eigen_hermitian
from talweg.prims.arithmetic import cast, zeros_of
from talweg.prims.complex import WIDER, conj, real
from talweg.prims.contract import adjoint, matmul
from talweg.prims.guarded import div_no_nan
from talweg.prims.layout import concat, reshape, strided_slice
from talweg.prims.linalg.diagonal import band_part, matrix_diag, matrix_diag_part, matrix_set_diag
from talweg.prims.linalg.systems import (
    FACTORED,
    HERMITIAN,
    POSITIVE,
    RECTANGLE,
    ROOMY,
    ROOMY_COMPLEX,
    check_matrix,
    check_square,
    half_lower,
    solve,
)

TALL = np.array([[1.0, 0.3], [-0.4, 2.0], [0.7, 0.2]], np.float32)


def diagonal(x: object):
    """Return the diagonal of the last two axes."""
    return matrix_diag_part(x, low=0, high=0, align="RIGHT_LEFT")


def diagonal_matrix(d):
    """Return the square matrix with diagonal d."""
    size = d.dims[-1]
    return matrix_diag(d, low=0, high=0, rows=size, columns=size, align="RIGHT_LEFT")


def row(d):
    """Return d [..., n] as [..., 1, n]: scales columns."""
    return reshape(d, shape=(*d.dims[:-1], 1, d.dims[-1]))


def column(d):
    """Return d [..., n] as [..., n, 1]: scales rows."""
    return reshape(d, shape=(*d.dims, 1))


def real_part(x):
    """Return re x, in x's dtype."""
    return cast(real(x), dtype=x.dtype) if x.dtype.is_complex else x


def inverse_or_zero(x: object):
    """Return 1 / x, and 0 where x = 0."""
    return div_no_nan(zeros_of(x) + 1, x)


def inverse_differences(w: object):
    """f[i, j] = 1 / (w[j] - w[i]), and 0 where they are equal."""
    return inverse_or_zero(row(w) - column(w))


def lower_as_hermitian(t: object):
    """Return the Hermitian matrix with the lower triangle of t
    and the real part of its diagonal.
    """
    half = half_lower(t)
    return half + adjoint(half)


def hermitian_as_lower(g: object):
    """Return the adjoint of `lower_as_hermitian`."""
    both = band_part(g + adjoint(g), lower=-1, upper=0)
    return matrix_set_diag(both, real_part(diagonal(g)), low=0, high=0, align="RIGHT_LEFT")


@primitive
class eigh:
    """x v = v diag(w), vᴴ v = 1, w ascending; only the lower triangle of x is read.

    With p = vᴴ ẋ v and f = 1 / (w_j - w_i):  ẇ = diag p,  v̇ = v (f ∘ p),
    x̄ = v (diag w̄ + f ∘ vᴴ v̄) vᴴ, gathered in the lower triangle.   Giles 2008, 3.1.
    """

    operands = "x"
    tf_type = "SelfAdjointEigV2"
    multiple = True

    def infer(x):
        check_square("eigh", "tensor", x)
        return Aval(x.dims[:-1], x.dtype.real_dtype), x

    numpy = kernels.widen_kernel(eigen_hermitian, 8)

    def vjp(g: tuple, z, x):
        (gw, gv), (w, v) = g, z
        f = cast(inverse_differences(w), dtype=x.dtype)
        inner = diagonal_matrix(cast(gw, dtype=x.dtype)) + f * matmul(adjoint(v), gv)
        return hermitian_as_lower(matmul(v, matmul(inner, adjoint(v))))

    def jvp(t, z, x):
        w, v = z
        p = matmul(adjoint(v), matmul(lower_as_hermitian(t), v))
        f = cast(inverse_differences(w), dtype=x.dtype)
        return cast(diagonal(p), dtype=w.dtype), matmul(v, f * p)

    batch = LEADING
    memory = "library"
    kinks = {"x": "where eigenvalues coincide the derivative of their vectors is taken as 0"}
    samples = (
        Sample(POSITIVE),
        Sample(np.stack([POSITIVE, ROOMY])),
        Sample(HERMITIAN, skip=("forward", "second")),  # the phase of vectors is LAPACK's choice
        Sample([0, 0]),
    )
    rejects = RECTANGLE


@primitive
class eigvalsh:
    """w, the eigenvalues of x, ascending.   x̄ = v diag(w̄) vᴴ, gathered in the lower triangle."""

    operands = "x"
    tf_type = "SelfAdjointEigV2"

    def infer(x):
        check_square("eigvalsh", "tensor", x)
        return Aval(x.dims[:-1], x.dtype.real_dtype)

    numpy = kernels.widen_kernel(kernels.eigenvalues_hermitian, 4)

    def vjp(g, w, x):
        _, v = eigh(x)
        return hermitian_as_lower(matmul(v * row(cast(g, dtype=x.dtype)), adjoint(v)))

    def jvp(t, w, x):
        _, v = eigh(x)
        p = matmul(adjoint(v), matmul(lower_as_hermitian(t), v))
        return cast(diagonal(p), dtype=w.dtype)

    batch = LEADING
    memory = "library"
    samples = (Sample(POSITIVE), Sample(np.stack([POSITIVE, ROOMY])), Sample(HERMITIAN))
    rejects = RECTANGLE


@primitive
class eig:
    """x v = v diag(w), columns of v of length 1; complex.

    With c = f ∘ v⁻¹ẋ v:  ẇ = diag v⁻¹ẋ v,  v̇ = v c - v diag Re diag vᴴ v c (length stays 1).
    x̄ = v⁻ᴴ (diag w̄ + f* ∘ (vᴴ v̄ - vᴴ v diag Re diag vᴴ v̄)) vᴴ.
    """

    operands = "x"
    multiple = True

    def infer(x: Any):
        check_square("eig", "tensor", x)
        check_dtype("eig", "tensor", x.dtype, FACTORED - {float16})
        dtype: Any = WIDER.get(x.dtype, x.dtype)
        return Aval(x.dims[:-1], dtype), Aval(x.dims, dtype)

    numpy = kernels.eigen_general

    def vjp(g: tuple, z, x):
        (gw, gv), (w, v) = g, z
        h = adjoint(v)
        inner = matmul(h, gv)
        inner = inner - matmul(h, v) * row(real_part(diagonal(inner)))
        inner = diagonal_matrix(gw) + conj(inverse_differences(w)) * inner
        full = solve(v, matmul(inner, h), adjoint=True)
        return full if x.dtype.is_complex else cast(real(full), dtype=x.dtype)

    def jvp(t, z, x):
        w, v = z
        p = solve(v, matmul(cast(t, dtype=v.dtype), v), adjoint=False)
        step = matmul(v, inverse_differences(w) * p)
        length = real_part(diagonal(matmul(adjoint(v), step)))
        return diagonal(p), step - v * row(length)

    batch = LEADING
    memory = "library"
    kinks = {"x": "where eigenvalues coincide the derivative of their vectors is taken as 0"}
    samples = (
        Sample(ROOMY),
        Sample(np.stack([ROOMY, ROOMY.T])),
        Sample(
            ROOMY_COMPLEX, skip=("forward", "second")
        ),  # the phase of vectors is LAPACK's choice
    )
    rejects = RECTANGLE


def _svd_dims(x, full: bool):
    m, n = x.dims[-2:]
    lead, count = x.dims[:-2], smallest(m, n)
    return ((*lead, count), (*lead, m, m if full else count), (*lead, n, n if full else count))


def _columns(x, start: object, stop: object):
    """x[..., start:stop]."""
    lead = x.dims[:-1]
    return strided_slice(
        x, begin=(*(0,) * len(lead), start), end=(*lead, stop), strides=(1,) * len(x.dims)
    )


def _thin(z: tuple, x):
    """Return s, u, v without the columns that only full matrices have,
    and these columns (or None).
    """
    s, u, v = z
    m, n = x.dims[-2:]
    count = smallest(m, n)
    if largest(u.dims[-1], v.dims[-1]) > count + 1:
        raise NotImplementedError(
            compose(
                "TW402",
                f"svd: no gradient for full_matrices=True and a tensor of shape {x.dims}: the "
                f"basis of the null space is not determined by the tensor",
                hint="full_matrices=False",
            )
        )
    extra_u = _columns(u, count, m) if u.dims[-1] > count else None
    extra_v = _columns(v, count, n) if v.dims[-1] > count else None
    u = u if extra_u is None else _columns(u, 0, count)
    v = v if extra_v is None else _columns(v, 0, count)
    return cast(s, dtype=x.dtype), u, v, extra_u, extra_v


def _is_tall(x):
    """Return whether the phases of u turn with x, and not those of v: TensorFlow's choice."""
    return x.dims[-2] > x.dims[-1]


def _gaps(s: object):
    """e[i, j] = 1 / (s[j]² - s[i]²), and 0 where they are equal."""
    return inverse_or_zero((row(s) - column(s)) * (row(s) + column(s)))


def _off(x: object, basis: object):
    """Return the part of the columns of x that is orthogonal to the columns of `basis`."""
    return x - matmul(basis, matmul(adjoint(basis), x))


@primitive
class svd:
    """x = u diag(s) vᴴ, s descending; u and v have min(m, n) columns, or are square if `full`.

    With p = uᴴ ẋ v, e = 1 / (s_j² - s_i²), S = diag s:  ṡ = Re diag p, u̇ = u (e ∘ (p S + S pᴴ)) +
    (1 - u uᴴ) ẋ v S⁻¹,  v̇ = v (e ∘ (S p + pᴴ S) - i S⁻¹ Im diag p) + (1 - v vᴴ) ẋᴴ u S⁻¹; if m >
    n, u turns by +i S⁻¹ Im diag p instead.  A column u₂ beyond min(m, n) moves by -u u̇ᴴ u₂.  The
    vjp is their adjoint.
    """

    operands = "x"
    multiple = True

    def infer(x, *, full):
        check_matrix("svd", "tensor", x)
        s, u, v = _svd_dims(x, full)
        return Aval(s, x.dtype.real_dtype), Aval(u, x.dtype), Aval(v, x.dtype)

    numpy = kernels.widen_kernel(kernels.singular_values_and_vectors, 16)

    def vjp(g: tuple, z, x, *, full):
        s, u, v, extra_u, extra_v = _thin(z, x)
        count = s.dims[-1]
        gs, gu, gv = cast(g[0], dtype=x.dtype), _columns(g[1], 0, count), _columns(g[2], 0, count)
        over_s = inverse_or_zero(s)
        e = _gaps(s)
        lu, lv = matmul(adjoint(u), gu), matmul(adjoint(v), gv)
        j, k = e * lu, e * lv
        inner = (j + adjoint(j)) * row(s) + column(s) * (k + adjoint(k))
        on_diagonal = gs
        if x.dtype.is_complex:
            phase = diagonal(lu if _is_tall(x) else -lv)
            on_diagonal = gs + 0.5 * over_s * (phase - conj(phase))
        inner = inner + diagonal_matrix(on_diagonal)
        left, right = _off(gu, u), _off(gv, v)
        if extra_u is not None:
            extra = _columns(g[1], count, g[1].dims[-1])
            left = left - matmul(extra_u, matmul(adjoint(extra), u))
        if extra_v is not None:
            extra = _columns(g[2], count, g[2].dims[-1])
            right = right - matmul(extra_v, matmul(adjoint(extra), v))
        first = matmul(matmul(u, inner) + left * row(over_s), adjoint(v))
        return first + matmul(u, adjoint(right * row(over_s)))

    def jvp(t, z, x, *, full):
        s, u, v, extra_u, extra_v = _thin(z, x)
        over_s = inverse_or_zero(s)
        e = _gaps(s)
        tv, tu = matmul(t, v), matmul(adjoint(t), u)
        p = matmul(adjoint(u), tv)
        q = adjoint(p)
        along_u = e * (p * row(s) + column(s) * q)
        along_v = e * (column(s) * p + q * row(s))
        if x.dtype.is_complex:
            phase = diagonal(p)
            turn = diagonal_matrix(0.5 * over_s * (phase - conj(phase)))
            along_u = along_u + turn if _is_tall(x) else along_u
            along_v = along_v if _is_tall(x) else along_v - turn
        du = matmul(u, along_u) + _off(tv, u) * row(over_s)
        dv = matmul(v, along_v) + _off(tu, v) * row(over_s)
        ds = cast(real_part(diagonal(p)), dtype=z[0].dtype)
        return ds, _with_extra(du, u, extra_u), _with_extra(dv, v, extra_v)

    batch = LEADING
    memory = "library"
    kinks = {"x": "where singular values coincide the derivative of their vectors is taken as 0"}
    samples = (
        Sample(ROOMY, full=False),
        Sample(TALL, full=False),
        Sample(np.stack([TALL.T, TALL.T + 0.5]), full=False),
        Sample(TALL, full=True),
        Sample(TALL.T, full=True),
        Sample(ROOMY_COMPLEX, full=False, skip=("forward", "second")),  # phases: LAPACK's choice
        Sample([4, 2], dtype=complex64, full=False, skip=("forward", "second", "batch")),
        Sample([2, 0], full=True, skip=("forward", "reverse", "second")),  # two extra columns
        Sample([0, 3], full=False),
    )
    rejects = (
        Reject([3], full=False, code="TW203"),
        Reject(np.ones((2, 2), np.int32), full=False, code="TW102"),
    )


def _with_extra(moved, basis: object, extra: object):
    """Return the tangent of [basis, extra], where extra stays orthogonal to basis."""
    if extra is None:
        return moved
    turned = -matmul(basis, matmul(adjoint(moved), extra))
    return concat(moved, turned, axis=len(moved.dims) - 1)


@primitive
class singular_values:
    """s, the singular values of x, descending.   x̄ = u diag(s̄) vᴴ."""

    operands = "x"
    tf_type = "Svd"

    def infer(x):
        check_matrix("svd", "tensor", x)
        return Aval(_svd_dims(x, False)[0], x.dtype.real_dtype)

    numpy = kernels.widen_kernel(kernels.singular_values, 8)

    def vjp(g, s, x):
        _, u, v = svd(x, full=False)
        return matmul(u * row(cast(g, dtype=x.dtype)), adjoint(v))

    def jvp(t, s, x):
        _, u, v = svd(x, full=False)
        return cast(real_part(diagonal(matmul(adjoint(u), matmul(t, v)))), dtype=s.dtype)

    batch = LEADING
    memory = "library"
    samples = (
        Sample(ROOMY),
        Sample(TALL),
        Sample(np.stack([TALL.T, TALL.T + 0.5])),
        Sample(ROOMY_COMPLEX),
        Sample([0, 3]),
    )
    rejects = (Reject([3], code="TW203"),)
