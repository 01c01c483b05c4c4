"""NumPy's promotion: defaults for Python values, the common dtype of operands.

Python numbers are weak: they take the dtype of the array beside them if its kind can hold them
(NEP 50).  `preferences` says what `experimental_enable_numpy_behavior` asked for.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.tensors import cast
from talweg.core.dtypes import DType, as_dtype, float32, float64, int32, int64, of_numpy
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.eager.convert import is_tensor_like

LEGACY, ALL, SAFE, OFF = "legacy", "all", "safe", "off"


def axis_within(axis: int, rank: int, function: str) -> int:
    """Return an axis of an array of `rank` axes, counted from the front; ValueError if it has none
    such.

    >>> axis_within(-1, 3, "flip")
    2
    """
    place = operator.index(axis)
    if not -rank <= place < rank:
        raise value_error("TW202", f"{function}: axis={axis} is out of bounds for rank {rank}")
    return place % rank


class Preferences:
    """Holds the settings of promotion for the whole process."""

    mode: str | None = None  # None: NumPy's behaviour was not enabled
    prefer_float32 = False


preferences = Preferences()


def lattice() -> bool:
    """Return whether the promotion of weak and strong dtypes is in force ("all" and "safe")."""
    return preferences.mode in (ALL, SAFE)


def default_float() -> DType:
    """Return the dtype of arrays made without one."""
    return float32 if lattice() else float64


def default_int() -> DType:
    """Return the dtype of integers made without one."""
    return int32 if lattice() else int64


def leaf(value: object) -> Any:
    """Return the first element of nested sequences that is a tensor,
    else the widest Python number.
    """
    if not isinstance(value, (list, tuple)):
        return value
    found = [leaf(item) for item in value]
    for item in found:
        if is_tensor_like(item) or isinstance(item, (np.ndarray, np.generic)):
            return item
    for kind in (complex, float, int, bool):
        if any(type(item) is kind for item in found):
            return kind(0)
    return found[0] if found else 0.0


def numpy_dtype_of(value: Any) -> Any:
    """Convert a value to an operand of NumPy's promotion: a dtype, or a weak Python number."""
    if isinstance(value, (DType, type, np.dtype, str)):
        return as_dtype(_PYTHON_TYPES.get(value, value)).numpy_dtype
    value = leaf(value)
    if isinstance(value, float) and preferences.prefer_float32:
        return np.dtype(np.float32)
    if isinstance(value, complex) and preferences.prefer_float32:
        return np.dtype(np.complex64)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype
    if is_tensor_like(value):
        return value.dtype.numpy_dtype
    if isinstance(value, bool):
        return np.dtype(bool)
    for kind in (int, float, complex):
        if isinstance(value, kind):
            return kind(0)
    return np.asarray(value).dtype


_PYTHON_TYPES: dict[Any, Any] = {int: np.int64, complex: np.complex128}


def to_dtype(dtype: object) -> DType:
    """Return a dtype as NumPy users give it: `float` and `int` are the defaults."""
    if dtype is float:
        return default_float()
    if dtype is int:
        return default_int()
    return as_dtype(_PYTHON_TYPES.get(dtype, dtype) if isinstance(dtype, type) else dtype)


def common_dtype(*values: object) -> DType:
    """Return the dtype that NumPy's promotion gives to values and dtypes together; TypeError if
    none.

    Python's floats leave bfloat16 as it is, as they leave float16.
    """
    given = [numpy_dtype_of(value) for value in values]
    strong = [dtype for dtype in given if isinstance(dtype, np.dtype)]
    found = np.result_type(*strong) if strong else None
    if found is None or not of_numpy(found).is_floating or complex in map(type, given):
        found = np.result_type(*given)
    if lattice() and all(_weak(value) for value in values):
        found = {np.dtype("i8"): np.dtype("i4"), np.dtype("f8"): np.dtype("f4")}.get(found, found)
    return as_dtype(found)


def _weak(value: object) -> bool:
    return type(leaf(value)) in (bool, int, float, complex)


def as_array(value: object, dtype: object = None) -> Tensor:
    """Return a value as a tensor, with NumPy's default dtypes for Python values."""
    wanted = None if dtype is None else to_dtype(dtype)
    if is_tensor_like(value):
        found = tensor(value)
        return found if wanted in (None, found.dtype) else cast(found, wanted)
    if wanted is None and not isinstance(value, (np.ndarray, np.generic, str, bytes)):
        first = leaf(value)
        if type(first) in (bool, int, float, complex) or is_tensor_like(first):
            wanted = common_dtype(value)
    if wanted is not None and isinstance(value, (np.ndarray, np.generic)):
        return cast(tensor(value), wanted)
    if wanted is not None and not (wanted.is_floating or wanted.is_complex):
        return cast(tensor(_as_it_is(value)), wanted)
    return tensor(value, wanted)


def _as_it_is(value: object) -> Any:
    """Return Python numbers as NumPy takes them; nests with tensors inside as they are."""
    return value if is_tensor_like(leaf(value)) else np.asarray(value)


def promote(*values: object) -> list[Any]:
    """Convert values to tensors of their common dtype."""
    dtype = common_dtype(*values)
    return [as_array(value, dtype) for value in values]


def inexact(value: object) -> Tensor:
    """Return a value as a tensor of floats or complex numbers:
    integers and bool become the default.
    """
    x = as_array(value)
    return x if x.dtype.is_floating or x.dtype.is_complex else cast(x, default_float())


def inexact_pair(x: object, y: object) -> list[Any]:
    """Convert two values to floats or complex numbers of one dtype."""
    dtype = common_dtype(x, y)
    if not (dtype.is_floating or dtype.is_complex):
        dtype = default_float()
    return [as_array(x, dtype), as_array(y, dtype)]
