"""Linear algebra over leading axes: what `numpy.linalg` lacks, does in one dtype, or refuses.

SciPy's functions for one matrix are applied to each matrix of a batch.  16-bit floats are computed
in float32.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core.errors import invalid
from talweg.kernels.abandoned_calls import make_interruptible


def conjugate_transpose(x: np.ndarray) -> Any:
    """Return the conjugate transpose of the last two axes."""
    turned = np.swapaxes(x, -1, -2)
    return np.conjugate(turned) if x.dtype.kind == "c" else turned


def count_multiplications(cost: float) -> Callable[..., float]:
    """Count the multiplications of a matrix kernel that takes `cost` times a product."""

    def work(x: np.ndarray, *others: np.ndarray, **_: object) -> float:
        last = others[-1] if others else x
        return cost * x.size * (last if last.ndim > 1 else x).shape[-1]

    return work


def widen_kernel(kernel: Callable[..., Any], cost: float = 1) -> Callable[..., Any]:
    """Return `kernel`, computing float16 in float32, which takes `cost` times a product's work."""

    @make_interruptible(count_multiplications(cost))
    def run(*arrays: object, **params: object) -> Any:
        if arrays[0].dtype.itemsize != 2:
            return kernel(*arrays, **params)
        dtype = arrays[0].dtype
        result = kernel(
            *(a.astype(np.float32) if a.dtype == dtype else a for a in arrays), **params
        )
        if not isinstance(result, tuple):
            return result.astype(dtype)
        return tuple(r.astype(dtype) if r.dtype == np.float32 else r for r in result)

    return run


def quietly(function: Callable[..., Any], *arrays: object, **params: object) -> Any:
    """Return `function` without SciPy's warnings:
    results that are not finite speak for themselves.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arrays, **params)


def singular(name: str) -> Exception:
    """Return the error of a matrix that has no inverse."""
    return invalid(
        "TW209",
        f"{name}: Input matrix is not invertible.",
        "matrices of full rank",
        "tf.linalg.pinv or tf.linalg.lstsq",
    )


def unsuccessful(name: str) -> Exception:
    """Return the error of a decomposition that did not converge."""
    return invalid(
        "TW209",
        f"{name}: the decomposition was not successful. The input might not be valid.",
        "finite numbers",
    )


def each(function: Callable[[Any], Any], x: Any, dims: tuple, dtype: Any = None) -> Any:
    """Return `function` of each matrix of `x`, results of shape `dims`."""
    lead = x.shape[:-2]
    result = np.empty((*lead, *dims), dtype or x.dtype)
    for index in np.ndindex(lead):
        result[index] = function(x[index])
    return result


BLOCKED = 48  # rows from which LAPACK's steps take half the time of NumPy's gesv or less
LARGE = 96  # rows from which LAPACK's routines for narrower dtypes take less time


def is_narrow_and_large(x: np.ndarray, rows: int) -> bool:
    """Return whether x has so many rows, and a dtype that NumPy widens to float64."""
    return x.shape[-1] >= rows and x.dtype != np.result_type(x, np.float64)


def _factor_transpose(x: np.ndarray) -> tuple:
    """Return L - 1 + U in one matrix and the pivots of xᵀ = P L U, in the dtype of x.

    xᵀ is in Fortran's order where x is in C's, so that LAPACK reads it as it is.
    """
    from scipy.linalg import get_lapack_funcs

    factor: Any = get_lapack_funcs("getrf", (x,))
    packed, pivots, failed = factor(x.T)
    if failed:
        raise np.linalg.LinAlgError
    return packed, pivots


def _order_of(pivots: np.ndarray) -> np.ndarray:
    """Return the order of rows that exchanges of row i with row pivots[i], i = 0, 1, ... make."""
    order = list(range(len(pivots)))
    for i, j in enumerate(pivots.tolist()):
        order[i], order[j] = order[j], order[i]
    return np.array(order)


def _solve_blocked(a: np.ndarray, b: np.ndarray, adjoint: bool) -> np.ndarray:
    """Return z with a z = b, or aᴴ z = b, from zᵀ aᵀ = bᵀ, or zᵀ a* = bᵀ, with aᵀ = P L U.

    The unknown stands on the left, so that nothing is transposed in memory, and triangular
    systems with many right-hand sides are BLAS's trsm: getrs took three times as long.
    """
    from scipy.linalg import get_blas_funcs

    packed, pivots = _factor_transpose(a)
    order = _order_of(pivots)
    trsm: Any = get_blas_funcs("trsm", (a,))
    if adjoint:  # zᵀ Uᴴ Lᴴ Pᵀ = bᵀ
        half = trsm(1, packed, b[order].T, side=1, lower=1, trans_a=2, diag=1, overwrite_b=1)
        return trsm(1, packed, half, side=1, trans_a=2, overwrite_b=1).T
    half = trsm(1, packed, b.T, side=1)
    rows = trsm(1, packed, half, side=1, lower=1, diag=1, overwrite_b=1).T
    result = np.empty_like(rows)
    result[order] = rows
    return result


def determinant(x: np.ndarray) -> Any:
    """Return det x: of large matrices the product of the diagonal of U, taken in float64."""
    if not is_narrow_and_large(x, BLOCKED):
        return np.linalg.det(x)
    return each(_determinant_blocked, x, ())[()]


def _determinant_blocked(x: np.ndarray) -> Any:
    try:
        packed, pivots = _factor_transpose(x)
    except np.linalg.LinAlgError:
        return 0
    return multiply_pivots(packed, pivots)


def multiply_pivots(packed: np.ndarray, pivots: np.ndarray) -> Any:
    """Return the determinant of a matrix by its factors, multiplied in float64."""
    swaps = np.count_nonzero(pivots != np.arange(len(pivots)))
    wide = np.result_type(packed, np.float64)
    return np.diagonal(packed).prod(dtype=wide) * (-1) ** swaps


def matrix_solve(a: np.ndarray, b: np.ndarray, *, adjoint: bool) -> Any:
    """Return the solution z of a z = b, or of aᴴ z = b.

    Large matrices are factored in their own dtype, as TensorFlow does, smaller ones in float64.
    """
    try:
        if a.shape[-1] < BLOCKED or not b.size:
            result = np.linalg.solve(conjugate_transpose(a) if adjoint else a, b)
        else:
            result = np.empty(b.shape, b.dtype)
            for index in np.ndindex(b.shape[:-2]):
                result[index] = _solve_blocked(a[index], b[index], adjoint)
    except np.linalg.LinAlgError:
        raise singular("solve") from None
    if np.isnan(result).any() and np.isnan(a).any():
        raise singular("solve")
    return result


def triangular_solution(a: np.ndarray, b: np.ndarray, *, lower: bool, adjoint: bool) -> Any:
    """Return the solution z of a z = b or aᴴ z = b for triangular a [..., m, m], b [..., m, n].

    One matrix: BLAS.  A batch of more matrices than rows: substitution over the whole batch at
    once.
    """
    if a.ndim == b.ndim == 2 and b.size:
        return _solve_triangle(a, b, lower, adjoint)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    size, columns = b.shape[-2:]
    b = np.broadcast_to(b, (*lead, size, columns))
    if not b.size:
        return np.zeros(b.shape, b.dtype)
    a = np.broadcast_to(a, (*lead, size, size))
    if int(np.prod(lead)) > size:
        if adjoint:
            a, lower = conjugate_transpose(a), not lower
        return _substitute(a, b, lower)
    result = np.empty(b.shape, b.dtype)
    for index in np.ndindex(lead):
        result[index] = _solve_triangle(a[index], b[index], lower, adjoint)
    return result


def _solve_triangle(a: np.ndarray, b: np.ndarray, lower: bool, adjoint: bool) -> np.ndarray:
    """Return z from zᵀ aᵀ = bᵀ, or zᵀ a* = bᵀ: BLAS reads both as they are."""
    from scipy.linalg import get_blas_funcs

    solve: Any = get_blas_funcs("trsm", (a, b))
    return solve(1.0, a.T, b.T, side=1, lower=not lower, trans_a=2 if adjoint else 0).T


def _substitute(a: np.ndarray, b: np.ndarray, lower: bool) -> Any:
    size = a.shape[-1]
    result = np.zeros(b.shape, b.dtype)
    for row in range(size) if lower else range(size - 1, -1, -1):
        known = slice(0, row) if lower else slice(row + 1, size)
        sums = np.matmul(a[..., row : row + 1, known], result[..., known, :])
        result[..., row, :] = (b[..., row, :] - sums[..., 0, :]) / a[..., row, row, None]
    return result


def eigenvalues_hermitian(x: np.ndarray) -> Any:
    """Return eigenvalues, ascending, from the lower triangle of x."""
    try:
        if np.isnan(x).any():
            raise unsuccessful("eigvalsh")
        return np.linalg.eigvalsh(x)
    except np.linalg.LinAlgError:
        raise unsuccessful("eigvalsh") from None


@make_interruptible(count_multiplications(32))
def eigen_general(x: np.ndarray) -> tuple:
    """Return complex eigenvalues and eigenvectors of length 1."""
    dtype = np.result_type(x.dtype, np.complex64)
    try:
        w, v = np.linalg.eig(x)
    except np.linalg.LinAlgError:
        raise unsuccessful("eig") from None
    return w.astype(dtype), v.astype(dtype)


def singular_values_and_vectors(x: np.ndarray, *, full: bool) -> tuple:
    """s (descending), u and v with x = u diag(s) vᴴ; NaN where x has NaN."""
    m, n = x.shape[-2:]
    lead, count = x.shape[:-2], min(x.shape[-2:])
    real = np.zeros((), x.dtype).real.dtype
    if not count:
        columns = (m, n) if full else (0, 0)
        u, v = (
            np.broadcast_to(np.eye(a, b, dtype=x.dtype), (*lead, a, b)).copy()
            for a, b in zip((m, n), columns)
        )
        return np.zeros((*lead, 0), real), u, v
    try:
        u, s, vh = np.linalg.svd(x, full_matrices=full or m == n)
    except np.linalg.LinAlgError:
        nan = np.array(np.nan, x.dtype)
        return (
            np.full((*lead, count), np.nan, real),
            np.full((*lead, m, m if full else count), nan),
            np.full((*lead, n, n if full else count), nan),
        )
    return s, u, conjugate_transpose(vh)


def singular_values(x: np.ndarray) -> Any:
    """Return the singular values, descending; NaN where x has NaN."""
    try:
        return np.linalg.svd(x, compute_uv=False)
    except np.linalg.LinAlgError:
        real = np.zeros((), x.dtype).real.dtype
        return np.full((*x.shape[:-2], min(x.shape[-2:])), np.nan, real)


def pseudo_inverse(x: np.ndarray, cutoff: Any) -> Any:
    """Return x⁺, where singular values up to `cutoff` times the largest count as zero."""
    s, u, v = singular_values_and_vectors(x, full=False)
    if not s.shape[-1]:
        return np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    kept = s > cutoff[..., None] * s[..., :1]
    inverse = np.where(kept | np.isnan(s), 1 / np.where(kept | np.isnan(s), s, 1), 0).astype(
        s.dtype
    )
    return np.matmul(v * inverse[..., None, :], conjugate_transpose(u))


def tridiagonal_solution(diagonals: np.ndarray, b: np.ndarray) -> Any:
    """Return the solution of a tridiagonal system.   diagonals [..., 3, m], b [..., m, k].

    Row 0 holds the superdiagonal from place 0, row 1 the diagonal, row 2 the subdiagonal from
    place 1.  NaN where a matrix is singular.
    """
    from scipy.linalg import solve_banded

    size = diagonals.shape[-1]
    result = np.empty(b.shape, b.dtype)
    if not b.size:
        return result
    band = np.zeros(diagonals.shape, diagonals.dtype)
    band[..., 1, :] = diagonals[..., 1, :]
    if size > 1:
        band[..., 0, 1:], band[..., 2, :-1] = diagonals[..., 0, :-1], diagonals[..., 2, 1:]
    for index in np.ndindex(b.shape[:-2]):
        if size == 1:
            result[index] = b[index] / band[index][1, 0]
            continue
        try:
            result[index] = quietly(solve_banded, (1, 1), band[index], b[index], check_finite=False)
        except np.linalg.LinAlgError:
            result[index] = np.nan
    return result


def sylvester_solution(a: np.ndarray, b: np.ndarray, q: np.ndarray) -> Any:
    """Return z with a z + z b = q; InvalidArgumentError if a and -b share an eigenvalue."""
    from scipy.linalg import LinAlgError, solve_sylvester

    result = np.empty(q.shape, q.dtype)
    if not q.size:
        return result
    for index in np.ndindex(q.shape[:-2]):
        try:
            result[index] = quietly(solve_sylvester, a[index], b[index], q[index])
        except (LinAlgError, ValueError):
            raise singular("sylvester") from None
        if not np.isfinite(result[index]).all():
            raise singular("sylvester")
    return result


def exponential(x: np.ndarray) -> Any:
    """Return eˣ by scaling and squaring; NaN where x is not finite."""
    if not x.size:
        return x.copy()
    from scipy.linalg import expm

    finite = np.isfinite(x).all((-2, -1), keepdims=True)
    if finite.all():
        return expm(x).astype(x.dtype, copy=False)
    return np.where(finite, expm(np.where(finite, x, 0)), np.array(np.nan, x.dtype)).astype(x.dtype)


def square_root(x: np.ndarray) -> Any:
    """Return the principal square root; NaN where it is not real but x is."""
    from scipy.linalg import sqrtm

    def one(matrix: np.ndarray) -> Any:
        if not matrix.size or not np.isfinite(matrix).all():
            return np.full(matrix.shape, np.nan, x.dtype)
        root = quietly(sqrtm, matrix)
        if x.dtype.kind != "c" and np.iscomplexobj(root):
            return np.full(matrix.shape, np.nan, x.dtype)
        return root

    return each(one, x, x.shape[-2:])


@make_interruptible(count_multiplications(64))
def logarithm(x: np.ndarray) -> Any:
    """Return the principal logarithm of complex matrices, computed in double precision."""
    from scipy.linalg import logm

    def one(matrix: np.ndarray) -> Any:
        if not matrix.size or not np.isfinite(matrix).all():
            return np.full(matrix.shape, np.nan, x.dtype)
        return quietly(logm, matrix.astype(np.complex128))

    return each(one, x, x.shape[-2:])
