"""The functions of shapes: they ask for a shape, or change it without moving elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.operands import (
    as_unsized_vector,
    axis_scalar,
    constant,
    dims_or_none,
    integer_array,
    integer_vector,
    length_of,
    numbers,
    set_dims,
    set_rank,
    size_tensor,
    sizes_tensor,
    whole_items,
)
from talweg.api.export import export, implement_hook, look_up
from talweg.core import dispatch
from talweg.core.dims import Dim, below, differ, is_symbolic, same
from talweg.core.dims import resolve_size as resolved_size
from talweg.core.dtypes import as_dtype, int32, int64
from talweg.core.errors import NeedsStaticError, invalid, type_error, value_error
from talweg.core.shapes import TensorShape, as_shape, broadcast_dims, normalize_axis, static
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.composite import SparseTensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.ragged import RaggedTensor
from talweg.eager.tensor import EagerTensor
from talweg.graph.symbol import Symbol
from talweg.prims import arithmetic, complex, dynamic, layout, reduce, state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import AxisLike, DTypeLike, ShapeLike, TensorLike
    from talweg.core.dims import Size


@implement_hook("reshape")
@export("reshape")
def reshape(tensor: object, shape: object, name: str | None = None) -> Tensor:
    """Return the elements of `tensor`, in row-major order, in another shape.

    `shape`: an integer vector; one dimension may be -1, "whatever is left".  The dtype stays.
    InvalidArgumentError if the sizes do not match or `shape` holds no integers.

    >>> import talweg as tf
    >>> tf.reshape([1, 2, 3, 4, 5, 6], [2, -1])
    <tf.Tensor: shape=(2, 3), dtype=int32, numpy=
    array([[1, 2, 3],
           [4, 5, 6]], dtype=int32)>
    """
    x = convert_to_tensor(tensor)
    if type(x) is Symbol or type(shape) is Symbol:
        sizes = whole_items(shape)  # kept until the operation is made
        return _reshape_in_graph(x, sizes)
    wanted = shape if type(shape) is int else integer_vector(shape, "reshape", "shape", scalar=True)
    return layout.reshape(x, shape=resolve_shape(wanted, x.dims))


def _reshape_in_graph(x: Tensor, shape: ShapeLike) -> Any:
    """Return a reshape where sizes, their number or the rank of x may be unknown."""
    unsized = as_unsized_vector(shape)
    if unsized is not None:
        return dynamic.reshape_to(x, unsized, dims=None)
    wanted = integer_vector(shape, "reshape", "shape", scalar=True)
    dims = dims_or_none(x)
    blind = dims is None or (is_symbolic(dims) and _divides_by_zero(wanted))
    if blind or dims is None:
        return _reshape_blindly(x, wanted)
    shape = resolve_shape(wanted, dims)
    result = layout.reshape(x, shape=shape)
    if is_symbolic(shape) and type(result) is Symbol:
        _add_known(result, shape, math.prod(dims))
    return result


def _add_known(result: Symbol, shape: tuple, total: Size) -> None:
    """Add a size that the other sizes and the number of elements determine."""
    for axis, size in enumerate(shape):
        rest = math.prod(shape[:axis] + shape[axis + 1 :])
        if type(size) is Dim and type(rest) is int and rest > 0 and type(total // rest) is int:
            result.set_shape([total // rest if i == axis else None for i in range(len(shape))])


def _divides_by_zero(wanted: tuple) -> bool:
    """Return whether the shape has a -1 beside a 0,
    which depends on each of the sizes there are.
    """
    plain = [n for n in wanted if type(n) is int]
    return -1 in plain and 0 in plain


def _reshape_blindly(x: Tensor, wanted: tuple) -> Any:
    """Return a tensor of unknown rank in another shape."""
    known = tuple(n if below(-1, n) else None for n in wanted)
    return dynamic.reshape_to(x, sizes_tensor(wanted, int32), dims=known)


def resolve_shape(shape: Any, dims: tuple) -> tuple:
    """Resolve the -1 in `shape`, for a tensor of shape `dims`."""
    if type(shape) is int:
        shape = (shape,)
    try:
        least = min(shape) if shape else 0
        if least >= 0:
            return tuple(shape)
    except NeedsStaticError:  # the sign of one of the sizes
        return _resolve_sizes(tuple(shape), dims)
    size, rest = math.prod(dims), -math.prod(shape)
    plain = type(size) is int and type(rest) is int and type(least) is int
    if plain and least == -1 and rest > 0 and size % rest == 0 and shape.count(-1) == 1:
        return tuple([size // rest if wanted == -1 else wanted for wanted in shape])
    if is_symbolic(shape):
        return _resolve_sizes(tuple(shape), dims)
    if shape.count(-1) > 1:
        raise invalid("TW205", f"reshape: shape={tuple(shape)}: only one size may be -1")
    if min(shape) < -1:
        raise invalid("TW205", f"reshape: shape={tuple(shape)} has a size below -1", "sizes >= -1")
    rest = math.prod(wanted for wanted in shape if wanted != -1)
    known = not is_symbolic(dims)
    if rest == 0 and known and size == 0:  # what the dimensions other than 0 leave
        rest = math.prod(wanted for wanted in shape if wanted > 0)
        size = math.prod(have for have in dims if have > 0)
    if rest == 0 or differ(size % rest, 0):
        raise invalid(
            "TW205",
            f"reshape: input of shape {dims} has {size} values, but the requested shape "
            f"{tuple(shape)} requires a multiple of {rest}",
        )
    return tuple(size // rest if wanted == -1 else wanted for wanted in shape)


def _resolve_sizes(shape: tuple, dims: tuple) -> tuple:
    """Resolve `shape`, which holds symbolic sizes of any sign, for a tensor of shape `dims`."""
    numbers = [n for n in shape if type(n) is int]
    if numbers.count(-1) > 1 or any(n < -1 for n in numbers):
        raise invalid("TW205", f"reshape: shape={shape}", "sizes >= 0, and at most one -1")
    if -1 in numbers:
        place = [type(n) is int and n == -1 for n in shape].index(True)
        rest = shape[:place] + shape[place + 1 :]
        if same(math.prod(rest), 0) and not is_symbolic(dims) and math.prod(dims):
            raise invalid("TW205", f"reshape: shape={shape} has a -1 beside a 0")
        return shape[:place] + (_resolve_one(shape, place, dims),) + shape[place + 1 :]
    return tuple([_resolve_one(shape, place, dims) for place in range(len(shape))])


def _resolve_one(shape: tuple, place: int, dims: tuple) -> Any:
    around = shape[:place] + shape[place + 1 :]
    return resolved_size(shape[place], math.prod(dims), math.prod(around), dims, around)


@export("transpose")
def transpose(
    a: object, perm: AxisLike | None = None, conjugate: bool = False, name: str = "transpose"
) -> Tensor:
    """Return `a` with its axes reordered: axis `perm[i]` of `a` becomes axis i.

    Without `perm` the order is reversed.  `conjugate` also conjugates complex elements.
    InvalidArgumentError unless `perm` names every axis once.

    >>> import talweg as tf
    >>> tf.transpose([[1, 2, 3], [4, 5, 6]]).numpy()
    array([[1, 4],
           [2, 5],
           [3, 6]], dtype=int32)
    """
    x = tensor(a)
    if dims_or_none(x) is None and perm is not None and length_of(perm) is not None:
        x = set_rank(x, length_of(perm) or 0)
    rank = len(x.dims)
    if perm is None:
        order = tuple(range(rank - 1, -1, -1))
    else:
        perm = set_dims(perm, (rank,))
        order = integer_vector(perm, "transpose", "perm")
        if is_symbolic(order):
            result = dynamic.transpose_by(x, tensor(perm))
            return complex.conj(result) if conjugate and x.dtype.is_complex else result
        if len(order) == rank:
            order = tuple(normalize_axis("transpose", axis, rank, "perm") for axis in order)
    result = layout.transpose(x, perm=order)
    return complex.conj(result) if conjugate and x.dtype.is_complex else result


@export("squeeze")
def squeeze(input: TensorLike, axis: AxisLike | None = None, name: str | None = None) -> Tensor:
    """Return `input` without its axes of size 1: all of them, or those in `axis`.

    `axis`: None, an int or a list of ints.  InvalidArgumentError for an axis whose size is not 1.

    >>> import talweg as tf
    >>> tf.squeeze([[[1], [2]]], axis=0).shape
    TensorShape([2, 1])
    """
    x = tensor(input)
    dims = x.dims
    chosen = _squeeze(axis, len(dims))
    for position in chosen:
        if differ(dims[position], 1):
            raise invalid(
                "TW204",
                f"squeeze: can not squeeze dimension {position} of shape {dims}",
                f"a dimension of 1, got {dims[position]}",
            )
    if not chosen and is_symbolic(dims):
        return dynamic.squeeze_all(x)
    if not chosen:
        chosen = {position for position, size in enumerate(dims) if size == 1}
    kept = tuple(size for position, size in enumerate(dims) if position not in chosen)
    return layout.reshape(x, shape=kept)


def _squeeze(axis: Any, rank: int) -> set:
    """Return the axes named to `squeeze`, counted from the front."""
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
def expand_dims(input: object, axis: AxisLike, name: str | None = None) -> Tensor:
    """Return `input` with a new axis of size 1 at `axis`, which counts in the result.

    `axis`: an int from -(rank + 1) to rank; InvalidArgumentError outside.

    >>> import talweg as tf
    >>> tf.expand_dims([1, 2, 3], 0).shape, tf.expand_dims([1, 2, 3], -1).shape
    (TensorShape([1, 3]), TensorShape([3, 1]))
    """
    x = tensor(input)
    dims = x.dims
    place = axis_scalar(axis, len(dims) + 1, "expand_dims")
    return layout.reshape(x, shape=(*dims[:place], 1, *dims[place:]))


@implement_hook("broadcast_to")
@export("broadcast_to")
def broadcast_to(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Return `input` repeated along new leading axes and axes of size 1, to `shape`.

    InvalidArgumentError where a dimension is neither 1 nor that of `shape`.

    >>> import talweg as tf
    >>> tf.broadcast_to([1, 2], [2, 2]).numpy()
    array([[1, 2],
           [1, 2]], dtype=int32)
    """
    x = tensor(input)
    unsized = as_unsized_vector(shape)
    if unsized is not None:
        return dynamic.broadcast_by(x, unsized, dims=None)
    shape = whole_items(shape)  # kept until the result is made
    dims = integer_vector(shape, "broadcast_to", "shape")
    if any(below(size, 0) for size in dims):
        raise invalid("TW205", f"broadcast_to: shape={dims} has a negative dimension", "sizes >= 0")
    return layout.broadcast_to(x, shape=dims)


@export("broadcast_static_shape")
def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """Return the TensorShape that both TensorShapes broadcast to; ValueError if there is none.

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
def broadcast_dynamic_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> Tensor:
    """Return the integer vector of the shape that two shapes, as integer vectors, broadcast to.

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
    return sizes_tensor(dims, x.dtype)


def _shape(input: object, out_type: object, function: str) -> Any:
    """Return the shape of `input` as a tensor: a constant if it is known."""
    dtype = int32 if out_type is None else as_dtype(out_type)
    numbers(dtype, function, "out_type")
    dims = dims_of(input)
    if dims is None or is_symbolic(dims):
        if isinstance(input, IndexedSlices):
            return sizes_tensor(dims, dtype)
        return state.shape_of(tensor(input), dtype=dtype)
    return constant(np.array(dims, dtype.numpy_dtype))


def dims_of(input: object) -> tuple | None:
    """Return the dimensions of anything convertible, without reading a variable or making it dense.

    None if a graph does not know the rank.
    """
    if type(input) is EagerTensor:
        return input.dims
    if isinstance(input, IndexedSlices) and input.dense_shape is not None:
        return tuple(integer_array(input.dense_shape, "shape", "dense_shape").tolist())
    if type(input) is not Symbol and hasattr(input, "dims") and has_fixed_rank(input):
        dims = input.dims
        if not is_symbolic(dims):
            return dims
    return dims_or_none(tensor(input))


def has_fixed_rank(value: Any) -> bool:
    """Return whether `value` has one rank; a variable of unknown rank has another in each call."""
    shape = getattr(value, "shape", None)
    return dispatch.context.base is None or getattr(shape, "rank", 0) is not None


@export("shape")
def shape(input: TensorLike, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Return the shape of `input` as an integer vector of dtype `out_type` (int32, or int64).

    >>> import talweg as tf
    >>> tf.shape([[1, 2, 3]])
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 3], dtype=int32)>
    """
    if isinstance(input, RaggedTensor):
        return look_up("experimental.DynamicRaggedShape").from_tensor(input, out_type or int32)
    if hasattr(input, "with_values"):  # a sparse tensor
        wanted = int32 if out_type is None else as_dtype(out_type)
        return arithmetic.cast(input.dense_shape, dtype=wanted)
    return _shape(input, out_type, "shape")


@export("shape_n")
def shape_n(
    input: Sequence[Any], out_type: object = int32, name: str | None = None
) -> list[Tensor]:
    """Return the shapes of several tensors, each as an integer vector.

    >>> import talweg as tf
    >>> [s.numpy().tolist() for s in tf.shape_n([[1, 2], [[3]]])]
    [[2], [1, 1]]
    """
    if not hasattr(input, "__iter__"):
        raise type_error("TW104", f"shape_n: input must be a list of tensors, got {input!r}")
    return [_shape(item, out_type, "shape_n") for item in input]


@export("rank")
def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the number of axes of `input`, as an int32 scalar.

    >>> import talweg as tf
    >>> int(tf.rank([[1, 2]]))
    2
    """
    if isinstance(input, (RaggedTensor, SparseTensor)) and input.shape.rank is not None:
        return constant(np.int32(input.shape.rank))
    dims = dims_of(input)
    if dims is None:
        sizes = state.shape_of(tensor(input), dtype=int32)
        return size_tensor(sizes.dims[0], int32)
    return constant(np.int32(len(dims)))


@export("size")
def size(input: TensorLike, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Return the number of elements of `input`, as a scalar of dtype `out_type` (int32).

    >>> import talweg as tf
    >>> int(tf.size([[1, 2, 3]]))
    3
    """
    dtype = int32 if out_type is None else as_dtype(out_type)
    if isinstance(input, RaggedTensor):
        return size(input.flat_values, dtype)
    if isinstance(input, SparseTensor):
        total = reduce.reduce_prod(input.dense_shape, axes=(0,), keepdims=False)
        return arithmetic.cast(total, dtype=dtype)
    dims = dims_of(input)
    if dims is None:
        sizes = state.shape_of(tensor(input), dtype=int64)
        total = reduce.reduce_prod(sizes, axes=(0,), keepdims=False)
        return total if dtype is int64 else arithmetic.cast(total, dtype=dtype)
    return size_tensor(math.prod(dims), dtype)


@implement_hook("shape_in_tensor")
def shape_in_tensor(sizes: Tensor) -> TensorShape:
    """Return the static shape that an integer vector gives, as far as it is known."""
    unsized = as_unsized_vector(sizes)
    if unsized is not None:
        return TensorShape(None)
    return static(integer_vector(sizes, "TensorShape", "dims"))


@export("ensure_shape")
def ensure_shape(x: TensorLike, shape: ShapeLike | None, name: str | None = None) -> Tensor:
    """Return `x`, after InvalidArgumentError unless its shape is compatible with `shape`.

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
    if type(x) is Symbol:
        return x if wanted.rank is None else state.ensure_dims(x, shape=wanted.as_tuple())
    return arithmetic.identity(x) if x.dtype.is_numeric else x
