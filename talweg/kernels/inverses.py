"""Inverses and cofactors of matrices over leading axes.

Many small matrices are inverted together, large ones in their own dtype, all others in float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from talweg.kernels.linalg import (
    BLOCKED,
    LARGE,
    determinant,
    each,
    is_narrow_and_large,
    multiply_pivots,
    singular,
)


def _invert(x: np.ndarray) -> np.ndarray:
    """Return x⁻¹, as `_invert_by_factors` computes it."""
    return _invert_by_factors(x)[0]


def _invert_by_factors(x: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return x⁻¹ and det x by getrf and getri: 2 n³ multiplications, where gesv with the identity
    has 8/3 n³.

    Rows are exchanged, as in TensorFlow: of xᵀ, which needs no copy in Fortran's order, the inverse
    has errors twice as large where the columns of x are of different size.
    """
    from scipy.linalg import get_lapack_funcs

    factor, invert, workspace = get_lapack_funcs(("getrf", "getri", "getri_lwork"), (x,))
    packed, pivots, failed = factor(x)
    if failed:
        raise np.linalg.LinAlgError
    determinant = multiply_pivots(packed, pivots)
    length = int(workspace(len(x))[0].real)
    return invert(packed, pivots, lwork=length, overwrite_lu=1)[0], determinant


SMALL, MANY = 4, 1024  # rows and count of matrices that are inverted together, in half the time
CHUNK = 4096  # matrices for which NumPy's calls take little, and which stay in the second cache


def _invert_together(x: np.ndarray) -> np.ndarray:
    """Return x⁻¹ of many small matrices [count, n, n] by Gauss and Jordan's steps, in float64.

    Partial pivoting without branches: where row i has the larger number, it is exchanged.
    """
    size, result = x.shape[-1], np.empty(x.shape, x.dtype)
    for start in range(0, len(x), CHUNK):
        a = np.moveaxis(x[start : start + CHUNK], 0, -1).astype(np.float64, order="C")
        bits, exchanges = a.view(np.int64), []
        for j in range(size):
            for i in range(j + 1, size):
                larger = -(np.abs(a[i, j]) > np.abs(a[j, j])).astype(np.int64)
                _exchange(bits[i], bits[j], larger)
                exchanges.append((i, j, larger))
            pivot, factors = a[j, j].copy(), a[:, j].copy()
            if not pivot.all():
                raise np.linalg.LinAlgError
            factors[j] = a[:, j] = 0
            a[j, j] = 1
            a[j] /= pivot
            a -= factors[:, None] * a[j]
        for i, j, larger in reversed(exchanges):
            _exchange(bits[:, i], bits[:, j], larger)
        np.moveaxis(result[start : start + CHUNK], 0, -1)[...] = a
    return result


def _exchange(x: np.ndarray, y: np.ndarray, mask: np.ndarray) -> None:
    """Exchange the integers x and y where all bits of `mask` are set."""
    differences = x ^ y
    differences &= mask
    x ^= differences
    y ^= differences


def _invert_all(x: np.ndarray) -> np.ndarray:
    """Return x⁻¹ of each matrix; LinAlgError where one is singular.

    From 96 rows on in the dtype of x, as in TensorFlow; smaller matrices in float64.
    """
    size, count = x.shape[-1], math.prod(x.shape[:-2])
    if x.dtype == np.float32 and 0 < size <= SMALL and count >= MANY:
        return _invert_together(x.reshape(count, size, size)).reshape(x.shape)
    if size < BLOCKED:
        return np.linalg.inv(x)
    return each(_invert, _widen_middling(x), x.shape[-2:])


def _widen_middling(x: np.ndarray) -> np.ndarray:
    """Return matrices of fewer than 96 rows in float64, as NumPy does, and others as they are."""
    if is_narrow_and_large(x, LARGE):
        return x
    return x.astype(np.result_type(x, np.float64), copy=False)


def matrix_inverse(x: np.ndarray) -> Any:
    """Return x⁻¹; InvalidArgumentError for a singular matrix or one with NaN."""
    try:
        result = _invert_all(x).astype(x.dtype, copy=False)
    except np.linalg.LinAlgError:
        raise singular("inv") from None
    if np.isnan(result).any():
        raise singular("inv")
    return result


def inverse_or_nan(x: np.ndarray) -> Any:
    """Return x⁻¹; NaN for a singular matrix."""
    try:
        return _invert_all(x).astype(x.dtype, copy=False)
    except np.linalg.LinAlgError:
        return each(_inverse_or_nan, x, x.shape[-2:])


def _inverse_or_nan(x: np.ndarray) -> Any:
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return np.nan


def cofactors(x: np.ndarray) -> Any:
    """Return det(x) x⁻ᵀ, by singular values where x⁻¹ does not exist."""
    try:
        if x.shape[-1] < BLOCKED:
            z = determinant(x)[..., None, None] * np.swapaxes(_invert_all(x), -1, -2)
        else:
            z = each(_cofactors_blocked, _widen_middling(x), x.shape[-2:])
        if np.isfinite(z).all():
            return z.astype(x.dtype, copy=False)
    except np.linalg.LinAlgError:
        pass
    if np.isnan(x).any():
        return np.full(x.shape, np.nan, x.dtype)
    u, s, vh = np.linalg.svd(x)
    others = np.stack(
        [np.prod(np.delete(s, i, -1), -1) for i in range(s.shape[-1])], -1
    )  # the products of all but one
    z = np.matmul(np.conjugate(u) * others[..., None, :], np.conjugate(vh))
    return (np.linalg.det(np.matmul(u, vh))[..., None, None] * z).astype(x.dtype, copy=False)


def _cofactors_blocked(x: np.ndarray) -> Any:
    inverse, determinant = _invert_by_factors(x)
    return determinant * inverse.T
