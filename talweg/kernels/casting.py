"""Conversions between dtypes, the same on every processor.

Floats to integers truncate.  What does not fit (C leaves it undefined, and processors differ):
8 and 16 bits saturate, and NaN gives 0, as TensorFlow's loops over large tensors and XLA have it;
2 and 4 bits do so, too, and drop the bits of integers that do not fit;
32 and 64 bits give the number of the highest bit alone (the lowest int32 or int64), as x86 and
TensorFlow do.  Negative numbers as uint32 and uint64 wrap if they fit the signed integer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from talweg.core.dtypes import NARROW, DType, integer_view

TOP = {4: 2.0**31, 8: 2.0**63}  # where signed integers end
with np.errstate(invalid="ignore"):  # whether NumPy gives the lowest integer for those by itself
    _IS_LOWEST = all(
        (np.array([3e38, np.nan, -3e38], kind).astype(target) == np.iinfo(target).min).all()
        for kind in (np.float32, np.float64)
        for target in (np.int32, np.int64)
    )


def cast(x: Any, *, dtype: DType) -> Any:
    """Return x as another dtype;
    of complex numbers the real part, where those are not asked for.
    """
    target = dtype.numpy_dtype
    if x.dtype.kind == "c" and target.kind != "c":
        x = x.real
    elif x.dtype.kind == "V":
        x = _widen(x)
    if dtype.is_integer and dtype.name in NARROW and x.dtype.kind in "fV":
        limits = np.float32(int(dtype.min)), np.float32(int(dtype.max))
        x = np.nan_to_num(np.clip(x.astype(np.float32), *limits)).astype(np.int8)
    if target.kind in "iu" and x.dtype.kind in "fV":
        return _float_to_integer(x, target)
    return x.astype(target)


def _widen(x: NDArray) -> Any:
    """Return elements that NumPy knows: quantized numbers and integers of few bits as integers."""
    if x.dtype.name.startswith(("int", "uint")):
        return x.astype(np.int8)
    return integer_view(x)


def _float_to_integer(x: NDArray, target: np.dtype) -> Any:
    if x.dtype.itemsize == 2:  # of which not all limits are numbers
        x = x.astype(np.float32)
    if target.itemsize < 4:
        limits = np.iinfo(target)
        kind = x.dtype.type
        x = np.minimum(np.maximum(x, kind(limits.min)), kind(limits.max))
        return x.astype(np.int32).astype(target)  # NaN: 0 in the lowest bits
    if target.kind == "i":
        return _to_signed(x, target)
    wide = np.dtype(np.int64)
    if target.itemsize == 4:
        fits = (x >= -TOP[4]) & (x < 2 * TOP[4])
        return np.where(fits, _to_signed(x, wide), np.int64(TOP[4])).astype(target)
    large = (x >= TOP[8]) & (x < 2 * TOP[8])
    rest = _to_signed(np.where(large, x - x.dtype.type(TOP[8]), x), wide).astype(target)
    return rest ^ np.where(large, target.type(1 << 63), target.type(0))


def _to_signed(x: NDArray, target: np.dtype) -> Any:
    """Return x truncated; the lowest integer for what does not fit."""
    found = x.astype(target)
    if _IS_LOWEST:
        return found
    return np.where(x < TOP[target.itemsize], found, target.type(np.iinfo(target).min))
