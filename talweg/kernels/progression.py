"""Evenly spaced numbers, and arrays that may not fit into memory."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.errors import OpError, ResourceExhaustedError, compose, invalid

if TYPE_CHECKING:
    from talweg.core.dtypes import DType


def allocate(function: str, make: Callable[..., Any], *arguments: object) -> Any:
    """Return make(*arguments), an array; ResourceExhaustedError if there is no room for it.

    InvalidArgumentError if the first of the arguments is a shape that no array has.
    """
    try:
        return make(*arguments)
    except (MemoryError, ValueError) as error:
        dims = arguments[0] if type(arguments[0]) is tuple else ()
        found = explain_refused_size(function, error, dims)
        if found is None:
            text = compose("TW209", f"{function}: not enough memory: {error}")
            found = ResourceExhaustedError(None, None, text)
        raise found from None


def explain_refused_size(function: str, error: Exception, dims: tuple) -> OpError | None:
    """Translate an error of NumPy's about a shape that no array has; None for other errors.

    A negative size, more than 64 axes, and more elements than can be counted are invalid; what
    can be counted, and has no room in the address space, is too large.
    """
    if not isinstance(error, (ValueError, IndexError)):
        return None
    text = str(error)
    if not _NO_SHAPE.search(text):
        return _too_large(function, text, dims) if _NO_ROOM.search(text) else None
    return invalid("TW205", f"{function}: no array has this shape: {text}", "at most 64 axes")


def _too_large(function: str, text: str, dims: tuple) -> OpError:
    if all(type(size) is int for size in dims) and math.prod(dims) >= 2**63:
        return invalid("TW205", f"{function}: there are too many elements in the shape {dims}")
    return ResourceExhaustedError(None, None, compose("TW209", f"{function}: {text}"))


_NO_SHAPE = re.compile(
    "negative dimensions|maximum supported dimension|number of dimensions must be|Maximum allowed"
)
_NO_ROOM = re.compile("array is too big|iterator is too large")


def progression(
    start: int | np.generic | np.ndarray,
    limit: int | np.generic | np.ndarray,
    delta: int | np.generic | np.ndarray,
    dtype: DType,
) -> np.ndarray:
    """Return start, start + delta, ... before `limit`, of the DType `dtype`.

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
        return allocate("range", np.arange, first, last, step, dtype.numpy_dtype)
    if not math.isfinite((last - first) / step):
        raise invalid("TW207", f"range: from {first} to {last} by {step}", "finite numbers")
    count = math.ceil(abs((last - first) / step))
    steps = allocate("range", np.arange, float(count)).astype(dtype.numpy_dtype)
    return (start + steps * delta).astype(dtype.numpy_dtype)
