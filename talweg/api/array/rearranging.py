"""Reordering and padding: reverse, roll, pad, space to batch and back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import integer, require_sizes, tensor
from talweg.api.array.operands import (
    as_unsized_vector,
    constant,
    dims_or_none,
    integer_array,
    integer_vector,
    length_of,
    nothing,
    set_dims,
    set_rank,
    sizes_tensor,
)
from talweg.api.export import export
from talweg.core.dims import below, differ, largest, same
from talweg.core.dtypes import int32, int64
from talweg.core.errors import (
    NotFoundError,
    compose,
    invalid,
    invalid_value,
    type_error,
    value_error,
)
from talweg.core.shapes import normalize_axis
from talweg.core.value import Tensor
from talweg.eager.operators import matching_list
from talweg.prims import dynamic, indexing, joining, layout, sequences

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, ShapeLike, TensorLike


@export("reverse")
def reverse(tensor: object, axis: AxisLike, name: str | None = None) -> Tensor:
    """Return `tensor` with the order along the axes in the vector `axis` reversed.

    InvalidArgumentError if `axis` is no vector, is out of range or names an axis twice.

    >>> import talweg as tf
    >>> tf.reverse([[1, 2], [3, 4]], axis=[1]).numpy()
    array([[2, 1],
           [4, 3]], dtype=int32)
    """
    (x,) = matching_list([tensor])
    rank = len(x.dims)
    unsized = as_unsized_vector(axis)
    if unsized is not None:
        return dynamic.reverse_by(x, unsized)
    given = integer_vector(axis, "reverse", "axis")
    if rank == 0:
        return x
    axes = [normalize_axis("reverse", one, rank) for one in given]
    if len(set(axes)) < len(axes):
        raise invalid("TW202", f"reverse: axis={given} names an axis twice")
    return layout.reverse(x, axes=tuple(sorted(axes)))


@export("reverse_sequence")
def reverse_sequence(
    input: object,
    seq_lengths: Any,
    seq_axis: Any = None,
    batch_axis: Any = None,
    name: str | None = None,
) -> Tensor:
    """Reverse, at each place b of `batch_axis`, the first seq_lengths[b] slices along `seq_axis`.

    seq_lengths [b]: int32 or int64, at most the size of `seq_axis`.  `batch_axis` is 0 by default.
    InvalidArgumentError where these do not fit, TypeError without `seq_axis`.

    >>> import talweg as tf
    >>> tf.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1).numpy()
    array([[2, 1, 3],
           [6, 5, 4]], dtype=int32)
    """
    x, lengths = tensor(input), tensor(seq_lengths)
    if seq_axis is None:
        raise type_error("TW104", "reverse_sequence: seq_axis is None", "an int")
    rank = len(x.dims)
    seq_axis = integer(seq_axis, "reverse_sequence", "seq_axis")
    batch_axis = 0 if batch_axis is None else integer(batch_axis, "reverse_sequence", "batch_axis")
    if lengths.dtype not in (int32, int64) or len(lengths.dims) != 1:
        raise invalid(
            "TW102",
            f"reverse_sequence: seq_lengths is {lengths.dtype.name} of shape {lengths.dims}",
            "a vector of int32 or int64",
        )
    if not (0 <= seq_axis < rank and 0 <= batch_axis < rank and seq_axis != batch_axis):
        raise invalid(
            "TW202",
            f"reverse_sequence: seq_axis={seq_axis} and batch_axis={batch_axis} for rank {rank}",
            f"two different axes from 0 to {rank - 1}",
        )
    if differ(lengths.dims[0], x.dims[batch_axis]):
        raise invalid(
            "TW204",
            f"reverse_sequence: {lengths.dims[0]} seq_lengths for {x.dims[batch_axis]} sequences",
        )
    return _reverse_rows(x, lengths, seq_axis, batch_axis)


def _reverse_rows(x: Tensor, lengths: Any, seq_axis: int, batch_axis: int) -> Any:
    places = sequences.reversed_places(lengths, size=x.dims[seq_axis])
    rest = [axis for axis in range(len(x.dims)) if axis not in (batch_axis, seq_axis)]
    perm = (batch_axis, seq_axis, *rest)
    rows = indexing.gather(layout.transpose(x, perm=perm), places, axis=1, batch_dims=1)
    return layout.transpose(rows, perm=layout.inverse_permutation(perm))


@export("roll")
def roll(input: TensorLike, shift: TensorLike, axis: AxisLike, name: str | None = None) -> Tensor:
    """Return `input` with its elements moved by `shift` along `axis`; those that leave enter at
    the front.

    shift, axis: integers, or vectors of one length; an axis may be named more than once.
    InvalidArgumentError for an axis out of range, different lengths, or a scalar `input`.

    >>> import talweg as tf
    >>> tf.roll([1, 2, 3, 4], shift=1, axis=0).numpy()
    array([4, 1, 2, 3], dtype=int32)
    """
    x = tensor(input)
    moves, given = integer_array(shift, "roll", "shift"), integer_array(axis, "roll", "axis")
    if not x.dims:
        raise invalid("TW203", "roll: input is a scalar", "a rank of at least 1")
    if moves.ndim > 1 or moves.shape != given.shape:
        raise invalid(
            "TW204",
            f"roll: shift and axis have shapes {moves.shape} and {given.shape}",
            "two integers, or two vectors of one length",
        )
    axes = [
        normalize_axis("roll", one, len(x.dims), by_value=True)
        for one in given.reshape(-1).tolist()
    ]
    shifts = tuple(moves.reshape(-1).tolist())
    return joining.roll(x, shifts=shifts, axes=tuple(axes))


# -- padding


@export("pad")
def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    constant_values: TensorLike = 0,
    name: str | None = None,
) -> Tensor:
    """Return `tensor` with elements added before and after along each axis.

    paddings [rank, 2]: how many before and after.  mode "CONSTANT" adds `constant_values`,
    "REFLECT" mirrors without repeating the edge, "SYMMETRIC" repeats it.  InvalidArgumentError if
    paddings have the wrong shape, are negative or too large to mirror; ValueError for another mode.

    >>> import talweg as tf
    >>> tf.pad([1, 2, 3], [[1, 2]]).numpy(), tf.pad([1, 2, 3], [[2, 1]], "REFLECT").numpy()
    (array([0, 1, 2, 3, 0, 0], dtype=int32), array([3, 2, 1, 2, 3, 2], dtype=int32))
    """
    kind = mode.upper() if isinstance(mode, str) else mode
    if not isinstance(mode, str) or kind not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
        raise value_error("TW207", f"pad: mode={mode!r}", '"CONSTANT", "REFLECT" or "SYMMETRIC"')
    if kind != "CONSTANT":
        (x,) = matching_list([tensor])
        x, paddings = _fitting(x, paddings)
        low, high = _paddings(paddings, x.dims)
        return _mirror(x, low, high, kind == "SYMMETRIC")
    if isinstance(constant_values, int) and constant_values == 0:
        (x,) = matching_list([tensor])
        value = constant(nothing(x.dtype))
    else:
        x, value = matching_list([tensor, constant_values])
    x, paddings = _fitting(x, paddings)
    low, high = _paddings(paddings, x.dims)
    if value.dims:
        raise invalid("TW203", f"pad: constant_values has shape {value.dims}", "a scalar")
    return layout.pad(x, value, low=low, high=high)


def _fitting(x: Tensor, paddings: Any) -> tuple:
    """Infer the rank of a tensor from its paddings, and the shape of the paddings from the
    rank.
    """
    if dims_or_none(x) is None and length_of(paddings) is not None:
        x = set_rank(x, length_of(paddings) or 0)
    return x, set_dims(paddings, (len(x.dims), 2))


def _paddings(paddings: object, dims: tuple, function: str = "pad") -> tuple[tuple, tuple]:
    """Return the numbers before and after along each axis."""
    array = integer_array(paddings, function, "paddings", empty=len(dims) == 0)
    if array.shape != (len(dims), 2) and (array.size or dims):
        raise invalid(
            "TW205",
            f"{function}: paddings has shape {array.shape} for input of shape {dims}",
            f"shape ({len(dims)}, 2)",
        )
    if any(below(n, 0) for n in array.reshape(-1).tolist()):
        raise invalid("TW207", f"{function}: paddings={array.tolist()}", "numbers of at least 0")
    pairs = array.reshape(-1, 2)
    return tuple(pairs[:, 0].tolist()), tuple(pairs[:, 1].tolist())


def _mirror(x: Tensor, low: tuple, high: tuple, symmetric: bool) -> Any:
    """Mirror x at both ends of every axis, by gathering along one axis after the other."""
    for axis, (before, after) in enumerate(zip(low, high)):
        size = x.dims[axis]
        most = size if symmetric else size - 1
        if below(most, before) or below(most, after):
            raise invalid_value(
                "TW207",
                f"pad: paddings {before}, {after} are too large to mirror dimension {axis} of size "
                f"{size}",
                f"at most {most}",
            )
        if same(before, 0) and same(after, 0):
            continue
        edge = 0 if symmetric else 1
        places = sequences.mirrored_places(low=before, size=size, high=after, edge=edge)
        x = indexing.gather(x, places, axis=axis, batch_dims=0)
    return x


# -- blocks of pixels


def _check_image(function: str, x: Tensor, block_size: object, data_format: str) -> None:
    """Raise errors unless `x` is a batch of images in a layout that is there."""
    formats = ("NHWC", "NCHW", "NCHW_VECT_C")
    if not isinstance(data_format, str) or data_format not in formats:
        raise invalid("TW207", f"{function}: data_format={data_format!r}", '"NHWC" or "NCHW"')
    if integer(block_size, function, "block_size") < 2:
        raise invalid("TW207", f"{function}: block_size={block_size}", "at least 2")
    if data_format == "NCHW_VECT_C":
        text = compose("TW402", f"{function}: data_format={data_format!r} on a CPU", '"NHWC"')
        raise NotFoundError(None, None, text)
    if len(x.dims) != 4:
        raise invalid("TW203", f"{function}: input has shape {x.dims}", "rank 4")


def _channels_last(x: object, data_format: str) -> Any:
    return layout.transpose(x, perm=(0, 2, 3, 1)) if data_format == "NCHW" else x


def _channels_back(x: object, data_format: str) -> Any:
    return layout.transpose(x, perm=(0, 3, 1, 2)) if data_format == "NCHW" else x


@export("nn.space_to_depth")
def space_to_depth(
    input: TensorLike, block_size: Any, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """Return blocks of block_size² pixels as the channels of one.

    input [b, h, w, c] -> [b, h / block_size, w / block_size, c block_size²].
    InvalidArgumentError unless block_size divides height and width.

    >>> import talweg as tf
    >>> tf.nn.space_to_depth([[[[1], [2]], [[3], [4]]]], 2).numpy()
    array([[[[1, 2, 3, 4]]]], dtype=int32)
    """
    x = set_rank(tensor(input), 4)
    _check_image("space_to_depth", x, block_size, data_format)
    x = _channels_last(x, data_format)
    b, h, w, c = x.dims
    n = int(block_size)
    if differ(h % n, 0) or differ(w % n, 0):
        raise invalid(
            "TW204", f"space_to_depth: height {h} and width {w} must be divisible by block_size {n}"
        )
    blocks = layout.reshape(x, shape=(b, h // n, n, w // n, n, c))
    blocks = layout.transpose(blocks, perm=(0, 1, 3, 2, 4, 5))
    deep = layout.reshape(blocks, shape=(b, h // n, w // n, n * n * c))
    return _channels_back(deep, data_format)


@export("nn.depth_to_space")
def depth_to_space(
    input: TensorLike, block_size: Any, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """Return the channels of one pixel as a block of block_size² pixels; undoes
    `tf.nn.space_to_depth`.

    input [b, h, w, c block_size²] -> [b, h block_size, w block_size, c].  InvalidArgumentError
    unless block_size² divides the number of channels.

    >>> import talweg as tf
    >>> tf.nn.depth_to_space([[[[1, 2, 3, 4]]]], 2).numpy().tolist()
    [[[[1], [2]], [[3], [4]]]]
    """
    x = set_rank(tensor(input), 4)
    _check_image("depth_to_space", x, block_size, data_format)
    x = _channels_last(x, data_format)
    b, h, w, c = x.dims
    n = int(block_size)
    if differ(c % (n * n), 0):
        raise invalid("TW204", f"depth_to_space: depth {c} must be divisible by {n * n}")
    blocks = layout.reshape(x, shape=(b, h, w, n, n, c // (n * n)))
    blocks = layout.transpose(blocks, perm=(0, 1, 3, 2, 4, 5))
    wide = layout.reshape(blocks, shape=(b, h * n, w * n, c // (n * n)))
    return _channels_back(wide, data_format)


def _block_arguments(function: str, x: Tensor, block_shape: Any, pads: object, word: str) -> tuple:
    array = integer_array(pads, function, word)
    blocks = integer_vector(block_shape, function, "block_shape", scalar=array.ndim == 2)
    if np.ndim(block_shape) == 0 and array.ndim == 2:  # one number stands for all
        blocks = blocks * len(array)
    rank = len(blocks)
    if len(x.dims) < rank + 1:
        raise invalid("TW203", f"{function}: input has shape {x.dims}", f"rank >= {rank + 1}")
    if array.shape != (rank, 2):
        raise invalid("TW205", f"{function}: {word} has shape {array.shape}", f"shape ({rank}, 2)")
    if any(below(block, 1) for block in blocks):
        raise invalid("TW207", f"{function}: block_shape={blocks}", "positive numbers")
    if any(below(n, 0) for n in array.reshape(-1).tolist()):
        raise invalid("TW207", f"{function}: {word}={array.tolist()}", "numbers of at least 0")
    return blocks, array.tolist()


@export("space_to_batch", "space_to_batch_nd", "nn.space_to_batch")
def space_to_batch(
    input: TensorLike, block_shape: ShapeLike, paddings: object, name: str | None = None
) -> Tensor:
    """Return each place inside a block of `block_shape` as a batch of its own, after padding with
    zeros.

    input [b, s₁, ..., sₘ, ...], block_shape [m], paddings [m, 2] ->
    [b Π block_shape, (s₁ + its paddings) / block_shape[0], ...].  InvalidArgumentError where the
    blocks do not divide the padded dimensions.

    >>> import talweg as tf
    >>> tf.space_to_batch([[1, 2, 3, 4]], [2], [[0, 0]]).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    x = tensor(input)
    blocks, pads = _block_arguments("space_to_batch", x, block_shape, paddings, "paddings")
    rank, dims = len(blocks), x.dims
    rest = dims[rank + 1 :]
    low = (0, *(pair[0] for pair in pads), *(0,) * len(rest))
    high = (0, *(pair[1] for pair in pads), *(0,) * len(rest))
    if not all(same(n, 0) for n in (*low, *high)):
        x = layout.pad(x, constant(nothing(x.dtype)), low=low, high=high)
    spaces = x.dims[1 : rank + 1]
    for axis, (space, block) in enumerate(zip(spaces, blocks)):
        if differ(space % block, 0):
            raise invalid(
                "TW204",
                f"space_to_batch: padded dimension {axis} is {space}, not divisible by {block}",
            )
    cut = tuple(n for space, block in zip(spaces, blocks) for n in (space // block, block))
    apart = layout.reshape(x, shape=(dims[0], *cut, *rest))
    within = tuple(range(2, 2 * rank + 1, 2))
    between = tuple(range(1, 2 * rank, 2))
    perm = (*within, 0, *between, *range(2 * rank + 1, 2 * rank + 1 + len(rest)))
    batch = dims[0] * math.prod(blocks)
    outer = tuple(space // block for space, block in zip(spaces, blocks))
    return layout.reshape(layout.transpose(apart, perm=perm), shape=(batch, *outer, *rest))


@export("batch_to_space")
def batch_to_space(
    input: TensorLike, block_shape: ShapeLike, crops: object, name: str | None = None
) -> Tensor:
    """Put batches back as the places inside blocks, then cropped; undoes `tf.space_to_batch`.

    input [b Π block_shape, s₁, ..., sₘ, ...], block_shape [m], crops [m, 2] ->
    [b, s₁ block_shape[0] - its crops, ...].

    >>> import talweg as tf
    >>> tf.batch_to_space([[1, 3], [2, 4]], [2], [[0, 0]]).numpy()
    array([[1, 2, 3, 4]], dtype=int32)
    """
    x = tensor(input)
    blocks, pairs = _block_arguments("batch_to_space", x, block_shape, crops, "crops")
    rank, dims = len(blocks), x.dims
    total = math.prod(blocks)
    if differ(dims[0] % total, 0):
        raise invalid(
            "TW204",
            f"batch_to_space: batch dimension {dims[0]} is not divisible by the product of block "
            f"sizes {total}",
        )
    spaces, rest = dims[1 : rank + 1], dims[rank + 1 :]
    apart = layout.reshape(x, shape=(*blocks, dims[0] // total, *spaces, *rest))
    mixed = tuple(n for axis in range(rank) for n in (rank + 1 + axis, axis))
    perm = (rank, *mixed, *range(2 * rank + 1, 2 * rank + 1 + len(rest)))
    full = tuple(space * block for space, block in zip(spaces, blocks))
    whole = (dims[0] // total, *full, *rest)
    joined = layout.reshape(layout.transpose(apart, perm=perm), shape=whole)
    for axis, (size, (low, high)) in enumerate(zip(full, pairs)):
        if below(size, low + high):
            raise invalid(
                "TW207", f"batch_to_space: crops {low}, {high} exceed dimension {axis} of {size}"
            )
    enough = tuple([largest(size, sum(pair)) for size, pair in zip(full, pairs)])
    joined = require_sizes(joined, full, enough, "batch_to_space: crops exceed a dimension")
    begin = (0, *(low for low, _ in pairs), *(0,) * len(rest))
    end = (whole[0], *(n - high for n, (_, high) in zip(full, pairs)), *rest)
    return layout.strided_slice(joined, begin=begin, end=end, strides=(1,) * len(end))


@export("required_space_to_batch_paddings")
def required_space_to_batch_paddings(
    input_shape: ShapeLike,
    block_shape: ShapeLike,
    base_paddings: TensorLike | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Return (paddings, crops), both [m, 2]: the padding at the end that makes blocks divide a
    shape.

    input_shape, block_shape: integer vectors [m]; base_paddings [m, 2] are kept.

    >>> import talweg as tf
    >>> paddings, crops = tf.required_space_to_batch_paddings([3, 4], [2, 3])
    >>> paddings.numpy().tolist(), crops.numpy().tolist()
    ([[0, 1], [0, 2]], [[0, 1], [0, 2]])
    """
    function = "required_space_to_batch_paddings"
    sizes = np.array(integer_vector(input_shape, function, "input_shape"), object)
    blocks = np.array(integer_vector(block_shape, function, "block_shape"), object)
    base = np.zeros((len(blocks), 2), object)
    if base_paddings is not None:
        base = integer_array(base_paddings, function, "base_paddings").astype(object)
    if sizes.shape != blocks.shape or base.shape != (len(blocks), 2):
        raise value_error(
            "TW204",
            f"{function}: input_shape, block_shape and base_paddings have shapes {sizes.shape}, "
            f"{blocks.shape} and {base.shape}",
            "[m], [m] and [m, 2]",
        )
    extra = -(sizes + base.sum(1)) % blocks
    return _pairs(base[:, 0], base[:, 1] + extra), _pairs(np.zeros_like(extra), extra)


def _pairs(low: np.ndarray, high: np.ndarray) -> Any:
    """Stack two vectors of sizes as the columns of an int32 matrix."""
    flat = tuple(np.stack([low, high], 1).reshape(-1).tolist())
    return layout.reshape(sizes_tensor(flat, int32), shape=(len(low), 2))
