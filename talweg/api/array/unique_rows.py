"""The different slices of a tensor along an axis: UniqueV2, UniqueWithCountsV2."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from talweg.api.arguments import axes_argument, integers, tensor
from talweg.api.array.gathering import gather, where
from talweg.api.array.shapes import expand_dims
from talweg.api.array.sorting import unique, unique_with_counts
from talweg.api.export import export
from talweg.api.math.comparison import equal
from talweg.api.math.reductions import reduce_all, reduce_min
from talweg.core.dtypes import int32
from talweg.core.errors import invalid
from talweg.core.value import Tensor
from talweg.prims import layout, sequences

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, DTypeLike, TensorLike


class UniqueV2(NamedTuple):
    y: Tensor
    idx: Tensor


class UniqueWithCountsV2(NamedTuple):
    y: Tensor
    idx: Tensor
    count: Tensor


def _first_equal(x: Tensor, axis: AxisLike) -> tuple:
    """Find for each slice along the axis the first one that is equal; and the axis.

    Sizes may be 0, or known only when a graph runs.
    """
    given = integers(axis, "unique", "axis")
    if len(given) > 1:
        raise invalid("TW207", f"axis {list(given)}", "one axis, or [] for a vector")
    (place,) = axes_argument(given or (0,), len(x.dims), "unique")
    others = [n for n in range(len(x.dims)) if n != place]
    count, length = x.dims[place], math.prod(x.dims[n] for n in others)
    rows = layout.reshape(layout.transpose(x, perm=(place, *others)), shape=(count, length))
    same = reduce_all(equal(expand_dims(rows, 0), expand_dims(rows, 1)), axis=2)
    here = sequences.counting(size=count, dtype=int32)
    return reduce_min(where(same, here, int32.max), axis=1), place  # an argmax refuses size 0


@export("raw_ops.UniqueV2")
def unique_v2(
    x: TensorLike, axis: AxisLike, out_idx: DTypeLike = int32, name: str | None = None
) -> UniqueV2:
    """Return (y, idx): the different slices of `x` along `axis` in the order in which they first
    appear.

    >>> import talweg as tf
    >>> tf.raw_ops.UniqueV2(x=[[1, 2], [3, 4], [1, 2]], axis=[0]).y.numpy().tolist()
    [[1, 2], [3, 4]]
    """
    x = tensor(x)
    first, place = _first_equal(x, axis)
    found = unique(first, out_idx)
    return UniqueV2(gather(x, found.y, axis=place), found.idx)


@export("raw_ops.UniqueWithCountsV2")
def unique_with_counts_v2(
    x: TensorLike, axis: AxisLike, out_idx: DTypeLike = int32, name: str | None = None
) -> UniqueWithCountsV2:
    """Return (y, idx, count): as UniqueV2, and how often each slice appears.

    >>> import talweg as tf
    >>> tf.raw_ops.UniqueWithCountsV2(x=[[1, 2], [3, 4], [1, 2]], axis=[0]).count.numpy().tolist()
    [2, 1]
    """
    x = tensor(x)
    first, place = _first_equal(x, axis)
    found = unique_with_counts(first, out_idx)
    return UniqueWithCountsV2(gather(x, found.y, axis=place), found.idx, found.count)
