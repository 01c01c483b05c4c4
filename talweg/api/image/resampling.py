"""Resampling of an axis of images: each new pixel is a weighted sum of a few old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.gathering import gather
from talweg.api.linalg.einsum import einsum
from talweg.eager.convert import convert_to_tensor

if TYPE_CHECKING:
    from talweg.core.value import Tensor


EQUATIONS = {1: "rh,bhwc->brwc", 2: "sw,bhwc->bhsc"}
FEWER = 6  # times as many old pixels as taps make sums of taps faster than a product


def resample(x: Tensor, axis: int, matrix: np.ndarray) -> Any:
    """Multiply images x [batch, rows, columns, channels] by `matrix` [new, old] along an axis.

    Where few weights of a row differ from 0, each of these taps is a gather of its own: compiled,
    they are read where the sum is made, and the cost does not grow with the old size.
    """
    places, weights = taps(matrix)
    if places.shape[1] * FEWER > matrix.shape[1]:
        return einsum(EQUATIONS[axis], convert_to_tensor(matrix), x)
    shape = [len(matrix), 1] if axis == 2 else [len(matrix), 1, 1]
    total = None
    for place, weight in zip(places.T, weights.T):
        tap = gather(x, np.ascontiguousarray(place), axis=axis) * weight.reshape(shape)
        total = tap if total is None else total + tap
    return total


def taps(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (places int32, weights), each [new, k], of the at most k weights in a row that are
    not 0.
    """
    count = int((matrix != 0).sum(1).max(initial=1)) or 1
    largest = np.argsort(matrix == 0, 1, kind="stable")[:, :count]
    places = np.sort(largest, 1).astype(np.int32)
    return places, np.take_along_axis(matrix, places, 1)
