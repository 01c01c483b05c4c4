"""Products of matrices where NumPy's own `matmul` is slow or has no loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.kernels.numpy_blas import dot, matmul

EXACT = 2.0**53  # integers below this are exact in float64
SMALL = 4096  # products of fewer multiplications are not worth a detour
AT_ONCE = 1 << 32  # multiplications of float32 in one call: Python's signals wait for its end


def plain_product(x: np.ndarray, y: np.ndarray) -> Any:
    """Return x y for two matrices of 4 bytes or more;
    TypeError for other ranks (NumPy takes vectors).
    """
    if x.ndim != 2 or y.ndim != 2:
        raise TypeError("not two matrices")
    if x.size * y.shape[1] * x.itemsize // 4 > AT_ONCE:
        return _in_parts(x, y)
    return dot(x, y)


def matrix_product(x: np.ndarray, y: np.ndarray) -> Any:
    """Return x y.   x [..., m, k], y [..., k, n] -> [..., m, n]; leading axes broadcast."""
    kind = x.dtype.kind
    if kind in "iu":
        return _integer_product(x, y)
    if x.dtype.itemsize == 2:  # float16 and bfloat16: sums are kept in float32
        return _product(x.astype(np.float32), y.astype(np.float32)).astype(x.dtype)
    return _product(x, y)


def _product(x: np.ndarray, y: np.ndarray) -> Any:
    if max(x.size * y.shape[-1], x.shape[-2] * y.size) * x.itemsize // 4 > AT_ONCE:
        return _in_parts(x, y)
    if x.ndim == 2 == y.ndim:
        return dot(x, y)  # less overhead than matmul
    if y.ndim == 2 and x.ndim > 2:  # one large product instead of one for each leading index
        rows = x.size // x.shape[-1] if x.shape[-1] else 0
        if rows:
            found = dot(x.reshape(rows, x.shape[-1]), y)
            return found.reshape(*x.shape[:-1], y.shape[-1])
    return matmul(_readable(x), _readable(y))


def _in_parts(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return x y, where that takes long: in calls between which handlers of signals can run."""
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = _readable(x), _readable(y)
    z = np.empty((*batch, x.shape[-2], y.shape[-1]), np.result_type(x, y))
    x, y = [np.broadcast_to(each, (*batch, *each.shape[-2:])) for each in (x, y)]
    _fill(z, x, y)
    return z


def _fill(z: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """z = x y with equal leading axes: by halves of z until they are short."""
    if z.size * x.shape[-1] * z.itemsize // 4 <= AT_ONCE or z.size == 1:
        matmul(x, y, z)
    elif z.ndim > 2 and len(z) == 1:
        _fill(z[0], x[0], y[0])
    elif z.ndim == 2 and z.shape[0] < z.shape[1]:
        half = z.shape[1] // 2
        _fill(z[:, :half], x, y[:, :half])
        _fill(z[:, half:], x, y[:, half:])
    else:
        half = len(z) // 2
        _fill(z[:half], x[:half], y[:half] if z.ndim > 2 else y)
        _fill(z[half:], x[half:], y[half:] if z.ndim > 2 else y)


def _readable(x: np.ndarray) -> Any:
    """Return `x`, copied if neither of its last axes is contiguous: BLAS cannot read it then."""
    if x.size and x.itemsize not in x.strides[-2:]:
        return np.ascontiguousarray(x)
    return x


def _integer_product(x: np.ndarray, y: np.ndarray) -> Any:
    """Multiply in float64, which BLAS does, where every sum is exact there; wrap as C does."""
    if x.size and y.size and x.size * y.shape[-1] > SMALL:
        bound = _largest(x) * _largest(y) * x.shape[-1]
        if bound < EXACT:
            product = _product(x.astype(np.float64), y.astype(np.float64))
            return product.astype(np.int64).astype(x.dtype)
    return np.matmul(x, y)


def _largest(x: np.ndarray) -> float:
    return max(abs(float(x.max())), abs(float(x.min())))
