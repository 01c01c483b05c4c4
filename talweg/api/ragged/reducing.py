"""Sums and other reductions of ragged tensors, along any axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.api.export import look_up
from talweg.core.errors import value_error
from talweg.eager import partition
from talweg.eager.ragged import RaggedTensor
from talweg.eager.tensor import array_of, wrap
from talweg.graph.symbol import Symbol

DEVIATIONS = ("math.reduce_variance", "math.reduce_std")
COUNTED = {"reduce_any": "reduce_sum", "reduce_all": "reduce_prod"}
SEGMENTS = {"reduce_sum": "sum", "reduce_prod": "prod", "reduce_max": "max", "reduce_min": "min"}


def reducer(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make the decorator that extends `tf.reduce_...` to ragged tensors."""

    def decorate(original: Callable[..., Any]) -> Callable[..., Any]:
        def reduce(
            input_tensor: RaggedTensor,
            axis: int | None = None,
            keepdims: bool = False,
            name: str | None = None,
        ):
            return _reduce(original, kind, input_tensor, axis, keepdims)

        return reduce

    kind = name
    return decorate


def _reduce(original: Callable[..., Any], kind: str, x: Any, axis: object, keepdims: bool) -> Any:
    if axis is None:
        values = x.flat_values
        if kind in DEVIATIONS and values.dtype.is_integer:  # as along an axis, where they are means
            values = look_up("cast")(values, look_up("float64"))
        reduced = original(values)
        if keepdims:
            for _ in range(x.shape.rank):
                reduced = look_up("expand_dims")(reduced, 0)
        return reduced
    given = axis if isinstance(axis, (list, tuple)) else np.asarray(axis).reshape(-1).tolist()
    rank = x.shape.rank
    axes = sorted({one + rank if one < 0 else one for one in map(int, given)})
    if axes and not 0 <= axes[0] <= axes[-1] < rank:
        raise value_error(
            "TW202", f"{kind}: axis={axis} out of bounds: expected -{rank}<=axis<{rank}"
        )
    if kind == "reduce_mean" and len(axes) > 1:
        total = _reduce(look_up("reduce_sum"), "reduce_sum", x, axes, keepdims)
        ones = look_up("ones_like")(x)
        return total / _reduce(look_up("reduce_sum"), "reduce_sum", ones, axes, keepdims)
    if kind in DEVIATIONS and len(axes) > 1:
        mean = _reduce(look_up("reduce_mean"), "reduce_mean", x, axes, keepdims)
        squares = _reduce(
            look_up("reduce_mean"), "reduce_mean", look_up("square")(x), axes, keepdims
        )
        return _deviation(kind, mean, squares)
    for one in reversed(axes):
        if isinstance(x, RaggedTensor):
            x = _along(original, kind, x, one)
        else:
            x = original(x, axis=one)
        if keepdims:
            x = look_up("expand_dims")(x, one)
    return x


def _along(original: Callable[..., Any], kind: str, x: RaggedTensor, axis: int) -> Any:
    """Reduce along one axis."""
    if axis > 1 and isinstance(x.values, RaggedTensor):
        return x.with_values(_along(original, kind, x.values, axis - 1))
    if axis > 1:
        return x.with_values(original(x.values, axis=axis - 1))
    if kind in ("reduce_any", "reduce_all"):
        # Rows without elements have a sum of 0 and a product of 1; their maximum would be true.
        whole = look_up("cast")(x, look_up("int32"))
        reduced = _along(original, COUNTED[kind], whole, axis)
        return look_up("cast")(reduced, look_up("bool"))
    if kind == "reduce_mean":
        total = _along(original, "reduce_sum", x, axis)
        return total / _along(original, "reduce_sum", look_up("ones_like")(x), axis)
    if kind in DEVIATIONS:
        mean = _along(original, "reduce_mean", x, axis)
        return _deviation(kind, mean, _along(original, "reduce_mean", look_up("square")(x), axis))
    return along_rows(x, axis, look_up(f"math.unsorted_segment_{SEGMENTS[kind]}"))


def _deviation(kind: str, mean: Any, squares: Any) -> Any:
    """Return the variance or its root, of the means of the numbers and of their squares."""
    found = squares - look_up("square")(mean)
    found = look_up("maximum")(found, look_up("zeros_like")(found))
    return found if kind.endswith("variance") else look_up("sqrt")(found)


def along_rows(x: RaggedTensor, axis: int, segment: Callable[..., Any]) -> Any:
    """Reduce along axis 0 or 1 by `segment(values, ids, count)`."""
    if axis == 1 and not isinstance(x.values, RaggedTensor) and type(x.row_splits) is Symbol:
        return segment(x.values, x.value_rowids(), x.nrows())  # a graph knows the inner sizes
    splits = array_of(x.row_splits)
    lengths = np.diff(splits)
    if axis == 0:
        ids, count = partition.ranges(np.zeros_like(lengths), lengths), lengths.max(initial=0)
    else:
        ids, count = partition.row_of_each(splits), len(lengths)
    return _segments(segment, x.values, ids, int(count))


def _segments(segment: Callable[..., Any], values: object, ids: np.ndarray, count: int) -> Any:
    """Reduce rows of one id to one, element by element; rows may be ragged themselves."""
    if not isinstance(values, RaggedTensor):
        return segment(values, wrap(ids), count)
    splits = array_of(values.row_splits)
    lengths = np.diff(splits)
    longest = np.zeros(count, np.int64)
    np.maximum.at(longest, ids, lengths)
    starts = partition.splits_of_lengths(longest)
    places = partition.ranges(starts[:-1][ids], lengths)
    inner = _segments(segment, values.values, places, int(starts[-1]))
    return RaggedTensor._of(inner, wrap(starts))
