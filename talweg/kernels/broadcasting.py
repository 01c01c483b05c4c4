"""Elementwise kernels of an array and a much shorter one that lies along its last axes.

NumPy's inner loop is the last axis that both have: three numbers, for the channels of pictures and
their means, which takes ten times as long as a loop over the whole.  Here the short one is repeated
until the loop is long enough, and the axes before are joined.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

LONG = 1024  # numbers of an inner loop, of which what surrounds it is a small part
SHORT = 64  # an inner loop that needs no help


def count_repeats(x: np.ndarray, y: np.ndarray) -> int:
    """Count how often to repeat y along x's last axes; 0 where that does not help."""
    count = y.size
    if not 1 < count < SHORT or x.size < LONG * count or not x.flags.c_contiguous:
        return 0
    kept = x.ndim  # how many axes of x lie before those that y has
    shape = (1,) * (x.ndim - y.ndim) + y.shape
    while kept and math.prod(x.shape[kept:]) < count:
        kept -= 1
    if y.ndim > x.ndim or shape[kept:] != x.shape[kept:] or math.prod(shape[kept:]) != count:
        return 0
    rows, best, along = x.size // count, 1, 1
    for size in reversed(x.shape[:kept]):
        along *= size
        if along * count > LONG * 8:
            break
        best = along
    power = 1 << (LONG // count).bit_length() - 1
    return max(best, min(rows & -rows, power))


def spread(x: Any, shape: tuple) -> np.ndarray:
    """Return a view of `x` repeated to a shape that it broadcasts to, as `numpy.broadcast_to`.

    Which takes five times as long, as it is written in Python.
    """
    x = np.asarray(x)
    if not x.flags.c_contiguous or x.dtype.hasobject:
        return np.broadcast_to(x, shape)
    lead = len(shape) - x.ndim
    steps = [0 if size == 1 else step for size, step in zip(x.shape, x.strides)]
    view = np.ndarray(shape, x.dtype, x, 0, (0,) * lead + tuple(steps))
    view.flags.writeable = False
    return view


def apply_in_long_loops(kernel: Callable[..., Any], x: np.ndarray, y: np.ndarray) -> Any:
    """Apply an elementwise kernel to x and y, by long inner loops where y is short."""
    times = count_repeats(x, y)
    if times * y.size < SHORT:
        return kernel(x, y)
    length = times * y.size
    again = np.broadcast_to(y.reshape(-1), (times, y.size)).reshape(length)
    return kernel(x.reshape(-1, length), again).reshape(x.shape)
