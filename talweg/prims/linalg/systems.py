"""Determinants, inverses, Cholesky factors, and systems of linear equations.

All act on the last two axes; leading axes are batch axes.  x̄ is the cotangent of x, ẋ its tangent.
Sources: Giles 2008, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation"; Murray 2016, "Differentiation of the Cholesky decomposition".
"""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LEADING, check_dtype, primitive
from talweg.core.dims import differ, dims_differ
from talweg.core.dtypes import INEXACT, bfloat16, complex64, float32
from talweg.core.errors import invalid
from talweg.core.primitive import Reject, Sample
from talweg.core.shapes import broadcast_dims
from talweg.kernels import inverses
from talweg.kernels import linalg as kernels
from talweg.kernels.factorizations import cholesky_factor
from talweg.prims.complex import complex_, conj, imag, real
from talweg.prims.contract import _align_batch, adjoint, matmul, sum_to
from talweg.prims.layout import reshape, transpose
from talweg.prims.linalg.diagonal import band_part, check_rank, matrix_diag_part, matrix_set_diag
from talweg.prims.reduce import reduce_sum

FACTORED = INEXACT - {bfloat16}
WRITTEN_OUT = 4  # rows of matrices that are factored without calls
RECTANGLE = (
    Reject([2, 3], code="TW204"),
    Reject([3], code="TW203"),
    Reject(np.ones((2, 2), np.int32), code="TW102"),
)
ROOMY = np.array([[3.0, 0.5, -0.2], [0.1, -2.0, 0.7], [0.4, 0.3, 1.5]], np.float32)
ROOMY_COMPLEX = np.array([[2 + 1j, 0.3j], [0.5 - 0.2j, -1.5 + 0.4j]], np.complex64)
POSITIVE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.4], [0.5, -0.4, 2.0]], np.float32)
HERMITIAN = np.array([[3.0, 1 - 1j], [1 + 1j, 2.5]], np.complex64)


def check_matrix(name, operand, x):
    """Raise InvalidArgumentError unless `x` is a batch of matrices
    of a dtype that can be factored.
    """
    check_dtype(name, operand, x.dtype, FACTORED)
    check_rank(name, operand, x, 2)


def check_square(name: object, operand: object, x):
    """Raise InvalidArgumentError unless `x` is a batch of square matrices of such a dtype."""
    check_matrix(name, operand, x)
    if differ(x.dims[-1], x.dims[-2]):
        raise invalid(
            "TW204", f"{name}: {operand} has shape {x.dims}", "square: Input matrix must be square."
        )


def square_infer(name: str):
    """Return the shape rule of a function of square matrices
    whose result has the operand's shape.
    """

    def infer(x):
        check_square(name, "input", x)
        return x

    return infer


def swap_matrix_axes(x):
    """Return the transpose of the last two axes."""
    rank = len(x.dims)
    return transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2))


def scalars(g):
    """Return `g` of shape [...] as [..., 1, 1], to multiply matrices with."""
    return reshape(g, shape=(*g.dims, 1, 1))


def product_trace(x, y):
    """Return tr x y."""
    return reduce_sum(
        x * swap_matrix_axes(y), axes=(len(x.dims) - 2, len(x.dims) - 1), keepdims=False
    )


def is_written_out(x):
    """Return whether the steps with each of x's matrices are written out in compiled code."""
    return x.dtype is float32 and 0 < x.dims[-1] <= WRITTEN_OUT and x.size > 0


def hermitian_part(x: object):
    """Return (x + xᴴ) / 2."""
    return 0.5 * (x + adjoint(x))


def half_lower(x: object):
    """Return the lower triangle of x with the diagonal halved: Φ of Murray 2016."""
    low = band_part(x, lower=-1, upper=0)
    diagonal = matrix_diag_part(x, low=0, high=0, align="RIGHT_LEFT")
    return matrix_set_diag(low, 0.5 * diagonal, low=0, high=0, align="RIGHT_LEFT")


def _inverse_vjp(g, z, x):
    h = adjoint(z)
    return -matmul(h, matmul(g, h))


def _inverse_jvp(t, z, x):
    return -matmul(z, matmul(t, z))


@primitive
class unchecked_inverse:
    """z = x⁻¹ as in `inverse`; where x is singular, some elements of z are not finite."""

    operands = "x"
    infer = square_infer("inv")
    numpy = kernels.widen_kernel(inverses.inverse_or_nan)
    vjp, jvp = _inverse_vjp, _inverse_jvp
    batch = LEADING
    memory = "library"
    call = "invert"

    def xla(j, x):
        return j.linalg.inv(x)

    singular = "x of rank below full"
    samples = (Sample(ROOMY), Sample(np.stack([ROOMY, ROOMY.T])))
    rejects = RECTANGLE


@primitive
class inverse:
    """z = x⁻¹.   ż = -z ẋ z,  x̄ = -zᴴ z̄ zᴴ.   Giles 2008, 2.2.3."""

    operands = "x"
    tf_type = "MatrixInverse"
    infer = square_infer("inv")
    numpy = kernels.widen_kernel(inverses.matrix_inverse)
    vjp, jvp = _inverse_vjp, _inverse_jvp
    batch = LEADING
    memory = "library"

    def expand(t, x):
        if not is_written_out(x):
            return NotImplemented
        z = t.unchecked_inverse(x)
        t.require_finite(z)  # if not, the kernel says why
        return z

    def xla(j, x):
        return j.check(j.linalg.inv, x)

    singular = "x of rank below full"
    samples = (
        Sample(ROOMY),
        Sample(ROOMY_COMPLEX),
        Sample(np.stack([ROOMY, ROOMY.T])),
        Sample([0, 0], skip=("batch",)),
    )
    rejects = (*RECTANGLE, Reject(np.zeros((2, 2), np.float32), code="TW209"))


@primitive
class cofactor:
    """z = the derivatives of det x by the elements of x: z = det(x) x⁻ᵀ, also for singular x.

    ż = tr(x⁻¹ẋ) z - z ẋᵀ x⁻ᵀ,  x̄ = x⁻ᴴ tr(z̄ zᴴ) - x⁻ᴴ z̄ᵀ z*.   From singular values, with
    x = u diag(s) vᴴ: z = det(u vᴴ) u* diag(Π_(j≠i) s_j) vᵀ.
    """

    operands = "x"
    infer = square_infer("det")
    numpy = kernels.widen_kernel(inverses.cofactors, 16)

    def vjp(g, z, x):
        h = adjoint(inverse(x))
        z = conj(z) if x.dtype.is_complex else z
        axes = (len(x.dims) - 2, len(x.dims) - 1)
        return h * reduce_sum(g * z, axes=axes, keepdims=True) - matmul(
            h, matmul(swap_matrix_axes(g), z)
        )

    def jvp(t, z, x):
        m = inverse(x)
        return scalars(product_trace(m, t)) * z - matmul(
            z, matmul(swap_matrix_axes(t), swap_matrix_axes(m))
        )

    batch = LEADING
    memory = "library"
    singular = "the derivative needs x⁻¹"
    samples = (Sample(ROOMY), Sample(ROOMY_COMPLEX), Sample(np.stack([ROOMY, ROOMY.T])))
    rejects = RECTANGLE


@primitive
class det:
    """z = det x.   ż = Σ c ∘ ẋ,  x̄ = z̄ c* with the cofactors c.   Giles 2008, 2.2.4."""

    operands = "x"
    tf_type = "MatrixDeterminant"

    def infer(x):
        check_square("det", "input", x)
        return Aval(x.dims[:-2], x.dtype)

    numpy = kernels.widen_kernel(kernels.determinant)

    def vjp(g, z, x):
        c = cofactor(x)
        return scalars(g) * (conj(c) if x.dtype.is_complex else c)

    def jvp(t, z, x):
        return reduce_sum(cofactor(x) * t, axes=(len(x.dims) - 2, len(x.dims) - 1), keepdims=False)

    batch = LEADING
    memory = "library"
    call = "determinants"

    def xla(j, x):
        return j.check(j.linalg.det, x)

    samples = (
        Sample(ROOMY),
        Sample(ROOMY_COMPLEX),
        Sample(np.stack([ROOMY, ROOMY.T])),
        Sample(np.ones((2, 2), np.float32), skip=("second",)),
    )  # singular
    rejects = RECTANGLE


def _compute_signed_log(x: np.ndarray):
    sign, log = np.linalg.slogdet(x)
    sign = np.where(np.isnan(log), np.nan, sign)
    return np.asarray(sign, x.dtype)[()], np.asarray(log, np.zeros((), x.dtype).real.dtype)[()]


@primitive
class slogdet:
    """s = det x / |det x|,  l = ln |det x| (real).   With q = tr x⁻¹ẋ:  l̇ = Re q,  ṡ = i s Im q.

    x̄ = (l̄ + i Re(s̄* i s)) x⁻ᴴ; the second term is there for complex numbers only.
    """

    operands = "x"
    tf_type = "LogMatrixDeterminant"
    multiple = True

    def infer(x):
        check_square("slogdet", "input", x)
        lead = x.dims[:-2]
        return Aval(lead, x.dtype), Aval(lead, x.dtype.real_dtype)

    numpy = kernels.widen_kernel(_compute_signed_log)

    def vjp(g: tuple, z, x):
        g_sign, g_log = g
        if x.dtype.is_complex:
            turn = conj(g_sign) * z[0]  # Re(s̄* i s) = -Im(s̄* s)
            g_log = complex_(g_log, -imag(turn))
        return scalars(g_log) * adjoint(inverse(x))

    def jvp(t, z, x):
        q = product_trace(inverse(x), t)
        if not x.dtype.is_complex:
            return 0 * z[0], q
        return z[0] * complex_(0 * imag(q), imag(q)), real(q)

    batch = LEADING
    memory = "library"
    singular = "det x = 0"
    samples = (Sample(ROOMY), Sample(ROOMY_COMPLEX), Sample(np.stack([ROOMY, ROOMY.T])))
    rejects = RECTANGLE


@primitive
class cholesky:
    """z = the lower triangular matrix with z zᴴ = x; NaN where x is not positive definite.

    With Φ = lower triangle, diagonal halved:  ż = z Φ(z⁻¹ ẋ z⁻ᴴ),  x̄ = the Hermitian part of z⁻ᴴ
    Φ(zᴴ z̄) z⁻¹.   Murray 2016, eqs. 8 and 10.   The value reads the lower triangle of x only; the
    derivative takes x to be Hermitian and is shared by both triangles, as in TensorFlow.
    """

    operands = "x"
    infer = square_infer("cholesky")
    numpy = kernels.widen_kernel(cholesky_factor)

    def vjp(g, z, x):
        inner = half_lower(matmul(adjoint(z), g))
        left = triangular_solve(z, inner, lower=True, adjoint=True)
        both = triangular_solve(z, adjoint(left), lower=True, adjoint=True)
        return hermitian_part(both)

    def jvp(t, z, x):
        left = triangular_solve(z, hermitian_part(t), lower=True, adjoint=False)
        both = triangular_solve(z, adjoint(left), lower=True, adjoint=False)
        return matmul(z, half_lower(both))

    batch = LEADING
    memory = "library"
    call = "factor"

    def xla(j, x):
        return j.check(j.linalg.cholesky, x)

    singular = "x not positive definite"
    # A step that leaves the Hermitian matrices is not what the derivative describes.
    samples = (
        Sample(POSITIVE, skip=("forward", "second")),
        Sample(HERMITIAN, skip=("forward", "second")),
        Sample(
            np.stack([POSITIVE, POSITIVE + np.eye(3, dtype=np.float32)]), skip=("forward", "second")
        ),
        Sample([0, 0]),
    )
    rejects = RECTANGLE


@primitive
class solve:
    """z with a z = b (aᴴ z = b if `adjoint`).   b̄ = a⁻ᴴ z̄,  ā = -b̄ zᴴ.   Giles 2008, 2.3.1."""

    operands = "a b"
    tf_type = "MatrixSolve"

    def infer(a, b, *, adjoint):
        check_square("solve", "matrix", a)
        check_dtype("solve", "rhs", b.dtype, {a.dtype})
        if dims_differ(a.dims[:-1], b.dims[:-1]):
            raise invalid(
                "TW204",
                f"solve: matrix has shape {a.dims} and rhs has shape {b.dims}",
                "equal ranks and leading dimensions, and as many rows in rhs as in matrix",
            )
        return b

    numpy = kernels.widen_kernel(kernels.matrix_solve)

    def vjp(g, z, a, b, *, adjoint):
        gb = solve(a, g, adjoint=not adjoint)
        return -(
            matmul(z, conjugate_transpose(gb)) if adjoint else matmul(gb, conjugate_transpose(z))
        ), gb

    def jvp(t: tuple, z, a, b, *, adjoint):
        moved = conjugate_transpose(t[0]) if adjoint else t[0]
        return solve(a, t[1] - matmul(moved, z), adjoint=adjoint)

    batch = LEADING
    memory = "library"
    singular = "a of rank below full"
    samples = (
        Sample(ROOMY, [3, 2], adjoint=False),
        Sample(ROOMY, [3, 1], adjoint=True),
        Sample(np.stack([ROOMY, ROOMY.T]), [2, 3, 2], adjoint=False),
        Sample(ROOMY_COMPLEX, [2, 2], dtype=complex64, adjoint=True),
    )
    rejects = (
        Reject([3, 3], [2, 1], adjoint=False, code="TW204"),
        Reject([3, 3], [3], adjoint=False, code="TW204"),
        Reject([3, 2], [3, 1], adjoint=False, code="TW204"),
        Reject(np.zeros((2, 2), np.float32), [2, 1], adjoint=False, code="TW209"),
    )


conjugate_transpose = adjoint


@primitive
class triangular_solve:
    """z with a z = b (aᴴ z = b if `adjoint`) for triangular a; only one triangle of a is read.

    a [..., m, m], b [..., m, n], leading axes broadcast.   b̄ = a⁻ᴴ z̄,  ā = -b̄ zᴴ within the
    triangle.
    """

    operands = "a b"
    tf_type = "MatrixTriangularSolve"

    def infer(a, b, *, lower, adjoint):
        check_square("triangular_solve", "matrix", a)
        check_dtype("triangular_solve", "rhs", b.dtype, {a.dtype})
        check_rank("triangular_solve", "rhs", b, 2)
        if differ(a.dims[-1], b.dims[-2]):
            raise invalid(
                "TW204",
                f"triangular_solve: matrix has shape {a.dims} and rhs has shape {b.dims}",
                "as many rows in rhs as in matrix",
            )
        batch = broadcast_dims("triangular_solve", a.dims[:-2], b.dims[:-2])
        return Aval((*batch, *b.dims[-2:]), a.dtype)

    numpy = kernels.widen_kernel(kernels.triangular_solution)

    def vjp(g, z, a, b, *, lower, adjoint):
        gb = triangular_solve(a, g, lower=lower, adjoint=not adjoint)
        ga = matmul(z, conjugate_transpose(gb)) if adjoint else matmul(gb, conjugate_transpose(z))
        return sum_to(-triangle(ga, lower), a), sum_to(gb, b)

    def jvp(t: tuple, z, a, b, *, lower, adjoint):
        moved = triangle(t[0], lower)
        moved = conjugate_transpose(moved) if adjoint else moved
        return triangular_solve(a, t[1] - matmul(moved, z), lower=lower, adjoint=adjoint)

    def batch(size, batched, a, b, *, lower, adjoint):
        rank = max(len(a.dims) - batched[0], len(b.dims) - batched[1])
        a, b = (_align_batch(size, x, own, rank) for x, own in zip((a, b), batched))
        return triangular_solve(a, b, lower=lower, adjoint=adjoint)

    memory = "library"
    singular = "a zero on the diagonal: the result is infinite"
    samples = (
        Sample(ROOMY, [3, 2], lower=True, adjoint=False),
        Sample(ROOMY, [3, 1], lower=False, adjoint=True),
        Sample(np.stack([ROOMY, ROOMY.T]), [3, 2], lower=True, adjoint=True),
        Sample(ROOMY, [4, 3, 1], lower=False, adjoint=False),
        Sample(ROOMY_COMPLEX, [2, 2], dtype=complex64, lower=True, adjoint=True),
        Sample([0, 0], [0, 2], lower=True, adjoint=False),
    )
    rejects = (
        Reject([3, 3], [2, 1], lower=True, adjoint=False, code="TW204"),
        Reject([3, 3], [3], lower=True, adjoint=False, code="TW203"),
        Reject([3, 2], [3, 1], lower=True, adjoint=False, code="TW204"),
    )


def triangle(x: object, lower: bool):
    """Return one triangle of x, zero elsewhere."""
    return band_part(x, lower=-1 if lower else 0, upper=0 if lower else -1)
