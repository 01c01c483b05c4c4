"""Tensors put together and taken apart: concat, stack, unstack, split, tile, repeat, meshgrid."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.operands import (
    INTEGERS,
    axis_in_range,
    axis_scalar,
    dims_or_none,
    integer_scalar,
    integer_vector,
    length_of,
    require_integer,
    set_dims,
    set_rank,
    whole_items,
)
from talweg.api.export import export, implement_hook
from talweg.core import dispatch
from talweg.core.dims import Dim, Size, below, differ, is_symbolic, same
from talweg.core.errors import NeedsStaticError, invalid, invalid_value, type_error, value_error
from talweg.core.shapes import normalize_axis
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.eager.operators import matching_list
from talweg.eager.variable import Variable
from talweg.prims import arithmetic, indexing, joining, layout, sequences
from talweg.prims.state import ensure_dims

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike


@export("concat")
def concat(values: Any, axis: AxisLike, name: str = "concat") -> Tensor:
    """Return the `values` one after the other along `axis`.

    values: tensors of one dtype and equal shapes except along `axis`.  InvalidArgumentError where
    they differ, for scalars, or if `axis` is out of range.

    >>> import talweg as tf
    >>> tf.concat([[[1, 2]], [[3, 4]]], axis=0).numpy()
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    if not values:
        raise invalid("TW207", "concat: values is an empty list", "at least one tensor")
    if isinstance(axis, (list, tuple)) and isinstance(values[0], int):
        raise invalid(
            "TW203",
            "concat: axis must be a scalar, got a list",
            "the tensors first: TensorFlow before 1.0 had the axis first",
            f"tf.concat(values, {values[0]})",
        )
    along = integer_scalar(axis, "concat", "axis")
    if len(values) == 1:
        return values[0] if isinstance(values[0], IndexedSlices) else _copy(tensor(values[0]))
    tensors = matching_list(values)
    tensors, rank = _of_one_rank(tensors)
    if rank == 0:
        raise invalid("TW203", "concat: can't concatenate scalars", hint="tf.stack")
    along = along if rank is None else normalize_axis("concat", along, rank)
    return layout.concat(*tensors, axis=along)


def _of_one_rank(tensors: list) -> tuple:
    """Return the tensors, and their rank:
    where a graph does not know it, that of the others; or None.
    """
    shapes = [dims_or_none(x) for x in tensors]
    ranks = [len(dims) for dims in shapes if dims is not None]
    if not ranks or len(ranks) == len(shapes):
        return tensors, max(ranks, default=None)
    unknown = (None,) * max(ranks)
    return [
        ensure_dims(x, shape=unknown) if dims is None else x for x, dims in zip(tensors, shapes)
    ], max(ranks)


def _copy(x: Tensor) -> Any:
    """Copy `x` to a new tensor that gradients flow through."""
    return arithmetic.identity(x) if x.dtype.is_numeric else layout.reshape(x, shape=x.dims)


@implement_hook("stack")
def stack_tensors(values: list[Any]) -> Any:
    """Return a list of tensors of one shape and dtype as one tensor, along a new first axis."""
    return joining.stack(*values, axis=0)


@export("stack")
def stack(values: TensorLike, axis: AxisLike = 0, name: str = "stack") -> Tensor:
    """Return the `values`, tensors of one shape and dtype, along a new axis `axis`.

    ValueError if `axis` is out of range, InvalidArgumentError where shapes or dtypes differ.

    >>> import talweg as tf
    >>> tf.stack([[1, 2], [3, 4]], axis=1).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    if values is None:
        raise type_error("TW104", "stack: values is None", "a list of tensors")
    if isinstance(values, (Tensor, Variable, np.ndarray)):
        whole = tensor(values)
        along = axis_in_range(axis, len(whole.dims)) if whole.dims else 0
        if along == 0:
            return _copy(whole)
        return joining.stack(*joining.unstack(whole, axis=0), axis=along)
    if not isinstance(values, (list, tuple)):
        return tensor(values)
    if isinstance(axis, int) and axis == 0 and not any(map(is_tensor_like, values)):
        try:
            return convert_to_tensor(values)
        except (TypeError, ValueError):
            pass  # the general path says what is wrong
    tensors = matching_list(values)
    if not tensors:
        return convert_to_tensor([])
    tensors, rank = _of_one_rank(tensors)
    along = axis_in_range(axis, rank + 1) if rank is not None else axis
    return joining.stack(*tensors, axis=along)


@export("parallel_stack")
def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """Do what `tf.stack` does along axis 0, for graphs only: RuntimeError in eager execution.

    ValueError where the shape of a value is not fully known, or they differ.

    >>> import talweg as tf
    >>> tf.parallel_stack([1, 2])
    Traceback (most recent call last):
    RuntimeError: tf.parallel_stack() is not compatible with eager execution.  [TW402]
    """
    if dispatch.context.base is None:
        raise RuntimeError("tf.parallel_stack() is not compatible with eager execution.  [TW402]")
    tensors = [tensor(value) for value in values]
    if tensors and not tensors[0].shape.is_fully_defined():
        raise value_error(
            "TW205",
            f"parallel_stack: values[0] has shape {tensors[0].shape}",
            "shapes that are known while the graph is built",
            "tf.stack",
        )
    return stack(tensors)


@export("unstack")
def unstack(
    value: object, num: TensorLike | None = None, axis: AxisLike = 0, name: str = "unstack"
) -> list[Tensor]:
    """Return the slices of `value` along `axis`, a list of tensors without that axis.

    `num`, if given, must be their number (InvalidArgumentError).  ValueError if `axis` is out of
    range or `value` is a scalar.

    >>> import talweg as tf
    >>> [x.numpy().tolist() for x in tf.unstack([[1, 2], [3, 4]], axis=1)]
    [[1, 3], [2, 4]]
    """
    x = tensor(value)
    if dims_or_none(x) is None:
        if num is not None:
            raise NeedsStaticError(f"unstack: the rank of {x!r} is not known in the graph")
        raise value_error("TW205", "unstack: the rank of value is unknown", "a known rank")
    along = axis_in_range(axis, len(x.dims))
    size = x.dims[along]
    count = size if num is None else integer_scalar(num, "unstack", "num")
    if differ(count, size):
        raise invalid(
            "TW204", f"unstack: input shape axis {along} must equal {num}, got shape {x.dims}"
        )
    if type(count) is Dim:
        raise value_error(
            "TW205", f"unstack: cannot infer argument `num` from shape {x.shape}", "num=..."
        )
    if type(size) is Dim:
        known = tuple(count if axis == along else None for axis in range(len(x.dims)))
        x = ensure_dims(x, shape=known)
    return list(joining.unstack(x, axis=along))


@export("split")
def split(
    value: TensorLike,
    num_or_size_splits: TensorLike,
    axis: AxisLike = 0,
    num: TensorLike | None = None,
    name: str = "split",
) -> list[Tensor]:
    """Return `value` cut along `axis`: into so many equal pieces, or into pieces of given sizes.

    num_or_size_splits: an int that divides the dimension, or a vector of sizes, of which one may be
    -1, "whatever is left".  A list of tensors; InvalidArgumentError if the sizes do not fit.

    >>> import talweg as tf
    >>> [x.numpy().tolist() for x in tf.split([1, 2, 3, 4, 5], [2, -1])]
    [[1, 2], [3, 4, 5]]
    """
    x = tensor(value)
    if isinstance(num_or_size_splits, (int, np.integer)):
        return list(_split_evenly(x, int(num_or_size_splits), axis))
    if num is not None and not isinstance(num_or_size_splits, (list, tuple)):
        count = integer_scalar(num, "split", "num")
        num_or_size_splits = set_dims(tensor(num_or_size_splits), (count,))
    if not isinstance(num_or_size_splits, (list, tuple)) and not tensor(num_or_size_splits).dims:
        raise value_error(
            "TW203",
            f"split: num_or_size_splits is a scalar tensor: {num_or_size_splits!r}",
            "a Python int or a vector of sizes",
        )
    along = axis_scalar(axis, len(x.dims), "split")
    pieces = integer_vector(num_or_size_splits, "split", "num_or_size_splits", empty=False)
    if num is not None and integer_scalar(num, "split", "num") != len(pieces):
        raise invalid("TW204", f"split: num={num}, but there are {len(pieces)} sizes")
    return list(joining.split(x, sizes=_fill_sizes(pieces, x.dims[along]), axis=along))


def _split_evenly(x: Tensor, count: int, axis: object) -> tuple:
    place = normalize_axis("split", require_integer(axis, "split", "axis"), len(x.dims))
    size = x.dims[place]
    if count < 1:
        raise invalid("TW207", f"split: num_or_size_splits={count}", "at least 1")
    if differ(size % count, 0):
        raise invalid(
            "TW204",
            f"split: the number of ways to split should evenly divide the split dimension, but "
            f"dimension {place} has size {size} and num_or_size_splits is {count}",
        )
    return joining.split(x, sizes=(size // count,) * count, axis=place)


def _fill_sizes(pieces: tuple, size: Size) -> tuple:
    """Return the sizes of a split with -1 replaced."""
    if is_symbolic((*pieces, size)):
        return _infer_piece_size(pieces, size)
    if pieces.count(-1) > 1:
        raise invalid("TW207", f"split: sizes {pieces} hold more than one -1")
    if any(piece < -1 for piece in pieces):
        raise invalid("TW207", f"split: sizes {pieces} must be >= 0, or -1 once")
    rest = size - sum(piece for piece in pieces if piece != -1)
    if rest < 0:
        raise invalid("TW204", f"split: sizes {pieces} exceed the dimension, which is {size}")
    return tuple(rest if piece == -1 else piece for piece in pieces)


def _infer_piece_size(pieces: tuple, size: Size) -> tuple:
    """Return the sizes of a split where some are symbolic: -1 must stand as such."""
    numbers = [piece for piece in pieces if type(piece) is int]
    if numbers.count(-1) > 1 or any(piece < -1 for piece in numbers):
        raise invalid("TW207", f"split: sizes {pieces} must be >= 0, or -1 once")
    taken = sum([piece for piece in pieces if type(piece) is Dim or piece != -1])
    if below(size, taken) and -1 in numbers:
        raise invalid("TW204", f"split: sizes {pieces} exceed the dimension, which is {size}")
    return tuple([size - taken if type(n) is int and n == -1 else n for n in pieces])


@export("tile")
def tile(input: TensorLike, multiples: TensorLike, name: str | None = None) -> Tensor:
    """Return `input` repeated `multiples[i]` times along axis i.

    multiples: an integer vector with a number for each axis.  InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.tile([[1, 2]], [2, 2]).numpy()
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    x = tensor(input)
    if dims_or_none(x) is None and length_of(multiples) is not None:
        x = set_rank(x, length_of(multiples) or 0)
    dims = x.dims
    multiples = whole_items(set_dims(multiples, (len(dims),)))  # kept until the result is made
    counts = integer_vector(multiples, "tile", "multiples")
    if len(counts) != len(dims) or any(below(count, 0) for count in counts):
        raise (invalid_value if len(counts) == len(dims) else invalid)(
            "TW204",
            f"tile: multiples={counts} for input of shape {dims}",
            f"{len(dims)} numbers of at least 0",
        )
    return _repeat_blocks(x, dims, counts)


def _repeat_blocks(x: object, dims: tuple, counts: tuple) -> Any:
    """Repeat axis i of x counts[i] times as a block, by one broadcast between two reshapes."""
    ones = tuple(n for size in dims for n in (1, size))
    wide = tuple(n for size, count in zip(dims, counts) for n in (count, size))
    spread = layout.broadcast_to(layout.reshape(x, shape=ones), shape=wide)
    return layout.reshape(spread, shape=tuple(a * b for a, b in zip(dims, counts)))


@export("repeat")
def repeat(
    input: TensorLike, repeats: object, axis: AxisLike | None = None, name: str | None = None
) -> Tensor:
    """Return each element of `input` (each slice along `axis`) `repeats` times in a row.

    repeats: an integer, or a vector with a number for each slice; without `axis` the elements are
    taken in row-major order.  ValueError if the shapes do not fit, TypeError if `repeats` holds no
    integers.

    >>> import talweg as tf
    >>> tf.repeat([1, 2], 2).numpy(), tf.repeat([1, 2], [1, 2]).numpy()
    (array([1, 1, 2, 2], dtype=int32), array([1, 2, 2], dtype=int32))
    """
    x = tensor(input)
    counts = None if type(repeats) is int else _integers_to_repeat(repeats)
    if axis is None:
        x = layout.reshape(x, shape=(math.prod(x.dims),))
    elif not isinstance(axis, (int, np.integer)):
        raise type_error("TW104", f"repeat: argument `axis` must be an int, got {axis!r}")
    rank = len(x.dims)
    along = 0 if axis is None else int(axis)
    if not -rank <= along < rank:
        raise value_error(
            "TW202", f"repeat: axis={axis} out of bounds: expected {-rank}<=axis<{rank}"
        )
    along %= rank
    if counts is None:
        return _repeat_evenly(x, repeats, along)
    size = x.dims[along]
    if len(counts.dims) > 1:
        raise value_error("TW203", f"repeat: repeats has shape {counts.dims}", "rank at most 1")
    given = math.prod(counts.dims)
    if same(given, 1):
        return _repeat_evenly(x, integer_scalar(counts, "repeat", "repeats"), along)
    if differ(given, size) and differ(given, 1):
        raise value_error("TW204", f"repeat: {given} repeats for dimension {along} of size {size}")
    places = sequences.repeated(counts, size=size)
    return indexing.gather(x, places, axis=along, batch_dims=0)


def _integers_to_repeat(repeats: object) -> Any:
    counts = tensor(repeats)
    if counts.dtype not in INTEGERS:
        raise type_error(
            "TW104", f"repeat: repeats must be of type integer, got dtype {counts.dtype.name}"
        )
    return counts


def _repeat_evenly(x: Tensor, count: Size, axis: int) -> Any:
    if below(count, 0):
        raise invalid("TW207", f"repeat: repeats={count}", "a number of at least 0")
    dims = x.dims
    lead, size, rest = dims[:axis], dims[axis], dims[axis + 1 :]
    apart = layout.reshape(x, shape=(*lead, size, 1, *rest))
    spread = layout.broadcast_to(apart, shape=(*lead, size, count, *rest))
    return layout.reshape(spread, shape=(*lead, size * count, *rest))


@export("meshgrid")
def meshgrid(*args: object, indexing: str = "xy", name: str = "meshgrid") -> list[Tensor]:
    """Return the coordinates of a grid, a tensor for each of the vectors in `args`.

    With indexing "ij" the shape is (len(args[0]), len(args[1]), ...); with "xy" the first two are
    exchanged.  ValueError for another `indexing`.

    >>> import talweg as tf
    >>> x, y = tf.meshgrid([1, 2, 3], [10, 20])
    >>> x.numpy().tolist(), y.numpy().tolist()
    ([[1, 2, 3], [1, 2, 3]], [[10, 10, 10], [20, 20, 20]])
    """
    if indexing not in ("xy", "ij"):
        raise value_error("TW207", f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    tensors = [tensor(arg) for arg in args]
    for position, x in enumerate(tensors):
        if x.dtype is not tensors[0].dtype:
            raise invalid(
                "TW102",
                f"meshgrid: argument {position} has dtype {x.dtype.name} and argument 0 has dtype "
                f"{tensors[0].dtype.name}",
                "one dtype",
            )
    sizes = [math.prod(x.dims) for x in tensors]
    order = list(range(len(tensors)))
    if indexing == "xy" and len(order) > 1:
        order[0], order[1] = 1, 0
    shape = tuple(sizes[axis_number] for axis_number in order)
    result = []
    for position, x in enumerate(tensors):
        lined = tuple(sizes[position] if axis_number == position else 1 for axis_number in order)
        result.append(layout.broadcast_to(layout.reshape(x, shape=lined), shape=shape))
    return result
