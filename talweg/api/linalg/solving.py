"""tf.linalg: determinants, inverses, and systems of linear equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from talweg.api.arguments import require_sizes, tensor
from talweg.api.export import export
from talweg.api.linalg.operands import matching, pair
from talweg.core.dims import differ, dims_differ, largest
from talweg.core.dtypes import FLOATING, float32, float64, int32
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.shapes import broadcast_dims
from talweg.core.value import Tensor
from talweg.prims.arithmetic import cast, greater, select
from talweg.prims.complex import real
from talweg.prims.contract import adjoint as conjugate_transpose
from talweg.prims.contract import matmul
from talweg.prims.layout import broadcast_to, reshape
from talweg.prims.linalg import factorizations, matrix_functions, spectral, systems
from talweg.prims.linalg.diagonal import band_part, matrix_diag, matrix_diag_part, matrix_set_diag
from talweg.prims.reduce import reduce_max, reduce_sum
from talweg.prims.state import as_factor
from talweg.prims.transcendental import log

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike
    from talweg.core.dtypes import DType


class LogMatrixDeterminant(NamedTuple):
    sign: Tensor
    log_abs_determinant: Tensor


MAIN = {"low": 0, "high": 0, "align": "RIGHT_LEFT"}


def _epsilon(dtype: DType) -> float:
    return float(np.finfo(dtype.real_dtype.as_numpy_dtype).eps)


@export("linalg.det")
def det(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the determinants of [..., m, m] -> [...]; InvalidArgumentError unless square and
    inexact.

    >>> import talweg as tf
    >>> tf.linalg.det([[2.0, 0.0], [0.0, 3.0]])
    <tf.Tensor: shape=(), dtype=float32, numpy=6.0>
    """
    return systems.det(tensor(input))


@export("linalg.slogdet")
def slogdet(input: TensorLike, name: str | None = None) -> LogMatrixDeterminant:
    """Return (sign, log_abs_determinant) of [..., m, m]: det = sign * exp(log_abs_determinant).

    Both have the dtype of the input.  InvalidArgumentError unless square and inexact.

    >>> import talweg as tf
    >>> tf.linalg.slogdet([[1.0, 0.0], [0.0, -1.0]]).sign
    <tf.Tensor: shape=(), dtype=float32, numpy=-1.0>
    """
    x = tensor(input)
    sign, log_size = systems.slogdet(x)
    return LogMatrixDeterminant(
        sign, cast(log_size, dtype=x.dtype) if x.dtype.is_complex else log_size
    )


@export("linalg.logdet")
def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Return ln det of Hermitian positive definite [..., m, m] -> [...], real; NaN for others.

    >>> import talweg as tf
    >>> tf.linalg.logdet([[1.0, 0.0], [0.0, 1.0]])
    <tf.Tensor: shape=(), dtype=float32, numpy=0.0>
    """
    d = matrix_diag_part(systems.cholesky(tensor(matrix)), **MAIN)
    logs = log(real(d) if d.dtype.is_complex else d)
    return 2 * reduce_sum(logs, axes=(logs.ndim - 1,), keepdims=False)


@export("linalg.inv")
def inv(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Compute the inverses of [..., m, m], or of their conjugate transposes.

    InvalidArgumentError for singular matrices, and unless square and inexact.

    >>> import talweg as tf
    >>> tf.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).numpy().tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    x = tensor(input)
    z = systems.inverse(x)
    return conjugate_transpose(z) if adjoint else z


@export("linalg.solve")
def solve(
    matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Return x with matrix x = rhs, or matrixᴴ x = rhs.

    matrix [..., m, m], rhs [..., m, k] -> [..., m, k].

    InvalidArgumentError for singular matrices, shapes that do not fit (leading axes are equal), and
    integers.

    >>> import talweg as tf
    >>> tf.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [[2.0], [2.0]]).numpy().tolist()
    [[1.0], [0.5]]
    """
    return systems.solve(*matching(matrix, rhs), adjoint=bool(adjoint))


@export("linalg.triangular_solve")
def triangular_solve(
    matrix: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return x with matrix x = rhs (or matrixᴴ x = rhs), reading one triangle of matrix only.

    matrix [..., m, m], rhs [..., m, k] -> [..., m, k], leading axes broadcast.  Zeros on the
    diagonal give infinities.  InvalidArgumentError for shapes that do not fit, and integers.

    >>> import talweg as tf
    >>> tf.linalg.triangular_solve([[2.0, 9.0], [1.0, 1.0]], [[2.0], [2.0]]).numpy().tolist()
    [[1.0], [1.0]]
    """
    a, b = matching(matrix, rhs)
    return systems.triangular_solve(a, b, lower=bool(lower), adjoint=bool(adjoint))


@export("linalg.cholesky_solve")
def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Return x with a x = rhs for a = chol cholᴴ, from the Cholesky factor; shapes as
    triangular_solve.

    >>> import talweg as tf
    >>> tf.linalg.cholesky_solve([[2.0, 0.0], [0.0, 1.0]], [[4.0], [1.0]]).numpy().tolist()
    [[1.0], [1.0]]
    """
    a, b = matching(chol, rhs)
    y = systems.triangular_solve(a, b, lower=True, adjoint=False)
    return systems.triangular_solve(a, y, lower=True, adjoint=True)


@export("linalg.lstsq")
def lstsq(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: object = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return x that minimises ‖matrix x - rhs‖² + l2_regularizer ‖x‖²; the shortest x if there are
    many.

    matrix [..., m, n], rhs [..., m, k] -> [..., n, k].  fast: by the normal equations and Cholesky,
    for matrices of full rank; otherwise by singular values, for any rank, without regularisation.
    InvalidArgumentError for shapes or dtypes that do not fit.

    >>> import talweg as tf
    >>> tf.linalg.lstsq([[2.0], [0.0]], [[4.0], [3.0]]).numpy().tolist()
    [[2.0]]
    """
    a, b = pair(matrix, rhs)
    if isinstance(l2_regularizer, (int, float)) and l2_regularizer < 0:
        raise invalid("TW207", f"lstsq: l2_regularizer must be >= 0, got {l2_regularizer}")
    if not fast:
        return _shortest(a, b)
    h = conjugate_transpose(a) if a.ndim > 1 else a
    if a.ndim < 2 or a.dims[-2] >= a.dims[-1]:
        right = matmul(h, b)
        return cholesky_solve(systems.cholesky(_regular(matmul(h, a), l2_regularizer)), right)
    factor = systems.cholesky(_regular(matmul(a, h), l2_regularizer))
    return matmul(h, cholesky_solve(factor, b))


def _regular(gram: Tensor, weight: object) -> Tensor:
    """Add the weight to the diagonal of gram."""
    if isinstance(weight, (int, float)) and not weight:
        return gram
    weight = tensor(weight, hint=gram.dtype.real_dtype)
    if weight.dtype is not gram.dtype:
        weight = cast(weight, dtype=gram.dtype)
    return matrix_set_diag(gram, matrix_diag_part(gram, **MAIN) + weight, **MAIN)


def _shortest(a: Tensor, b: Tensor) -> Tensor:
    if a.ndim < 2 or dims_differ(a.dims[:-1], b.dims[:-1]):
        raise invalid(
            "TW204",
            f"lstsq: matrix has shape {a.dims} and rhs has shape {b.dims}",
            "equal ranks, leading dimensions and rows",
        )
    return matmul(factorizations.pinv(a, _cutoff(a, 1.0)), b)


def _cutoff(x: Tensor, factor: float) -> Tensor:
    """Return factor max(m, n) eps for each matrix of [..., m, n], float64."""
    size = largest(x.dims[-2], x.dims[-1])
    value = as_factor(size, float64) * (factor * _epsilon(x.dtype))
    return broadcast_to(tensor(value, float64), shape=x.dims[:-2])


def _at_least_matrix(a: Tensor, argument: str = "a") -> None:
    if a.ndim < 2:
        raise value_error(
            "TW203", f"Input `{argument}` must have at least 2 dimensions (saw: {a.ndim})."
        )


@export("linalg.pinv")
def pinv(
    a: TensorLike,
    rcond: TensorLike | None = None,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the Moore-Penrose inverses of [..., m, n] -> [..., n, m].

    Singular values up to rcond (a number, or one for each matrix; 10 max(m, n) eps by default)
    times the largest count as zero.  TypeError for dtypes other than floating ones, ValueError for
    a rank below 2.

    >>> import talweg as tf
    >>> tf.linalg.pinv([[2.0, 0.0], [0.0, 0.0]]).numpy().tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    x = tensor(a)
    if x.dtype not in FLOATING:
        raise type_error("TW102", f"Input `a` must have `float`-like `dtype` (saw {x.dtype.name}).")
    _at_least_matrix(x)
    if rcond is None:
        return factorizations.pinv(x, _cutoff(x, 10.0))
    s, u, v = spectral.svd(x, full=False)  # which values are left out may matter: see below
    rcond = tensor(rcond, hint=x.dtype)
    rcond = rcond if rcond.dtype is x.dtype else cast(rcond, dtype=x.dtype)
    cutoff = reshape(rcond, shape=(*rcond.dims, 1)) * reduce_max(
        s, axes=(s.ndim - 1,), keepdims=True
    )
    # The derivative of a truncated inverse has terms between kept and dropped values, so it is
    # taken through the decomposition; without truncation `linalg_factor.pinv` is more robust.
    inverse = select(greater(s, cutoff), 1 / select(greater(s, cutoff), s, s * 0 + 1), s * 0)
    return matmul(v * reshape(inverse, shape=(*s.dims[:-1], 1, s.dims[-1])), conjugate_transpose(u))


@export("linalg.matrix_rank")
def matrix_rank(
    a: TensorLike,
    tol: TensorLike | None = None,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the rank of matrices: the number of singular values above tol; [..., m, n] -> [...],
    int32.

    tol: max(m, n) eps times the largest singular value by default.  ValueError for a rank below 2.

    >>> import talweg as tf
    >>> tf.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]])
    <tf.Tensor: shape=(), dtype=int32, numpy=1>
    """
    x = tensor(a, hint=float32)
    _at_least_matrix(x)
    s = spectral.singular_values(x)
    axes = (s.ndim - 1,)
    if tol is None:
        size = as_factor(largest(x.dims[-2], x.dims[-1]), s.dtype)
        tol = size * _epsilon(x.dtype) * reduce_max(s, axes=axes, keepdims=True)
    else:
        tol = tensor(tol, hint=s.dtype)
        tol = reshape(tol, shape=(*tol.dims, 1))
    return reduce_sum(cast(greater(s, tol), dtype=int32), axes=axes, keepdims=False)


# -- from the factors of tf.linalg.lu


def _lu_operands(lower_upper: object, perm: object) -> tuple[Tensor, Tensor]:
    packed, order = tensor(lower_upper), tensor(perm, hint=int32)
    _at_least_matrix(packed, "lower_upper")
    if differ(packed.dims[-1], packed.dims[-2]):
        raise value_error("TW204", f"`lower_upper` must be square, got shape {packed.dims}.")
    if dims_differ(order.dims[-1:], packed.dims[-1:]):
        raise value_error(
            "TW204", f"`perm` has shape {order.dims} and `lower_upper` has shape {packed.dims}."
        )
    size = packed.dims[-1]
    packed = require_sizes(packed, packed.dims[-2:], (size, size), "`lower_upper` must be square")
    order = require_sizes(order, order.dims[-1:], (size,), "`perm` and `lower_upper`")
    return packed, broadcast_to(order, shape=packed.dims[:-1])


@export("linalg.lu_solve")
def lu_solve(
    lower_upper: TensorLike,
    perm: AxisLike,
    rhs: TensorLike,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return x with a x = rhs, from (lower_upper, perm) = tf.linalg.lu(a).

    rhs [..., m, k] -> [..., m, k].  ValueError for shapes that do not fit.

    >>> import talweg as tf
    >>> tf.linalg.lu_solve(*tf.linalg.lu([[0.0, 2.0], [1.0, 0.0]]), [[2.0], [3.0]]).numpy().tolist()
    [[3.0], [1.0]]
    """
    packed, order = _lu_operands(lower_upper, perm)
    b = tensor(rhs, hint=packed.dtype)
    if b.ndim < 2:
        raise value_error("TW203", f"Input `rhs` must have at least 2 dimensions, got {b.dims}.")
    if differ(b.dims[-2], packed.dims[-1]):
        raise value_error(
            "TW204",
            f"`lower_upper.shape[-1]` must equal `rhs.shape[-2]`, got {packed.dims} and {b.dims}.",
        )
    lead = (
        broadcast_dims("lu_solve", packed.dims[:-2], b.dims[:-2])
        if packed.ndim == b.ndim
        else max(packed.dims[:-2], b.dims[:-2], key=len)
    )
    b = broadcast_to(b, shape=(*lead, *b.dims[-2:]))
    order = broadcast_to(order, shape=(*lead, order.dims[-1]))
    moved = factorizations.permute_rows(b, order, inverse=False)
    lower = factorizations.unit_lower(packed)
    y = systems.triangular_solve(lower, moved, lower=True, adjoint=False)
    return systems.triangular_solve(packed, y, lower=False, adjoint=False)


@export("linalg.lu_reconstruct")
def lu_reconstruct(
    lower_upper: TensorLike, perm: AxisLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Return a, from (lower_upper, perm) = tf.linalg.lu(a).  ValueError for shapes that do not fit.

    >>> import talweg as tf
    >>> tf.linalg.lu_reconstruct(*tf.linalg.lu([[0.0, 2.0], [1.0, 0.0]])).numpy().tolist()
    [[0.0, 2.0], [1.0, 0.0]]
    """
    packed, order = _lu_operands(lower_upper, perm)
    upper = band_part(packed, lower=0, upper=-1)
    product = matmul(factorizations.unit_lower(packed), upper)
    return factorizations.permute_rows(product, order, inverse=True)


@export("linalg.lu_matrix_inverse")
def lu_matrix_inverse(
    lower_upper: TensorLike, perm: AxisLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Return a⁻¹, from (lower_upper, perm) = tf.linalg.lu(a).  ValueError for shapes that do not
    fit.

    >>> import talweg as tf
    >>> tf.linalg.lu_matrix_inverse(*tf.linalg.lu([[0.0, 2.0], [1.0, 0.0]])).numpy().tolist()
    [[0.0, 1.0], [0.5, 0.0]]
    """
    packed, order = _lu_operands(lower_upper, perm)
    one = tensor(1, packed.dtype)
    ones = broadcast_to(one, shape=packed.dims[:-1])
    size = packed.dims[-1]
    params = {"low": 0, "high": 0, "align": "RIGHT_LEFT"}
    return lu_solve(packed, order, matrix_diag(ones, rows=size, columns=size, **params))


# -- functions of matrices


@export("linalg.expm")
def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the exponentials eˣ = Σ xᵏ / k! of square matrices [..., m, m].

    ValueError for integers and bfloat16, InvalidArgumentError for matrices that are not square.

    >>> import talweg as tf
    >>> tf.linalg.expm([[0.0, 1.0], [0.0, 0.0]]).numpy().tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    x = tensor(input)
    if x.dtype not in systems.FACTORED:
        raise value_error("TW102", f"tf.linalg.expm does not support matrices of type {x.dtype}")
    return matrix_functions.expm(x)


@export("linalg.logm")
def logm(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the principal logarithms of complex square matrices [..., m, m].

    InvalidArgumentError for other dtypes, and for matrices that are not square.

    >>> import talweg as tf
    >>> tf.linalg.logm(tf.constant([[1j]])).numpy().round(4).tolist()
    [[1.5708j]]
    """
    return matrix_functions.logm(tensor(input))


@export("linalg.sqrtm", "matrix_square_root")
def sqrtm(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the principal square roots of square matrices [..., m, m]; NaN where they are not
    real.

    InvalidArgumentError for integers, and for matrices that are not square.

    >>> import talweg as tf
    >>> tf.linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]]).numpy().tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    return matrix_functions.sqrtm(tensor(input))
