"""Arguments of array functions: lists of tensors of one dtype, and integers that are parameters.

TensorFlow makes a tensor of such an argument and then looks at it, so a list of floats where
integers belong is an InvalidArgumentError, and None a ValueError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.core.dtypes import DType, int8, int16, int32, int64
from talweg.core.errors import ResourceExhaustedError, compose, invalid, type_error, value_error
from talweg.core.shapes import normalize_axis
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.eager.tensor import EagerTensor, array_of

INTEGERS = frozenset((int8, int16, int32, int64))


def integer_array(value: Any, function: str, argument: str, empty: bool = True) -> np.ndarray:
    """An integer array from anything convertible; InvalidArgumentError for other dtypes.

    An empty list has no integers in it, and no floats either: it passes if `empty`.
    """
    found = tensor(value)
    if found.dtype not in INTEGERS and not (
        empty and 0 in found.dims and not is_tensor_like(value)
    ):
        raise invalid(
            "TW102",
            f"{function}: {argument} has dtype {found.dtype.name}",
            "int32 or int64",
            f"tf.cast({argument}, tf.int32)",
        )
    return np.asarray(array_of(found))


def integer_vector(
    value: Any, function: str, argument: str, empty: bool = True, scalar: bool = False
) -> tuple[int, ...]:
    """A tuple of ints; InvalidArgumentError unless `value` is a vector (or an allowed scalar)."""
    plain = type(value) in (list, tuple) and all(type(item) is int for item in value)
    if plain and (value or empty):
        return tuple(value)
    array = integer_array(value, function, argument, empty)
    if array.ndim != 1 and not (scalar and array.ndim == 0):
        raise invalid(
            "TW203", f"{function}: {argument} must be a vector, got shape {array.shape}", "a vector"
        )
    return tuple(array.reshape(-1).tolist())


def integer_scalar(value: Any, function: str, argument: str) -> int:
    """An int; InvalidArgumentError unless `value` holds exactly one integer."""
    if type(value) is int:
        return value
    array = integer_array(value, function, argument)
    if array.size != 1:
        raise invalid(
            "TW203",
            f"{function}: {argument} must be a scalar, got shape {array.shape}",
            "one integer",
        )
    return int(array.reshape(())[()])


def demanded_integer(value: Any, function: str, argument: str) -> int:
    """An int from what converts to int32; TypeError for floats, InvalidArgumentError for lists."""
    if type(value) is int:
        return value
    if not isinstance(value, (Tensor, np.ndarray, np.generic)) and not is_tensor_like(value):
        value = convert_to_tensor(value, int32)
    return integer_scalar(value, function, argument)


def axis_scalar(value: Any, rank: int, function: str, argument: str = "axis") -> int:
    """One axis counted from the front; InvalidArgumentError if it is not an axis."""
    return normalize_axis(function, integer_scalar(value, function, argument), rank, argument)


def axis_in_range(value: Any, rank: int) -> int:
    """One axis counted from the front; ValueError if it is not an axis."""
    try:
        axis = int(value)
    except (TypeError, ValueError):
        raise type_error("TW104", f"Argument `axis` must be an integer, got {value!r}") from None
    if not -rank <= axis < rank:
        raise value_error("TW202", f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
    return axis + rank if axis < 0 else axis


def sizes(value: Any, function: str, argument: str) -> tuple[int, ...]:
    """A shape: a tuple of ints of at least 0; a scalar counts as a vector of one."""
    dims = integer_vector(value, function, argument, scalar=True)
    for size in dims:
        if size < 0:
            raise invalid(
                "TW205", f"{function}: {argument}={dims} has a negative dimension", "sizes >= 0"
            )
    return dims


def constant(array: Any) -> EagerTensor:
    """A tensor around an array made here."""
    made = object.__new__(EagerTensor)
    made._array = array
    return made


def allocated(function: str, make: Callable[..., Any], *arguments: Any) -> Any:
    """make(*arguments), an array; ResourceExhaustedError if there is no room for it."""
    try:
        return make(*arguments)
    except (MemoryError, ValueError) as error:
        text = compose("TW209", f"{function}: not enough memory: {error}")
        raise ResourceExhaustedError(None, None, text) from None


def is_plain(value: Any) -> bool:
    """Whether `value` is a tensor that has a value."""
    return type(value) is EagerTensor


def numbers(dtype: DType, function: str, argument: str) -> None:
    """InvalidArgumentError unless `dtype` is int32 or int64."""
    if dtype not in (int32, int64):
        raise invalid("TW102", f"{function}: {argument} is {dtype.name}", "int32 or int64")
