"""Factorizations over leading axes: Cholesky, LU, QR, eigenvectors of Hermitian matrices.

NumPy computes them in float64.  Large matrices of narrower dtypes are given to LAPACK's routines
for these, as TensorFlow does; many small ones are factored together.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from talweg.kernels.linalg import LARGE, each, is_narrow_and_large, singular, unsuccessful

SMALL, MANY = 8, 128  # rows and count of matrices of which NumPy calls take less than LAPACK's
CHUNK = 4096  # matrices whose columns stay in the second cache


def cholesky_factor(x: np.ndarray) -> Any:
    """Return the lower factor, from the lower triangle of x;
    NaN where x is not positive definite.

    Large matrices are factored in their own dtype, as TensorFlow does, and in float64 only where
    that fails: rounding alone can make a matrix indefinite.
    """
    try:
        if not np.isnan(x).any():
            return _factor_hermitian(x)
    except np.linalg.LinAlgError:
        pass
    return each(_cholesky_or_nan, x, x.shape[-2:])


def _factor_hermitian(x: np.ndarray) -> np.ndarray:
    count, size = math.prod(x.shape[:-2]), x.shape[-1]
    if is_narrow_and_large(x, LARGE):
        return each(_factor_narrow, x, x.shape[-2:])
    if 0 < size <= SMALL and count >= MANY:
        return _factor_by_columns(x.reshape(count, size, size)).reshape(x.shape)
    return np.linalg.cholesky(x)


def _factor_narrow(x: np.ndarray) -> np.ndarray:
    """Return the lower factor; LAPACK reads xᵀ, in Fortran's order, as it is."""
    from scipy.linalg import cholesky

    return cholesky(x.T, lower=False, check_finite=False).T


def _factor_by_columns(x: np.ndarray) -> np.ndarray:
    """Return the lower factors of many small matrices [count, n, n], a column of all at a time.

    In float64; LinAlgError where a matrix is not positive definite.
    """
    count, size = x.shape[:2]
    result = np.zeros(x.shape, x.dtype)
    wide = np.result_type(x, np.float64)
    for start in range(0, count, CHUNK):
        rest = np.moveaxis(x[start : start + CHUNK], 0, -1).astype(wide, order="C")
        factor = np.moveaxis(result[start : start + CHUNK], 0, -1)
        for j in range(size):
            pivot = rest[j, j].real
            if not (pivot > 0).all():
                raise np.linalg.LinAlgError
            root = np.sqrt(pivot)
            column = rest[j + 1 :, j] / root
            factor[j, j], factor[j + 1 :, j] = root, column
            rest[j + 1 :, j + 1 :] -= column[:, None] * column.conj()
    return result


def _cholesky_or_nan(x: np.ndarray) -> Any:
    try:
        result = np.linalg.cholesky(x)
        if not np.isnan(result).any():
            return result
    except np.linalg.LinAlgError:
        pass
    return np.where(np.tri(len(x), dtype=bool), np.array(np.nan, x.dtype), np.zeros((), x.dtype))


def lu_factors(x: np.ndarray) -> tuple:
    """Return L - 1 + U in one matrix and the permutation p (int32)
    with x[p] = L U; partial pivoting.
    """
    from scipy.linalg import get_lapack_funcs

    size = x.shape[-1]
    packed, order = np.empty(x.shape, x.dtype), np.empty(x.shape[:-1], np.int32)
    factor: Any = get_lapack_funcs("getrf", (x,)) if x.size else None
    for index in np.ndindex(x.shape[:-2]):
        if not size:
            break
        packed[index], pivots, failed = factor(x[index])
        if failed or np.isnan(packed[index]).any():
            raise singular("lu")
        rows = np.arange(size, dtype=np.int32)
        for i, j in enumerate(pivots):
            rows[i], rows[j] = rows[j], rows[i]
        order[index] = rows
    return packed, order


def orthogonal_triangular(x: np.ndarray, *, full: bool) -> tuple:
    """q and r with x = q r."""
    m, n = x.shape[-2:]
    if not m or not n:
        inner = m if full else min(m, n)
        q = np.broadcast_to(np.eye(m, inner, dtype=x.dtype), (*x.shape[:-2], m, inner)).copy()
        return q, np.zeros((*x.shape[:-2], inner, n), x.dtype)
    if not is_narrow_and_large(x, LARGE):
        return tuple(np.linalg.qr(x, mode="complete" if full else "reduced"))
    from scipy.linalg import qr

    inner = m if full else min(m, n)
    q, r = np.empty((*x.shape[:-1], inner), x.dtype), np.empty((*x.shape[:-2], inner, n), x.dtype)
    for index in np.ndindex(x.shape[:-2]):
        both: Any = qr(x[index], mode="full" if full else "economic", check_finite=False)
        q[index], r[index] = both
    return q, r


def eigen_hermitian(x: np.ndarray) -> tuple:
    """Return eigenvalues, ascending, and eigenvectors, from the lower triangle of x."""
    try:
        if np.isnan(x).any():
            raise unsuccessful("eigh")
        if not is_narrow_and_large(x, LARGE):
            return tuple(np.linalg.eigh(x))
        return _eigen_narrow(x)
    except np.linalg.LinAlgError:
        raise unsuccessful("eigh") from None


def _eigen_narrow(x: np.ndarray) -> tuple:
    from scipy.linalg import eigh

    w, v = np.empty(x.shape[:-1], x.real.dtype), np.empty(x.shape, x.dtype)
    for index in np.ndindex(x.shape[:-2]):
        w[index], v[index] = eigh(x[index], driver="evd", check_finite=False)
    return w, v
