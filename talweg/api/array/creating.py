"""Tensors made from nothing: zeros, ones, fill, eye."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.operands import (
    INTEGERS,
    as_unsized_vector,
    constant,
    get_known_dims,
    in_graph,
    integer_scalar,
    sizes,
    whole_items,
)
from talweg.api.export import export, look_up
from talweg.core import dispatch
from talweg.core.dims import Dim, Size, below, differ, is_symbolic
from talweg.core.dtypes import (
    DType,
    as_dtype,
    float32,
    int32,
    string,
)
from talweg.core.errors import invalid, type_error
from talweg.core.shapes import TensorShape
from talweg.core.value import Tensor
from talweg.eager.composite import SparseTensor
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.eager.ragged import RaggedTensor
from talweg.graph.symbol import Symbol
from talweg.kernels.progression import allocate
from talweg.prims import arithmetic, dynamic, search, sequences, state
from talweg.prims.layout import broadcast_to, reshape

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike

FEW = 1000  # elements of a constant that a graph holds as such


def _fill(dims: tuple, value: Any) -> Any:
    """Fill a tensor with `value` in a graph: by broadcasting unless it is small."""
    if is_symbolic(dims) or math.prod(dims) > FEW:
        return _broadcast(constant(value), shape=dims)
    return constant(np.full(dims, value, value.dtype))


def _make_with_layout(function: Callable[..., Any], layout: object, *given: object) -> Any:
    """Call a function and give its result a DTensor layout."""
    return look_up("experimental.dtensor.call_with_layout")(function, layout, *given)


def _layout_like(x: Any) -> Any:
    """Return the layout of a tensor; None if it has none."""
    if not dispatch.state.meshes or in_graph():
        return None
    known = look_up("experimental.dtensor.is_dtensor")(x)
    return look_up("experimental.dtensor.fetch_layout")(x) if known else None


def zeros_of(dims: tuple, dtype: DType) -> Any:
    """Make zeros of a shape and dtype; empty strings for strings."""
    kind = dtype.numpy_dtype
    if in_graph():
        return _fill(dims, np.array(b"", object) if dtype is string else np.zeros((), kind)[()])
    if dtype is string:
        return constant(allocate("zeros", np.full, dims, b"", object))
    return constant(allocate("zeros", np.zeros, dims, kind) if dims else np.zeros((), kind)[()])


def ones_of(dims: tuple, dtype: DType, function: str) -> Any:
    if dtype is string:
        raise type_error("TW102", f"{function}: cannot convert 1 to a string", "a number or bool")
    kind = dtype.numpy_dtype
    if in_graph():
        return _fill(dims, np.ones((), kind)[()])
    return constant(allocate(function, np.ones, dims, kind) if dims else np.ones((), kind)[()])


def _make_shape(shape: Any, function: str) -> tuple[Size, ...]:
    """Return the shape of something to be made: lists become int32, so floats are a TypeError."""
    if type(shape) in (list, tuple) and all(type(n) is int and n >= 0 for n in shape):
        return tuple(shape)
    if isinstance(shape, TensorShape) and shape.is_fully_defined():
        return shape.as_tuple()
    listed = type(shape) in (list, tuple)
    if listed and any(type(n) in (Symbol, Dim) for n in shape):
        return sizes(shape, function, "shape")
    if not is_tensor_like(shape) and not isinstance(shape, TensorShape):
        try:
            shape = convert_to_tensor(shape, int32)
        except TypeError:
            raise type_error("TW205", f"{function}: shape is {shape!r}", "integers") from None
    return sizes(shape, function, "shape")


@export("zeros")
def zeros(
    shape: ShapeLike, dtype: object = float32, name: str | None = None, layout: object = None
) -> Tensor:
    """Return zeros (False, empty strings) of the given shape and dtype.

    shape: an integer vector, or an int for a vector of that length.  InvalidArgumentError for
    negative sizes, TypeError for floats.

    >>> import talweg as tf
    >>> tf.zeros([2, 2])
    <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
    array([[0., 0.],
           [0., 0.]], dtype=float32)>
    """
    if layout is not None:
        return _make_with_layout(zeros, layout, shape, dtype)
    dtype, unsized = as_dtype(dtype), as_unsized_vector(shape)
    if unsized is not None:
        return dynamic.broadcast_by(zeros_of((), dtype), unsized, dims=None)
    shape = whole_items(shape)  # kept until the result is made
    return zeros_of(_make_shape(shape, "zeros"), dtype)


@export("ones")
def ones(
    shape: ShapeLike, dtype: DTypeLike = float32, name: str | None = None, layout: object = None
) -> Tensor:
    """Return ones (True) of the given shape and dtype.

    shape: an integer vector, or an int for a vector of that length.  InvalidArgumentError for
    negative sizes, TypeError for floats and for the dtype string.

    >>> import talweg as tf
    >>> tf.ones([2], tf.int32).numpy()
    array([1, 1], dtype=int32)
    """
    if layout is not None:
        return _make_with_layout(ones, layout, shape, dtype)
    dtype, unsized = as_dtype(dtype), as_unsized_vector(shape)
    if unsized is not None:
        return dynamic.broadcast_by(ones_of((), dtype, "ones"), unsized, dims=None)
    shape = whole_items(shape)  # kept until the result is made
    return ones_of(_make_shape(shape, "ones"), dtype, "ones")


@export("zeros_like")
def zeros_like(
    input: object, dtype: DTypeLike | None = None, name: str | None = None, layout: object = None
) -> Tensor:
    """Return zeros of the shape of `input`, and of its dtype unless `dtype` is given.

    >>> import talweg as tf
    >>> tf.zeros_like([1.5, 2.5]).numpy()
    array([0., 0.], dtype=float32)
    """
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(zeros_like(input.flat_values, dtype))  # type: ignore
    if isinstance(input, SparseTensor):
        return zeros(input.dense_shape, input.dtype if dtype is None else dtype)
    x = tensor(input)
    layout = _layout_like(x) if layout is None else layout
    if layout is not None:
        return _make_with_layout(zeros, layout, x.shape, x.dtype if dtype is None else dtype)
    dtype = x.dtype if dtype is None else as_dtype(dtype)
    if dtype.name == "variant" and x.shape.rank != 0:
        text = f"zeros_like: input has dtype variant and shape {x.shape}"
        raise invalid("TW102", text, "numbers, or a scalar")
    dims = get_known_dims(x)
    if dims is not None:
        return zeros_of(dims, dtype)
    if type(x) is Symbol:
        sizes = state.shape_of(x, dtype=int32)
        return dynamic.broadcast_by(zeros_of((), dtype), sizes, dims=None)
    zero = arithmetic.zeros_of(x)
    return zero if dtype is x.dtype else arithmetic.cast(zero, dtype=dtype)


@export("ones_like")
def ones_like(
    input: object, dtype: DTypeLike | None = None, name: str | None = None, layout: object = None
) -> Tensor:
    """Return ones of the shape of `input`, and of its dtype unless `dtype` is given.

    InvalidArgumentError for strings.

    >>> import talweg as tf
    >>> tf.ones_like([[1, 2]]).numpy()
    array([[1, 1]], dtype=int32)
    """
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(ones_like(input.flat_values, dtype))  # type: ignore
    if isinstance(input, SparseTensor):
        return ones(input.dense_shape, input.dtype if dtype is None else dtype)
    x = tensor(input)
    layout = _layout_like(x) if layout is None else layout
    if layout is not None:
        return _make_with_layout(ones, layout, x.shape, x.dtype if dtype is None else dtype)
    dtype = x.dtype if dtype is None else as_dtype(dtype)
    if dtype is string:
        raise invalid("TW102", "ones_like: there is no 1 among strings", "a number or bool")
    dims = get_known_dims(x)
    if dims is not None:
        return ones_of(dims, dtype, "ones_like")
    if type(x) is Symbol:
        sizes = state.shape_of(x, dtype=int32)
        return dynamic.broadcast_by(ones_of((), dtype, "ones_like"), sizes, dims=None)
    one = arithmetic.equal(arithmetic.zeros_of(x), arithmetic.zeros_of(x))
    return arithmetic.cast(one, dtype=dtype)


@export("fill")
def fill(
    dims: ShapeLike, value: TensorLike, name: str | None = None, layout: object = None
) -> Tensor:
    """Return a tensor of shape `dims` with `value`, a scalar, everywhere.

    InvalidArgumentError if `dims` holds no integers or a negative one, or `value` is no scalar.

    >>> import talweg as tf
    >>> tf.fill([2, 3], 9).numpy()
    array([[9, 9, 9],
           [9, 9, 9]], dtype=int32)
    """
    if layout is not None:
        return _make_with_layout(fill, layout, dims, value)
    x = tensor(value)
    if differ(math.prod(x.dims), 1):
        raise invalid("TW203", f"fill: value has shape {x.dims}", "a scalar")
    x = _reshape(x, shape=()) if x.dims else x
    unsized = as_unsized_vector(dims)
    if unsized is not None:
        return dynamic.broadcast_by(x, unsized, dims=None)
    dims = whole_items(dims)  # kept until the result is made
    return _broadcast(x, shape=sizes(dims, "fill", "dims"))


_broadcast, _reshape = broadcast_to, reshape


@export("eye", "linalg.eye")
def eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    batch_shape: ShapeLike | None = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Return the identity matrix [num_rows, num_columns], or a batch of them.

    num_columns: num_rows by default; batch_shape: an integer vector.  TypeError for sizes that are
    not integers, InvalidArgumentError for negative ones.

    >>> import talweg as tf
    >>> tf.eye(2, 3).numpy()
    array([[1., 0., 0.],
           [0., 1., 0.]], dtype=float32)
    """
    rows = _matrix_size(num_rows)
    columns = rows if num_columns is None else _matrix_size(num_columns)
    dtype = as_dtype(dtype)
    ones_of((), dtype, "eye")
    if batch_shape is not None and not hasattr(batch_shape, "__len__"):
        raise type_error("TW104", f"eye: batch_shape={batch_shape!r}", "a vector of integers")
    batch = () if batch_shape is None else sizes(batch_shape, "eye", "batch_shape")
    if below(rows, 0) or below(columns, 0):
        raise invalid("TW205", f"eye: num_rows={rows}, num_columns={columns}", "sizes >= 0")
    if type(rows) is Dim or type(columns) is Dim or is_symbolic(batch):
        places = sequences.counting(size=rows, dtype=int32)
        matrix = search.one_hot(places, depth=columns, axis=1, dtype=dtype)
        return _broadcast(matrix, shape=(*batch, rows, columns)) if batch else matrix
    matrix = allocate("eye", np.eye, rows, columns, 0, dtype.numpy_dtype)
    return constant(np.broadcast_to(matrix, (*batch, rows, columns)).copy() if batch else matrix)


def _matrix_size(value: object) -> Size:
    found = value
    if is_tensor_like(value):
        found = tensor(value)
        if found.dtype in INTEGERS and not found.dims:
            return integer_scalar(found, "eye", "num_rows")
    if isinstance(found, (int, np.integer)) and not isinstance(found, bool):
        return int(found)
    raise type_error("TW104", f"eye: num_rows and num_columns must be integers, got {value!r}")
