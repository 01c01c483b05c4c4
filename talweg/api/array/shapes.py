"""Shapes: asking for them and changing them without moving elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.operands import axis_scalar, constant, integer_array, integer_vector, numbers
from talweg.api.export import export
from talweg.core.dtypes import as_dtype, int32
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.shapes import TensorShape, as_shape, broadcast_dims, normalize_axis
from talweg.core.value import IndexedSlices
from talweg.eager.convert import convert_to_tensor
from talweg.prims import arithmetic, complex, layout


@export("reshape")
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    """The elements of `tensor`, in row-major order, in another shape.

    `shape`: an integer vector; one dimension may be -1, "whatever is left".  The dtype stays.
    InvalidArgumentError if the sizes do not match or `shape` holds no integers.

    >>> import talweg as tf
    >>> tf.reshape([1, 2, 3, 4, 5, 6], [2, -1])
    <tf.Tensor: shape=(2, 3), dtype=int32, numpy=
    array([[1, 2, 3],
           [4, 5, 6]], dtype=int32)>
    """
    x = convert_to_tensor(tensor)
    wanted = shape if type(shape) is int else integer_vector(shape, "reshape", "shape", scalar=True)
    return layout.reshape(x, shape=resolved(wanted, x.dims))


def resolved(shape: Any, dims: tuple) -> tuple:
    """`shape` with its -1 replaced, for a tensor of shape `dims`."""
    if type(shape) is int:
        shape = (shape,)
    if not shape or min(shape) >= 0:
        return tuple(shape)
    if shape.count(-1) > 1:
        raise invalid("TW205", f"reshape: shape={tuple(shape)}: only one size may be -1")
    if min(shape) < -1:
        raise invalid("TW205", f"reshape: shape={tuple(shape)} has a size below -1", "sizes >= -1")
    rest, size = math.prod(wanted for wanted in shape if wanted != -1), math.prod(dims)
    if rest == 0 and size == 0:  # what the dimensions other than 0 leave
        rest = math.prod(wanted for wanted in shape if wanted > 0)
        size = math.prod(have for have in dims if have > 0)
    if rest == 0 or size % rest:
        raise invalid(
            "TW205",
            f"reshape: input of shape {dims} has {size} values, but the requested shape "
            f"{tuple(shape)} requires a multiple of {rest}",
        )
    return tuple(size // rest if wanted == -1 else wanted for wanted in shape)


@export("transpose")
def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str = "transpose") -> Any:
    """`a` with its axes reordered: axis `perm[i]` of `a` becomes axis i.

    Without `perm` the order is reversed.  `conjugate` also conjugates complex elements.
    InvalidArgumentError unless `perm` names every axis once.

    >>> import talweg as tf
    >>> tf.transpose([[1, 2, 3], [4, 5, 6]]).numpy()
    array([[1, 4],
           [2, 5],
           [3, 6]], dtype=int32)
    """
    x = tensor(a)
    rank = len(x.dims)
    if perm is None:
        order = tuple(range(rank - 1, -1, -1))
    else:
        order = integer_vector(perm, "transpose", "perm")
        if len(order) == rank:
            order = tuple(normalize_axis("transpose", axis, rank, "perm") for axis in order)
    result = layout.transpose(x, perm=order)
    return complex.conj(result) if conjugate and x.dtype.is_complex else result


@export("squeeze")
def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """`input` without its axes of size 1: all of them, or those in `axis`.

    `axis`: None, an int or a list of ints.  InvalidArgumentError for an axis whose size is not 1.

    >>> import talweg as tf
    >>> tf.squeeze([[[1], [2]]], axis=0).shape
    TensorShape([2, 1])
    """
    x = tensor(input)
    dims = x.dims
    chosen = _squeezed(axis, len(dims))
    for position in chosen:
        if dims[position] != 1:
            raise invalid(
                "TW204",
                f"squeeze: can not squeeze dimension {position} of shape {dims}",
                f"a dimension of 1, got {dims[position]}",
            )
    if not chosen:
        chosen = {position for position, size in enumerate(dims) if size == 1}
    kept = tuple(size for position, size in enumerate(dims) if position not in chosen)
    return layout.reshape(x, shape=kept)


def _squeezed(axis: Any, rank: int) -> set:
    """The axes named to `squeeze`, counted from the front."""
    if axis is None:
        return set()
    if hasattr(axis, "dims"):
        raise type_error("TW104", f"squeeze: axis must be an int or a list of ints, got {axis!r}")
    given = axis if isinstance(axis, (list, tuple, range, np.ndarray)) else [axis]
    found = set()
    for item in given:
        try:
            found.add(normalize_axis("squeeze", int(item), rank))
        except (TypeError, ValueError):
            raise type_error("TW104", f"squeeze: axis must hold ints, got {item!r}") from None
    return found


@export("expand_dims")
def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """`input` with a new axis of size 1 at `axis`, which counts in the result.

    `axis`: an int from -(rank + 1) to rank; InvalidArgumentError outside.

    >>> import talweg as tf
    >>> tf.expand_dims([1, 2, 3], 0).shape, tf.expand_dims([1, 2, 3], -1).shape
    (TensorShape([1, 3]), TensorShape([3, 1]))
    """
    x = tensor(input)
    dims = x.dims
    place = axis_scalar(axis, len(dims) + 1, "expand_dims")
    return layout.reshape(x, shape=(*dims[:place], 1, *dims[place:]))


@export("broadcast_to")
def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Any:
    """`input` repeated along new leading axes and axes of size 1, to `shape`.

    InvalidArgumentError where a dimension is neither 1 nor that of `shape`.

    >>> import talweg as tf
    >>> tf.broadcast_to([1, 2], [2, 2]).numpy()
    array([[1, 2],
           [1, 2]], dtype=int32)
    """
    x = tensor(input)
    dims = integer_vector(shape, "broadcast_to", "shape")
    if any(size < 0 for size in dims):
        raise invalid("TW205", f"broadcast_to: shape={dims} has a negative dimension", "sizes >= 0")
    return layout.broadcast_to(x, shape=dims)


@export("broadcast_static_shape")
def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The TensorShape that both TensorShapes broadcast to; ValueError if there is none.

    >>> import talweg as tf
    >>> tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3]))
    TensorShape([2, 3])
    """
    for shape in (shape_x, shape_y):
        if not isinstance(shape, TensorShape):
            raise AttributeError(f"broadcast_static_shape: {shape!r} is not a TensorShape  [TW104]")
    if shape_x.rank is None or shape_y.rank is None:
        return TensorShape(None)
    try:
        return TensorShape(broadcast_dims("broadcast", shape_x.as_tuple(), shape_y.as_tuple()))
    except Exception:  # noqa: BLE001 -- TensorFlow's class for it is ValueError
        raise value_error(
            "TW201",
            f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}",
            "dimensions that are equal, or one of them 1",
        ) from None


@export("broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Any:
    """The integer vector of the shape that two shapes, as integer vectors, broadcast to.

    InvalidArgumentError if there is none or the dtypes differ.

    >>> import talweg as tf
    >>> tf.broadcast_dynamic_shape([2, 1], [3]).numpy()
    array([2, 3], dtype=int32)
    """
    x, y = tensor(shape_x, hint=int32), tensor(shape_y, hint=int32)
    if x.dtype is not y.dtype:
        raise invalid(
            "TW102",
            f"broadcast_dynamic_shape: shape_x has dtype {x.dtype.name}, shape_y {y.dtype.name}",
            "one dtype",
        )
    dims = broadcast_dims(
        "broadcast_dynamic_shape",
        integer_vector(x, "broadcast_dynamic_shape", "shape_x"),
        integer_vector(y, "broadcast_dynamic_shape", "shape_y"),
    )
    return constant(np.array(dims, x.dtype.numpy_dtype))


def _integers(value: Any, out_type: Any, function: str) -> Any:
    dtype = int32 if out_type is None else as_dtype(out_type)
    numbers(dtype, function, "out_type")
    return constant(np.array(value, dtype.numpy_dtype)[()])


def dims_of(input: Any) -> tuple:
    """The dimensions of anything convertible, without reading a variable or making it dense."""
    if isinstance(input, IndexedSlices) and input.dense_shape is not None:
        return tuple(integer_array(input.dense_shape, "shape", "dense_shape").tolist())
    return input.dims if hasattr(input, "dims") else tensor(input).dims


@export("shape")
def shape(input: Any, out_type: Any = None, name: str | None = None) -> Any:
    """The shape of `input` as an integer vector of dtype `out_type` (int32, or int64).

    >>> import talweg as tf
    >>> tf.shape([[1, 2, 3]])
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 3], dtype=int32)>
    """
    if hasattr(input, "with_values"):  # a sparse tensor
        wanted = int32 if out_type is None else as_dtype(out_type)
        return arithmetic.cast(input.dense_shape, dtype=wanted)
    return _integers(dims_of(input), out_type, "shape")


@export("shape_n")
def shape_n(input: Any, out_type: Any = int32, name: str | None = None) -> list:
    """The shapes of several tensors, each as an integer vector.

    >>> import talweg as tf
    >>> [s.numpy().tolist() for s in tf.shape_n([[1, 2], [[3]]])]
    [[2], [1, 1]]
    """
    if not hasattr(input, "__iter__"):
        raise type_error("TW104", f"shape_n: input must be a list of tensors, got {input!r}")
    return [_integers(dims_of(item), out_type, "shape_n") for item in input]


@export("rank")
def rank(input: Any, name: str | None = None) -> Any:
    """The number of axes of `input`, as an int32 scalar.

    >>> import talweg as tf
    >>> int(tf.rank([[1, 2]]))
    2
    """
    return constant(np.int32(len(dims_of(input))))


@export("size")
def size(input: Any, out_type: Any = None, name: str | None = None) -> Any:
    """The number of elements of `input`, as a scalar of dtype `out_type` (int32).

    >>> import talweg as tf
    >>> int(tf.size([[1, 2, 3]]))
    3
    """
    dtype = int32 if out_type is None else as_dtype(out_type)
    count = int(np.prod(dims_of(input), dtype=np.int64))
    return constant(dtype.numpy_dtype.type(count))


@export("ensure_shape")
def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    """`x`, after InvalidArgumentError unless its shape is compatible with `shape`.

    >>> import talweg as tf
    >>> tf.ensure_shape([1, 2], [None]).numpy()
    array([1, 2], dtype=int32)
    """
    x = tensor(x)
    wanted = as_shape(shape)
    if not wanted.is_compatible_with(x.shape):
        raise invalid(
            "TW204",
            f"ensure_shape: shape of tensor input {x.shape} is not compatible with expected shape "
            f"{wanted}",
        )
    return arithmetic.identity(x) if x.dtype.is_numeric else x
