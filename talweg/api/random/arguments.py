"""Shapes, dtypes and parameters as the functions of tf.random take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.api.arguments import integer, integers, require_sizes, tensor
from talweg.core.dims import Dim, below, dims_differ
from talweg.core.dtypes import DType, as_dtype
from talweg.core.errors import invalid, invalid_value, value_error
from talweg.core.shapes import TensorShape, broadcast_dims
from talweg.eager.convert import convert_to_tensor


def shape_and_kind(shape: Any, function: str) -> tuple[tuple, str]:
    """Convert a shape to a tuple of sizes, and "int64" if it came as a tensor or array of that
    dtype.

    The dtype counts because a call with another one has a hidden stream of its own.
    InvalidArgumentError for what is no vector of integers >= 0, ValueError for unknown sizes.
    """
    if type(shape) in (list, tuple) and all(type(size) is int for size in shape):
        dims, kind = tuple(shape), "int32"
    else:
        dims, kind = _convert_shape(shape, function)
    for size in dims:
        if below(size, 0):
            raise invalid_value(
                "TW205", f"{function}: Dimension {size} must be >= 0, in shape={dims}"
            )
    return dims, kind


def _convert_shape(shape: object, function: str) -> tuple[tuple, str]:
    if isinstance(shape, TensorShape) and shape.is_fully_defined():
        return shape.as_tuple(), "int32"
    if isinstance(shape, (list, tuple)):  # NumPy's integers count as Python's
        shape = [int(size) if isinstance(size, np.integer) else size for size in shape]
        if any(type(size) is Dim for size in shape):
            return tuple([integer(size, function, "shape") for size in shape]), "int32"
    vector = tensor(shape)
    if vector.ndim != 1:
        raise invalid(
            "TW205",
            f"{function}: shape must be a vector of {{int32,int64}}, got shape {list(vector.dims)}",
            "a list such as [3]",
        )
    if not vector.dtype.is_integer:
        raise invalid("TW205", f"{function}: shape must be integers, got dtype {vector.dtype.name}")
    return integers(vector, function, "shape"), vector.dtype.name


def shape_of(shape: object, function: str) -> tuple:
    """Return a shape as a tuple of sizes; errors as `shape_and_kind`."""
    return shape_and_kind(shape, function)[0]


def check_dtype(dtype: object, accepted: tuple[DType, ...]) -> DType:
    """Convert `dtype` to a DType; ValueError if it is not one of `accepted`."""
    dtype = as_dtype(dtype)
    if dtype not in accepted:
        names = ", ".join(f"tf.{kind.name}" for kind in accepted)
        raise value_error(
            "TW102", f"Argument `dtype` got invalid value {dtype}.", f"one of ({names})"
        )
    return dtype


def scale_and_shift(numbers: Any, scale: object, shift: object) -> Any:
    """Return numbers * scale + shift; nothing is computed where these are the numbers 1 and 0."""
    if type(scale) in (int, float) and scale == 1 and type(shift) in (int, float) and shift == 0:
        return numbers
    dtype = numbers.dtype
    return numbers * parameter(scale, dtype) + parameter(shift, dtype)


def parameter(value: object, dtype: DType) -> Any:
    """Return a parameter as a tensor of the result's dtype;
    TypeError or ValueError if it cannot be.
    """
    return convert_to_tensor(value, dtype)


def sample_shape(shape: tuple, first: Any, *others: Any) -> tuple[tuple, Any]:
    """Split `shape` at the parameters' shape: (the part before it, the first parameter).

    InvalidArgumentError if `shape` ends else.
    """
    dims = broadcast_dims("random numbers", *[p.dims for p in (first, *others)])
    count = len(shape) - len(dims)
    if count < 0 or dims_differ(shape[count:], dims):
        raise invalid(
            "TW205",
            f"Shape passed in must end with broadcasted shape: shape={list(shape)}, but the "
            f"parameters have shape {list(dims)}",
        )
    text = "Shape passed in must end with broadcasted shape"
    return shape[:count], require_sizes(first, shape[count:], dims, text)


def scalar_integer(value: object, function: str, argument: str) -> int:
    """Return an int; InvalidArgumentError for an array, TypeError for what is no integer."""
    if not isinstance(value, (int, Dim)):
        value = tensor(value)
        if value.ndim:
            text = f"{function}: {argument} must be a scalar, got shape {list(value.dims)}"
            raise invalid("TW203", text)
    return integer(value, function, argument)
