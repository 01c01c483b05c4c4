"""Sums of a few weighted elements along an axis, as images are made larger and smaller by them."""

from __future__ import annotations

import math

import numpy as np

SHORT = 8  # how many numbers behind the axis are taken one by one


def sum_taps(x: np.ndarray, places: np.ndarray, weights: np.ndarray, axis: int) -> np.ndarray:
    """Sum taps: Σₖ weights[i, k] x[..., places[i, k], ...], the new axis in place of the old one.

    NumPy moves what lies behind the axis by a call for each place: of few numbers, as the channels
    of a picture, it takes each by a place of its own.
    """
    count = math.prod(x.shape[axis + 1 :])
    dims = (*x.shape[:axis], len(places), *x.shape[axis + 1 :])
    if 1 < count < SHORT:
        places = places[:, None] * count + np.arange(count)[:, None]
        places = places.reshape(-1, places.shape[-1])
        weights = np.repeat(weights, count, 0)
        x, count = x.reshape(*x.shape[:axis], x.shape[axis] * count), 1
    else:
        x = x.reshape(*x.shape[: axis + 1], count)
        weights = weights[:, :, None]
    total = None
    for k in range(places.shape[1]):
        tap = np.take(x, places[:, k], axis=axis, mode="clip")
        tap *= weights[:, k]
        total = tap if total is None else np.add(total, tap, out=total)
    return np.zeros(dims, x.dtype) if total is None else total.reshape(dims)
