"""Scalar functions of loop programs on arrays: casts, combination, rounding of small floats.

Half precision (float16, bfloat16 and the 8-bit floats) is computed as float32 and rounded when it
is stored or cast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from talweg.core.dtypes import DType, bool_
from talweg.core.errors import InternalError
from talweg.lower.ir.scalars import SCALARS

COMBINE: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
}


def compute_dtype(dtype: DType) -> np.dtype:
    """Return the NumPy dtype that values of a dtype are computed in."""
    small = dtype.is_floating and dtype.size < 4
    return np.dtype(np.float32) if small else dtype.numpy_dtype


def round_to_stored(values: NDArray, dtype: DType) -> NDArray:
    """Round computed values to their stored form."""
    return values.astype(dtype.numpy_dtype)


def cast(values: NDArray, source: DType, dtype: DType) -> NDArray:
    """Convert as C does; float to int saturates and gives 0 for NaN; integers wrap."""
    if dtype is bool_:
        return values != 0
    if source.is_floating and dtype.is_integer:
        return _saturate(values, dtype.numpy_dtype)
    if dtype.is_floating:
        return round_to_stored(values, dtype).astype(compute_dtype(dtype))
    return values.astype(dtype.numpy_dtype)


def _saturate(values: NDArray, dtype: np.dtype) -> NDArray:
    limits = np.iinfo(dtype)
    bottom, top = float(limits.min), float(limits.max + 1)  # powers of two: exact in any float
    inside = (values > bottom) & (values < top)
    result = np.where(inside, values, 0).astype(dtype)
    result[values <= bottom] = limits.min
    result[values >= top] = limits.max
    return result


def value_of(name: str, args: list[NDArray], dtype: DType) -> NDArray:
    """Evaluate a function of `lower/ir/scalars.py`, or `select`, on computed arguments."""
    if name == "select":
        result = np.where(*args)
    elif name in SCALARS:
        result = np.asarray(SCALARS[name].numpy(*args))
    else:
        raise InternalError(None, None, f"no scalar function {name}")
    if result.dtype != compute_dtype(dtype):
        message = f"{name} of {[arg.dtype.name for arg in args]} gives {result.dtype}, not {dtype}"
        raise InternalError(None, None, message)
    return result
