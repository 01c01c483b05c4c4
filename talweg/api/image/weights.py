"""Resampling weights, by which pixels of a row become pixels of a longer or shorter row.

Each method is a matrix [new size, old size], made with NumPy.  The centre of new pixel i lies at
(i + 1/2) * old/new in the old row.  A kernel is a function of the distance in old pixels; with
`antialias` it is widened by old/new where the row shrinks.  Keys 1981 (cubic); Mitchell and
Netravali 1988; Duchon 1979 (Lanczos).  Weights outside the row are left out, and the rest scaled to
the sum 1, as TensorFlow does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def triangle(x: np.ndarray) -> np.ndarray:
    """Compute 1 - |x|."""
    return np.maximum(0.0, 1.0 - x)


def keys_cubic(x: np.ndarray) -> np.ndarray:
    """Compute Keys' cubic with a = -1/2."""
    inner = (1.5 * x - 2.5) * x * x + 1.0
    outer = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return np.where(x < 1, inner, np.where(x < 2, outer, 0.0))


def mitchell_cubic(x: np.ndarray) -> np.ndarray:
    """Compute Mitchell and Netravali's cubic with B = C = 1/3."""
    inner = ((7.0 / 6.0 * x - 2.0) * x) * x + 8.0 / 9.0
    outer = ((-7.0 / 18.0 * x + 2.0) * x - 10.0 / 3.0) * x + 16.0 / 9.0
    return np.where(x < 1, inner, np.where(x < 2, outer, 0.0))


def lanczos(radius: float) -> Callable[[np.ndarray], np.ndarray]:
    """Compute sinc x sinc(x / radius)."""
    return lambda x: np.where(x <= radius, np.sinc(x) * np.sinc(x / radius), 0.0)


def gaussian(x: np.ndarray) -> np.ndarray:
    """Compute exp(-2 x^2) within 1.5."""
    return np.where(x < 1.5, np.exp(-2.0 * x * x), 0.0)


# Method -> its kernel and the distance beyond which that is 0.
KERNELS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float]] = {
    "bilinear": (triangle, 1.0),
    "bicubic": (keys_cubic, 2.0),
    "mitchellcubic": (mitchell_cubic, 2.0),
    "lanczos3": (lanczos(3.0), 3.0),
    "lanczos5": (lanczos(5.0), 5.0),
    "gaussian": (gaussian, 1.5),
}


def kernel_weights(old: int, new: int, method: str, antialias: bool) -> np.ndarray:
    """Return the matrix of one of the methods in `KERNELS`."""
    kernel, _ = KERNELS[method]
    scale = old / new
    width = max(scale, 1.0) if antialias else 1.0
    centre = (np.arange(new, dtype=np.float32) + np.float32(0.5)) * np.float32(scale)
    if method == "bicubic" and not antialias:  # TensorFlow looks its cubic up in a table
        whole = np.floor(centre - 0.5)
        centre = whole + 0.5 + np.rint((centre - 0.5 - whole) * 1024) / 1024
    distance = np.abs(np.arange(old) + 0.5 - centre[:, None]) / width
    weights = kernel(distance)
    total = weights.sum(axis=1, keepdims=True)
    total = np.where(np.abs(total) < 1e-30, 1.0, total)
    return (weights / total).astype(np.float32)


def nearest_places(old: int, new: int) -> np.ndarray:
    """Find for each new pixel the old one it is a copy of."""
    centre = (np.arange(new, dtype=np.float32) + np.float32(0.5)) * np.float32(old / new)
    return np.minimum(np.floor(centre).astype(np.int32), old - 1)


def area_weights(old: int, new: int) -> np.ndarray:
    """Return the share of each old pixel in the stretch that a new one covers."""
    scale = old / new
    first = np.arange(new)[:, None] * scale
    places = np.arange(old)[None, :]
    covered = np.minimum(first + scale, places + 1.0) - np.maximum(first, places)
    return (np.maximum(covered, 0.0) / scale).astype(np.float32)
