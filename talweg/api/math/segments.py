"""tf.math: reductions over segments, that is over rows of `data` with equal ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.api.arguments import integer, tensor
from talweg.api.export import export
from talweg.core.declare import check_dtype
from talweg.core.dims import Size, below, differ
from talweg.core.dtypes import FLOATING, INTEGER, REAL, float32, float64, int16, int32, int64
from talweg.core.errors import invalid
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.tensor import EagerTensor, wrap
from talweg.execute.compositions import as_one
from talweg.prims import arithmetic, counts, guarded, rounding, segment
from talweg.prims.layout import reshape
from talweg.prims.reduce import reduce_max

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.dtypes import DType
    from talweg.core.primitive import Primitive

# -- sorted ids


class SegmentCount(NamedTuple):
    """A number of segments, and the tensor that says so (which must live until it is used)."""

    size: Size
    source: Any = None


def _check_sorted_operands(
    data: object, segment_ids: object, function: str
) -> tuple[Tensor, Tensor, SegmentCount]:
    """Convert data and ids, and count the segments; InvalidArgumentError for ids out of order."""
    data, ids = tensor(data), tensor(segment_ids)
    if ids.dtype not in (int32, int64):
        raise invalid(
            "TW102", f"{function}: segment_ids have dtype {ids.dtype.name}", "int32 or int64"
        )
    if len(ids.dims) != 1 or not data.dims or differ(ids.dims[0], data.dims[0]):
        raise invalid(
            "TW204",
            f"{function}: segment_ids have shape {ids.dims} and data has shape {data.dims}",
            "a vector with one id for each row of data",
        )
    if type(ids) is EagerTensor:
        segment.check_order(ids._array, function)
    else:
        ids = segment.sorted_ids(ids, function=function)
    return data, ids, number_of_segments(ids)


def number_of_segments(ids: Tensor) -> SegmentCount:
    """Return the last of the sorted ids and one; 0 if there are none."""
    if type(ids) is EagerTensor:
        values = ids._array
        return SegmentCount(int(values[-1]) + 1 if values.size else 0)
    top = arithmetic.maximum(reduce_max(ids, axes=(0,), keepdims=False), -1)
    return SegmentCount(integer(top, "segment", "segment_ids") + 1, top)


def _counts_in_order(ids: Tensor, rank: int, count: Size, dtype: DType, least: int = 0) -> Tensor:
    """Count the rows of each segment like `_counts`, of sorted ids that are not negative.

    least: the number for segments with fewer rows.
    """
    if type(ids) is EagerTensor:
        rows = np.bincount(ids._array, minlength=count)
        if least:
            rows = np.maximum(rows, least)
        return wrap(rows.astype(dtype.numpy_dtype).reshape(-1, *(1,) * (rank - 1)))
    total = counts.bincount(ids, size=count)
    if least:
        total = arithmetic.maximum(total, arithmetic.one_like(total))
    total = arithmetic.cast(total, dtype=dtype)
    return total if rank == 1 else reshape(total, shape=(count, *(1,) * (rank - 1)))


def _counts(ids: Tensor, rank: int, count: SegmentCount, dtype: DType) -> Tensor:
    """Count the rows of each segment, with axes to broadcast against results of that rank."""
    ones = arithmetic.cast(arithmetic.greater_equal(ids, 0), dtype=dtype)
    total = segment.segment_sum(ones, ids, count=count.size)
    return reshape(total, shape=(count.size, *(1,) * (rank - 1)))


def _rank(data: Tensor, ids: Tensor) -> int:
    return len(data.dims) - len(ids.dims) + 1


@export("math.segment_sum")
def segment_sum(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Compute the sum of the rows of each segment; 0 where an id is missing.

    data [n, ...] of numbers, segment_ids [n] of int32 or int64, sorted -> [last id + 1, ...].
    InvalidArgumentError for ids that decrease, are negative, or are not one for each row.

    >>> import talweg as tf
    >>> tf.math.segment_sum([1, 2, 3, 4], [0, 0, 2, 2])
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([3, 0, 7], dtype=int32)>
    """
    data, ids, count = _check_sorted_operands(data, segment_ids, "segment_sum")
    return segment.segment_sum(data, ids, count=count.size)


@export("math.segment_prod")
def segment_prod(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Compute the product of the rows of each segment; 1 where an id is missing.

    data [n, ...] of numbers, segment_ids [n] of int32 or int64, sorted -> [last id + 1, ...].
    InvalidArgumentError for ids that decrease, are negative, or are not one for each row.

    >>> import talweg as tf
    >>> tf.math.segment_prod([1, 2, 3, 4], [0, 0, 2, 2])
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([ 2,  1, 12], dtype=int32)>
    """
    data, ids, count = _check_sorted_operands(data, segment_ids, "segment_prod")
    return segment.segment_prod(data, ids, count=count.size)


@export("math.segment_mean")
def segment_mean(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Compute the mean of the rows of each segment; 0 where an id is missing.

    data [n, ...] of numbers, segment_ids [n] of int32 or int64, sorted -> [last id + 1, ...]; the
    mean of integers drops its fraction.  InvalidArgumentError for ids that decrease, are negative,
    or are not one for each row.

    >>> import talweg as tf
    >>> tf.math.segment_mean([1.0, 2.0, 3.0, 5.0], [0, 0, 2, 2])
    <tf.Tensor: shape=(3,), dtype=float32, numpy=array([1.5, 0. , 4. ], dtype=float32)>
    """
    data, ids, count = _check_sorted_operands(data, segment_ids, "segment_mean")
    return _means(data, ids, count.size)


@as_one(least=1)
def _means(data: Tensor, ids: Tensor, count: Size) -> Any:
    total = segment.segment_sum(data, ids, count=count)
    rows = _counts_in_order(ids, data.ndim, count, data.dtype, least=1)
    if data.dtype in INTEGER:
        return rounding.truncate_div(total, rows)
    return arithmetic.div(total, rows)


def _reduce_sorted_extreme(prim: Primitive, data: TensorLike, segment_ids: TensorLike) -> Any:
    data, ids, count = _check_sorted_operands(data, segment_ids, prim.name)
    result = prim(data, ids, count=count.size)
    filled = arithmetic.greater(_counts_in_order(ids, data.ndim, count.size, int64), 0)
    return arithmetic.select(filled, result, arithmetic.zeros_of(result))


@export("math.segment_max")
def segment_max(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the largest of the rows of each segment; 0 where an id is missing.

    data [n, ...] of real numbers, segment_ids [n] of int32 or int64, sorted -> [last id + 1, ...].
    InvalidArgumentError for ids that decrease, are negative, or are not one for each row.

    >>> import talweg as tf
    >>> tf.math.segment_max([1, 2, 3, 4], [0, 0, 2, 2])
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([2, 0, 4], dtype=int32)>
    """
    return _reduce_sorted_extreme(segment.segment_max, data, segment_ids)


@export("math.segment_min")
def segment_min(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the smallest of the rows of each segment; 0 where an id is missing.

    data [n, ...] of real numbers, segment_ids [n] of int32 or int64, sorted -> [last id + 1, ...].
    InvalidArgumentError for ids that decrease, are negative, or are not one for each row.

    >>> import talweg as tf
    >>> tf.math.segment_min([1, 2, 3, 4], [0, 0, 2, 2])
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 0, 3], dtype=int32)>
    """
    return _reduce_sorted_extreme(segment.segment_min, data, segment_ids)


# -- ids in any order


_SHORT_IDS = ("segment_sum", "segment_mean", "segment_sqrt_n")  # that take int16, too


def _operands(
    data: object, segment_ids: object, num_segments: object, function: str
) -> tuple[Tensor, Tensor, SegmentCount]:
    data, ids = tensor(data), tensor(segment_ids)
    if ids.dtype is int16 and function in _SHORT_IDS:
        ids = arithmetic.cast(ids, dtype=int32)
    segment.check_ids(f"unsorted_{function}", data, ids)
    source = convert_to_tensor(num_segments)
    if source.ndim == 0 and source.dtype.is_integer:
        count = integer(source, f"unsorted_{function}", "num_segments")
        if not below(count, 0):
            return data, ids, SegmentCount(count, source)
    raise invalid(
        "TW207",
        f"unsorted_{function}: num_segments={num_segments!r}",
        "a non-negative integer, a scalar",
    )


def _reduce_unsorted_segments(
    prim: Primitive, data: object, segment_ids: object, num_segments: object
) -> Any:
    data, ids, count = _operands(data, segment_ids, num_segments, prim.name)
    return prim(data, ids, count=count.size)


@export("math.unsorted_segment_sum")
def unsorted_segment_sum(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Compute the sum of the rows of each segment; 0 for an empty one.

    data [*ids, ...] of numbers, segment_ids [*ids] in any order, negative ones are left out ->
    [num_segments, ...].  InvalidArgumentError for an id >= num_segments, or ids whose shape does
    not begin the shape of data.

    >>> import talweg as tf
    >>> tf.math.unsorted_segment_sum([1, 2, 3, 4], [2, 0, 2, -1], 3)
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([2, 0, 4], dtype=int32)>
    """
    return _reduce_unsorted_segments(segment.segment_sum, data, segment_ids, num_segments)


@export("math.unsorted_segment_prod")
def unsorted_segment_prod(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Compute the product of the rows of each segment; 1 for an empty one.

    data [*ids, ...] of numbers, segment_ids [*ids] in any order, negative ones are left out ->
    [num_segments, ...].  InvalidArgumentError for an id >= num_segments, or ids whose shape does
    not begin the shape of data.  The derivative is exact where elements are 0.

    >>> import talweg as tf
    >>> tf.math.unsorted_segment_prod([1, 2, 3, 4], [2, 0, 2, -1], 3)
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([2, 1, 3], dtype=int32)>
    """
    return _reduce_unsorted_segments(segment.segment_prod, data, segment_ids, num_segments)


@export("math.unsorted_segment_max")
def unsorted_segment_max(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Return the largest of the rows of each segment; the lowest number of the dtype for an empty
    one.

    data [*ids, ...] of real numbers, segment_ids [*ids] in any order, negative ones are left out ->
    [num_segments, ...].  InvalidArgumentError for an id >= num_segments, or ids whose shape does
    not begin the shape of data.

    >>> import talweg as tf
    >>> tf.math.unsorted_segment_max([1, 2, 3, 4], [1, 0, 1, -1], 2)
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([2, 3], dtype=int32)>
    """
    return _reduce_unsorted_segments(segment.segment_max, data, segment_ids, num_segments)


@export("math.unsorted_segment_min")
def unsorted_segment_min(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Return the smallest of the rows of each segment; the highest number of the dtype for an empty
    one.

    data [*ids, ...] of real numbers, segment_ids [*ids] in any order, negative ones are left out ->
    [num_segments, ...].  InvalidArgumentError for an id >= num_segments, or ids whose shape does
    not begin the shape of data.

    >>> import talweg as tf
    >>> tf.math.unsorted_segment_min([1, 2, 3, 4], [1, 0, 1, -1], 2)
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([2, 1], dtype=int32)>
    """
    return _reduce_unsorted_segments(segment.segment_min, data, segment_ids, num_segments)


@export("math.unsorted_segment_mean")
def unsorted_segment_mean(
    data: Any, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Compute the mean of the rows of each segment; 0 for an empty one.

    data [*ids, ...] of numbers, segment_ids [*ids] in any order, negative ones are left out ->
    [num_segments, ...]; integers give floats as in `tf.truediv`.  InvalidArgumentError for an
    id >= num_segments, or ids whose shape does not begin the shape of data.

    >>> import talweg as tf
    >>> tf.math.unsorted_segment_mean([1.0, 2.0, 4.0], [1, 0, 1], 2)
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([2. , 2.5], dtype=float32)>
    """
    data, ids, count = _operands(data, segment_ids, num_segments, "segment_mean")
    check_dtype("unsorted_segment_mean", "data", data.dtype, REAL)
    if data.dtype in INTEGER:
        data = arithmetic.cast(data, dtype=float32 if data.dtype.size <= 2 else float64)
    total = segment.segment_sum(data, ids, count=count.size)
    return guarded.div_no_nan(total, _counts(ids, _rank(data, ids), count, data.dtype))


@export("math.unsorted_segment_sqrt_n")
def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Compute the sum of the rows of each segment over the square root of their number; 0 for none.

    data [*ids, ...] of floats, segment_ids [*ids] in any order, negative ones are
    left out -> [num_segments, ...].  InvalidArgumentError for an id >= num_segments, or ids whose
    shape does not begin the shape of data.

    >>> import talweg as tf
    >>> tf.math.unsorted_segment_sqrt_n([1.0, 2.0, 3.0], [1, 0, 1], 2).numpy().round(4)
    array([2.    , 2.8284], dtype=float32)
    """
    data, ids, count = _operands(data, segment_ids, num_segments, "segment_sqrt_n")
    check_dtype("unsorted_segment_sqrt_n", "data", data.dtype, FLOATING)
    total = segment.segment_sum(data, ids, count=count.size)
    rows = _counts(ids, _rank(data, ids), count, data.dtype)
    return guarded.div_no_nan(total, arithmetic.sqrt(rows))
