"""Arguments of array functions: lists of tensors of one dtype, and integers that are parameters.

TensorFlow makes a tensor of such an argument and then looks at it, so a list of floats where
integers belong is an InvalidArgumentError, and None a ValueError.

In a graph an integer may be a symbolic size (`core/dims.py`): functions reject only what is
certainly wrong (`below`, `differ`), and the kernels look again when the number is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import content, tensor
from talweg.core import dispatch
from talweg.core.dims import Dim, Size, below, is_symbolic
from talweg.core.dtypes import DType, int8, int16, int32, int64
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.shapes import TensorShape, normalize_axis
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.eager.tensor import EagerTensor
from talweg.graph.symbol import Symbol
from talweg.prims.joining import stack
from talweg.prims.state import ensure_dims, size_value

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

INTEGERS = frozenset((int8, int16, int32, int64))


def _holds_int32(value: Any) -> bool:
    """Return whether a number, or a list of lists, holds nothing but Python's ints of 32 bits."""
    if type(value) is int:
        return -(1 << 31) <= value < 1 << 31
    return type(value) in (list, tuple) and bool(value) and all(map(_holds_int32, value))


def integer_array(value: object, function: str, argument: str, empty: bool = True) -> np.ndarray:
    """Convert a value to an integer array; InvalidArgumentError for other dtypes.

    An empty list has no integers in it, and no floats either: it passes if `empty`.  For a tensor
    of a graph the array holds ints and symbolic sizes.
    """
    if _holds_int32(value):
        try:
            return np.array(value, np.int32)
        except ValueError:  # rows of different lengths, which `tensor` explains
            pass
    array = tensor(value)
    if array.dtype.is_floating and isinstance(value, (list, tuple)):
        # (rows, 1), with rows computed as a float: a list may hold that, a vector may not.
        array = tensor(value, int32) if any(map(is_tensor_like, value)) else array
    if array.dtype not in INTEGERS and not (
        empty and 0 in array.dims and not is_tensor_like(value)
    ):
        if array.dtype.is_bool and not is_tensor_like(value):
            return np.asarray(array._array).astype(np.int32)  # type: ignore
        raise invalid(
            "TW102",
            f"{function}: {argument} has dtype {array.dtype.name}",
            "int32 or int64",
            f"tf.cast({argument}, tf.int32)",
        )
    return np.asarray(content(array, function, argument))


def integer_vector(
    value: Any, function: str, argument: str, empty: bool = True, scalar: bool = False
) -> tuple[Size, ...]:
    """Convert a vector to a tuple of ints; InvalidArgumentError unless it is one (or an allowed
    scalar).
    """
    if type(value) is TensorShape and value.is_fully_defined():
        value = value.as_tuple()
    if type(value) in (list, tuple):
        kinds = set(map(type, value))
        if kinds == _INT or (not kinds and empty):
            return tuple(value)
        if kinds & _SYMBOLIC:
            return tuple([integer_scalar(item, function, argument) for item in value])
    array = integer_array(value, function, argument, empty)
    if array.ndim != 1 and not (scalar and array.ndim == 0):
        raise invalid(
            "TW203",
            f"{function}: {argument} must be a vector, got shape {array.shape}",
            "a vector",
            "" if array.ndim else f"a list: {argument}=[...]",
        )
    return tuple(array.reshape(-1).tolist())


_INT, _SYMBOLIC = {int}, {Symbol, Dim}


def whole_items(value: Any) -> Any:
    """Return a list of sizes, those that are computed as floats in a graph made integers.

    The caller keeps it until the sizes are used: they are those of its tensors.
    """
    if type(value) not in (list, tuple) or Symbol not in map(type, value):
        return value
    return [
        hooks.cast(item, int32) if type(item) is Symbol and item.dtype.is_floating else item
        for item in value
    ]


def integer_scalar(value: object, function: str, argument: str) -> Size:
    """Return an int; InvalidArgumentError unless `value` holds exactly one integer."""
    if type(value) is int or type(value) is Dim:
        return value
    array = integer_array(value, function, argument)
    if array.size != 1:
        raise invalid(
            "TW203",
            f"{function}: {argument} must be a scalar, got shape {array.shape}",
            "one integer",
        )
    found = array.reshape(-1)[0]
    return found if type(found) is Dim else int(found)


def dims_or_none(x: Any) -> tuple | None:
    """Return the dimensions of a tensor; None if a graph does not know its rank."""
    return x.node.aval.dims if type(x) is Symbol else x.dims


def set_rank(x: object, rank: int) -> Any:
    """Set the rank of `x` if it is a tensor of a graph of unknown rank."""
    return ensure_dims(x, shape=(None,) * rank) if dims_or_none(x) is None else x


def length_of(value: Any) -> int | None:
    """Return the number of items of a list or an integer vector, if that is known."""
    if isinstance(value, (list, tuple)):
        return len(value)
    dims = dims_or_none(value) if hasattr(value, "dims") else np.shape(value)
    return dims[0] if dims and type(dims[0]) is int else None


def get_known_dims(x: object) -> tuple | None:
    """Return the dimensions of a plain tensor, or of a tensor of a graph that knows its rank."""
    if type(x) is EagerTensor:
        return x.dims
    return x.node.aval.dims if type(x) is Symbol else None


def in_graph() -> bool:
    """Return whether a graph is under construction."""
    return state.busy > 0 and dispatch.context.base is not None


def as_unsized_vector(value: object) -> Any:
    """Return `value` if it is an integer vector of a graph with an unknown number of elements."""
    if type(value) is not Symbol or value.dtype not in (int32, int64):
        return None
    dims = value.node.aval.dims
    return value if dims is None or (len(dims) == 1 and is_symbolic(dims)) else None


def set_dims(value: object, dims: tuple) -> Any:
    """Set the shape `dims` of `value` if it is an integer tensor of a graph without one."""
    if type(value) is Symbol:
        own = value.node.aval.dims
        if own is None or is_symbolic(own):
            return ensure_dims(value, shape=dims)
    return value


def nothing(dtype: DType) -> Any:
    """Return a zero of any dtype; an empty string."""
    return np.array(b"", object) if dtype.name == "string" else dtype.numpy_dtype.type(0)


def require_integer(value: object, function: str, argument: str) -> Size:
    """Convert a value to an int, as to int32; TypeError for floats, InvalidArgumentError for
    lists.
    """
    if type(value) is int or type(value) is Dim:
        return value
    if not isinstance(value, (Tensor, np.ndarray, np.generic)) and not is_tensor_like(value):
        value = convert_to_tensor(value, int32)
    return integer_scalar(value, function, argument)


def axis_scalar(value: TensorLike, rank: int, function: str, argument: str = "axis") -> int:
    """Count one axis from the front; InvalidArgumentError if it is not an axis."""
    return normalize_axis(function, integer_scalar(value, function, argument), rank, argument)


def axis_in_range(value: Any, rank: int) -> int:
    """Count one axis from the front; ValueError if it is not an axis."""
    try:
        axis = int(value)
    except (TypeError, ValueError):
        raise type_error("TW104", f"Argument `axis` must be an integer, got {value!r}") from None
    if not -rank <= axis < rank:
        raise value_error("TW202", f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
    return axis + rank if axis < 0 else axis


def sizes(value: object, function: str, argument: str) -> tuple[Size, ...]:
    """Return a shape: a tuple of ints of at least 0; a scalar counts as a vector of one."""
    dims = integer_vector(value, function, argument, scalar=True)
    for size in dims:
        if below(size, 0):
            raise invalid(
                "TW205", f"{function}: {argument}={dims} has a negative dimension", "sizes >= 0"
            )
    return dims


def constant(array: object) -> Any:
    """Return a tensor around an array made here; a constant of the graph in force."""
    if state.busy and dispatch.context.base is not None:
        return dispatch.context.base.constant(array)
    made = object.__new__(EagerTensor)
    made._array = array
    return made


state = dispatch.state


def size_tensor(size: Size, dtype: DType) -> Any:
    """Return a size as a scalar tensor."""
    if type(size) is Dim:
        return size_value(size=size, dtype=dtype)
    return constant(dtype.numpy_dtype.type(size))


def sizes_tensor(sizes: Any, dtype: DType) -> Any:
    """Convert sizes to an integer vector."""
    if is_symbolic(sizes):
        return stack(*[size_tensor(size, dtype) for size in sizes], axis=0)
    return constant(np.array(sizes, dtype.numpy_dtype))


def numbers(dtype: DType, function: str, argument: str) -> None:
    """Raise InvalidArgumentError unless `dtype` is int32 or int64."""
    if dtype not in (int32, int64):
        raise invalid("TW102", f"{function}: {argument} is {dtype.name}", "int32 or int64")
