"""Products of matrices where NumPy's own `matmul` is slow or has no loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.kernels.numpy_blas import dot

EXACT = 2.0**53  # integers below this are exact in float64
SMALL = 4096  # products of fewer multiplications are not worth a detour


def plain_product(x: np.ndarray, y: np.ndarray) -> Any:
    """x y for two matrices of 4 bytes or more; TypeError for other ranks (NumPy takes vectors)."""
    if x.ndim != 2 or y.ndim != 2:
        raise TypeError("not two matrices")
    return dot(x, y)


def matrix_product(x: np.ndarray, y: np.ndarray) -> Any:
    """x y.   x [..., m, k], y [..., k, n] -> [..., m, n]; leading axes broadcast."""
    kind = x.dtype.kind
    if kind in "iu":
        return _integer_product(x, y)
    if x.dtype.itemsize == 2:  # float16 and bfloat16: sums are kept in float32
        return _product(x.astype(np.float32), y.astype(np.float32)).astype(x.dtype)
    return _product(x, y)


def _product(x: np.ndarray, y: np.ndarray) -> Any:
    if x.ndim == 2 == y.ndim:
        return dot(x, y)  # less overhead than matmul
    if y.ndim == 2 and x.ndim > 2:  # one large product instead of one for each leading index
        rows = x.size // x.shape[-1] if x.shape[-1] else 0
        if rows:
            found = dot(x.reshape(rows, x.shape[-1]), y)
            return found.reshape(*x.shape[:-1], y.shape[-1])
    return np.matmul(_readable(x), _readable(y))


def _readable(x: np.ndarray) -> Any:
    """`x`, copied if neither of its last axes is contiguous: BLAS cannot read it then."""
    if x.size and x.itemsize not in x.strides[-2:]:
        return np.ascontiguousarray(x)
    return x


def _integer_product(x: np.ndarray, y: np.ndarray) -> Any:
    """Through float64, which BLAS multiplies, where every sum is exact there; wraps as C does."""
    if x.size and y.size and x.size * y.shape[-1] > SMALL:
        bound = _largest(x) * _largest(y) * x.shape[-1]
        if bound < EXACT:
            product = _product(x.astype(np.float64), y.astype(np.float64))
            return product.astype(np.int64).astype(x.dtype)
    return np.matmul(x, y)


def _largest(x: np.ndarray) -> float:
    return max(abs(float(x.max())), abs(float(x.min())))
