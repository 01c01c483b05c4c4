"""Evenly spaced numbers, and arrays that may not fit into memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core.errors import ResourceExhaustedError, compose, invalid


def allocated(function: str, make: Callable[..., Any], *arguments: Any) -> Any:
    """make(*arguments), an array; ResourceExhaustedError if there is no room for it."""
    try:
        return make(*arguments)
    except (MemoryError, ValueError) as error:
        text = compose("TW209", f"{function}: not enough memory: {error}")
        raise ResourceExhaustedError(None, None, text) from None


def progression(start: Any, limit: Any, delta: Any, dtype: Any) -> np.ndarray:
    """start, start + delta, ... before `limit`, of the DType `dtype`.

    InvalidArgumentError for a delta of 0 or one that leads away from the limit.
    """
    # In the dtype's own precision: (1.1 - 0.1) / 0.1 is 10 in float32 and a little more in float64.
    number = int if dtype.is_integer else dtype.numpy_dtype.type
    first, last, step = (number(n) for n in (start, limit, delta))
    if step == 0:
        raise invalid("TW207", "range: delta is 0", "another number")
    if (last - first) * step < 0:
        relation = "<=" if step > 0 else ">="
        raise invalid(
            "TW207", f"range: requires start {relation} limit for delta {step}: {first}/{last}"
        )
    if dtype.is_integer:
        return allocated("range", np.arange, first, last, step, dtype.numpy_dtype)
    if not math.isfinite((last - first) / step):
        raise invalid("TW207", f"range: from {first} to {last} by {step}", "finite numbers")
    count = math.ceil(abs((last - first) / step))
    steps = allocated("range", np.arange, float(count)).astype(dtype.numpy_dtype)
    return (start + steps * delta).astype(dtype.numpy_dtype)
