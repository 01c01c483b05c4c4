"""Resampling of an axis of images: each new pixel is a weighted sum of a few old ones."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.image.weights import area_weights, kernel_weights
from talweg.api.linalg.einsum import einsum
from talweg.eager.convert import convert_to_tensor
from talweg.prims import resampling

if TYPE_CHECKING:
    from talweg.core.value import Tensor


EQUATIONS = {1: "rh,bhwc->brwc", 2: "sw,bhwc->bhsc"}
FEWER = 6  # times as many old pixels as taps make sums of taps faster than a product


def resample(x: Tensor, axis: int, old: int, new: int, method: str, antialias: bool) -> Any:
    """Resample images x [batch, rows, columns, channels] to `new` places along axis 1 or 2."""
    places, weights, matrix = weights_of(old, new, method, antialias)
    if matrix is not None:
        return einsum(EQUATIONS[axis], convert_to_tensor(matrix), x)
    return resampling.resample(x, convert_to_tensor(places), convert_to_tensor(weights), axis=axis)


@lru_cache(maxsize=256)
def weights_of(old: int, new: int, method: str, antialias: bool) -> tuple:
    """Return (places, weights, None) by which `taps` makes the new row, or a matrix if many differ
    from 0.

    They depend on sizes alone, and take longer to make than a picture takes.
    """
    if method == "area":
        matrix = area_weights(old, new)
    else:
        matrix = kernel_weights(old, new, method, antialias)
    places, weights = taps(matrix)
    matrix.flags.writeable = places.flags.writeable = weights.flags.writeable = False
    if places.shape[1] * FEWER > matrix.shape[1]:
        return None, None, matrix
    return places, weights, None


def taps(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (places int32, weights), each [new, k], of the at most k weights in a row that are
    not 0.
    """
    count = int((matrix != 0).sum(1).max(initial=1)) or 1
    largest = np.argsort(matrix == 0, 1, kind="stable")[:, :count]
    places = np.sort(largest, 1).astype(np.int32)
    return places, np.take_along_axis(matrix, places, 1)
