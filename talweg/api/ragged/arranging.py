"""Functions of TensorFlow that put ragged tensors together, apart, or in another order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import look_up
from talweg.core.errors import NeedsStaticError, invalid, value_error
from talweg.eager import partition, ragged_rows
from talweg.eager.ragged import RaggedTensor
from talweg.eager.tensor import array_of, wrap
from talweg.prims import scan

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, ShapeLike


Maker = Callable[[Callable[..., Any]], Callable[..., Any]]


def _make_ragged(x: Any) -> RaggedTensor:
    return x if isinstance(x, RaggedTensor) else RaggedTensor.from_tensor(tensor(x))


def _axis(axis: Any, rank: int | None, function: str) -> int:
    place = int(axis)
    if rank is None:
        if place < 0:
            raise NeedsStaticError(f"{function}: axis={place} of a ragged tensor of unknown rank")
        return place
    if not -rank <= place < rank:
        raise value_error(
            "TW202", f"{function}: axis={place} out of bounds: expected -{rank}<=axis<{rank}"
        )
    return place + rank if place < 0 else place


def expand_dims(input: Any, axis: AxisLike, name: str | None = None) -> Any:
    """Return a new axis of size 1."""
    place = _axis(axis, input.shape.rank + 1, "expand_dims")
    if place == 0:
        return RaggedTensor.from_uniform_row_length(input, len(array_of(input.row_splits)) - 1, 1)
    if place == 1:
        return RaggedTensor.from_uniform_row_length(input, 1)
    return input.with_values(look_up("expand_dims")(input.values, place - 1))


def squeeze(input: Any, axis: AxisLike | None = None, name: str | None = None) -> Any:
    """Squeeze axes of size 1; ValueError unless they are named."""
    if axis is None:
        raise value_error("TW202", "Ragged.squeeze must have an axis argument.")
    rank = input.shape.rank
    given = axis if isinstance(axis, (list, tuple)) else [axis]
    for place in sorted({_axis(one, rank, "squeeze") for one in given}, reverse=True):
        input = _squeeze(input, place)
    return input


def _squeeze(x: Any, place: int) -> Any:
    if not isinstance(x, RaggedTensor):
        return look_up("squeeze")(x, [place])
    lengths = np.diff(array_of(x.row_splits))
    if (place == 0 and len(lengths) != 1) or (place == 1 and (lengths != 1).any()):
        raise invalid("TW204", f"squeeze: axis {place} of {x!r} has other sizes than 1")
    return x.values if place < 2 else x.with_values(_squeeze(x.values, place - 1))


def concat(values: Any, axis: AxisLike, name: str | None = None) -> Any:
    """Concatenate tensors along an axis."""
    parts: list[Any] = [_make_ragged(x) for x in values]
    place = _axis(axis, parts[0].shape.rank, "concat")
    if place == 0:
        return _join(parts)
    if place == 1:
        return _join_rows(parts)
    return parts[0].with_values(look_up("concat")([x.values for x in parts], place - 1))


def _join(parts: list) -> Any:
    splits = np.concatenate([np.diff(array_of(x.row_splits)) for x in parts])
    values = look_up("concat")([x.values for x in parts], 0)
    return RaggedTensor._of(values, parts[0]._integers(partition.splits_of_lengths(splits)))


def _join_rows(parts: list) -> Any:
    """Join rows of one number to one row."""
    counts = {len(array_of(x.row_splits)) for x in parts}
    if len(counts) > 1:
        raise invalid("TW204", "concat: ragged tensors with different numbers of rows", "as many")
    whole, rows = _join(parts), counts.pop() - 1
    order = np.arange(rows * len(parts)).reshape(len(parts), rows).T.reshape(-1)
    found = ragged_rows.take(whole, order)
    splits = array_of(found.row_splits)[:: len(parts)]
    return RaggedTensor._of(found.values, parts[0]._integers(splits))


def stack(values: Any, axis: AxisLike = 0, name: str | None = None) -> Any:
    """Stack tensors along a new axis."""
    parts: list[Any] = [_make_ragged(x) for x in values]
    place = _axis(axis, parts[0].shape.rank + 1, "stack")
    return concat([expand_dims(x, place) for x in parts], place)


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """Return a tensor again and again along each axis."""
    for place, count in enumerate(array_of(tensor(multiples))):
        if count == 0:
            input = _empty(input, place)
        elif count > 1:
            input = concat([input] * int(count), place)
    return input


def _empty(x: Any, place: int) -> Any:
    """Make a tensor of size 0 along an axis."""
    if not isinstance(x, RaggedTensor):
        return x[(slice(None),) * place + (slice(0, 0),)]
    if place == 0:
        return x[:0]  # type: ignore[index]
    if place > 1:
        return x.with_values(_empty(x.values, place - 1))
    return RaggedTensor._of(_empty(x.values, 0), x._integers(0 * array_of(x.row_splits)))


def reverse(tensor: Any, axis: AxisLike, name: str | None = None) -> Any:
    """Reverse some axes."""
    rank = tensor.shape.rank
    places = {_axis(one, rank, "reverse") for one in np.asarray(axis).reshape(-1)}
    return _reverse(tensor, places)


def _reverse(x: Any, places: set) -> Any:
    if not isinstance(x, RaggedTensor):
        return look_up("reverse")(x, sorted(places)) if places else x
    inner = {place - 1 for place in places if place > 1}
    if inner:
        x = x.with_values(_reverse(x.values, inner))
    splits = array_of(x.row_splits)
    if 1 in places:
        starts, rows = splits[:-1], partition.row_of_each(splits)
        order = splits[1:][rows] - 1 - (np.arange(len(rows)) - starts[rows])
        x = x.with_values(ragged_rows.take(x.values, order))
    return ragged_rows.take(x, np.arange(len(splits) - 1)[::-1]) if 0 in places else x


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Select x where the condition holds, else y; the coordinates that hold, without x and y."""
    if x is not None and y is not None:
        return ragged_rows.map_flat(look_up("where"), condition, x, y)
    sparse = look_up("cast")(condition, look_up("int32")).to_sparse()
    kept = look_up("not_equal")(sparse.values, 0)
    return look_up("boolean_mask")(sparse.indices, kept)


def reshape(tensor: Any, shape: ShapeLike, name: str | None = None) -> Any:
    """Return the flat values in another shape."""
    return look_up("reshape")(tensor.flat_values, shape)


def add_n(inputs: Any, name: str | None = None) -> Any:
    """Return the sum of ragged tensors with equal rows."""
    total = inputs[0]
    for other in inputs[1:]:
        total = total + other
    return total


def cumsum(
    x: Any,
    axis: AxisLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
):
    """Return sums
    of all elements before each along an axis after the first; ValueError for the first.
    """
    along = _axis(axis, x.shape.rank, "cumsum")
    if along > 1:
        return x.with_values(look_up("math.cumsum")(x.values, along - 1, exclusive, reverse))
    if along == 0:
        raise value_error("TW202", "cumsum: axis=0 of a ragged tensor", "an axis after the first")
    if isinstance(x.values, RaggedTensor):
        raise value_error("TW202", f"cumsum: axis=1 of {x.shape}", "the last ragged axis")
    splits = array_of(x.row_splits)
    running = scan.cumsum(x.values, axis=0, exclusive=True, reverse=False)
    whole = look_up("concat")([running, (running[-1:] + x.values[-1:])], 0)
    rows = partition.row_of_each(splits)
    here = np.arange(len(rows))
    begin, end = splits[:-1][rows], splits[1:][rows]
    if reverse:
        sums = ragged_rows.take(whole, end) - ragged_rows.take(whole, here + exclusive)
    else:
        sums = ragged_rows.take(whole, here + 1 - exclusive) - ragged_rows.take(whole, begin)
    return x.with_values(sums)


def softmax(logits: Any, axis: AxisLike | None = None, name: str | None = None) -> Any:
    """Compute the softmax of each row: positive numbers with sum 1."""
    place = _axis(-1 if axis is None else axis, logits.shape.rank, "softmax")
    if place > 1:
        return logits.with_values(look_up("nn.softmax")(logits.values, place - 1))
    if place == 0:
        raise value_error("TW202", "softmax: axis=0 of a ragged tensor", "an axis after the first")
    if isinstance(logits.values, RaggedTensor):
        raise value_error("TW202", f"softmax: axis=1 of {logits.shape}", "the last ragged axis")
    rows = wrap(partition.row_of_each(array_of(logits.row_splits)))
    largest = look_up("gather")(look_up("reduce_max")(logits, 1), rows)
    powers = look_up("exp")(logits.values - look_up("stop_gradient")(largest))
    found = logits.with_values(powers)
    return found.with_values(powers / look_up("gather")(look_up("reduce_sum")(found, 1), rows))


def split(
    value: Any,
    num_or_size_splits: Any,
    axis: AxisLike = 0,
    num: Any = None,
    name: str | None = None,
):
    """Split a ragged tensor along its first axis."""
    if _axis(axis, value.shape.rank, "split"):
        raise value_error("TW202", f"split: axis={axis} of a ragged tensor", "0")
    rows = len(array_of(value.row_splits)) - 1
    sizes = np.asarray(num_or_size_splits)
    if sizes.ndim == 0:
        if rows % int(sizes):
            raise invalid("TW204", f"split: {rows} rows into {int(sizes)} equal parts")
        sizes = np.full(int(sizes), rows // int(sizes))
    ends = np.cumsum(sizes)
    return [value[int(end - size) : int(end)] for size, end in zip(sizes, ends)]


ARRANGING = {
    "expand_dims": expand_dims,
    "squeeze": squeeze,
    "concat": concat,
    "stack": stack,
    "tile": tile,
    "reverse": reverse,
    "where": where,
    "reshape": reshape,
    "add_n": add_n,
    "math.add_n": add_n,
    "cumsum": cumsum,
    "math.cumsum": cumsum,
    "nn.softmax": softmax,
    "split": split,
}
