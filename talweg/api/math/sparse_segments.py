"""tf.sparse.segment_*: reductions over segments of rows that are picked by their indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import integer, tensor
from talweg.api.export import export
from talweg.api.math.segments import SegmentCount, number_of_segments
from talweg.core.declare import check_dtype
from talweg.core.dims import dims_differ
from talweg.core.dtypes import FLOATING, REAL, int32, int64
from talweg.core.errors import invalid
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.prims import arithmetic, guarded, segment
from talweg.prims.indexing import gather
from talweg.prims.layout import reshape

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


def _pick_rows(
    data: object, indices: object, segment_ids: Any, num_segments: Any, function: str, accepts: Any
) -> tuple[Tensor, Tensor, SegmentCount]:
    """Pick the rows of data that take part, their ids, and the number of segments.

    An id beyond that number is refused where the rows are reduced.
    """
    data = tensor(data)
    indices, ids = tensor(indices, hint=int32), tensor(segment_ids, hint=int32)
    check_dtype(function, "data", data.dtype, accepts)
    for value, argument in ((indices, "indices"), (ids, "segment_ids")):
        check_dtype(function, argument, value.dtype, {int32, int64})
    if not data.dims or len(indices.dims) != 1 or dims_differ(ids.dims, indices.dims):
        raise invalid(
            "TW204",
            f"{function}: shapes are {indices.dims} (indices), {ids.dims} (segment_ids) and "
            f"{data.dims} (data)",
            "two vectors of one length, and data of rank at least 1",
        )
    ids = segment.sorted_ids(ids, function=function)
    if num_segments is None:
        count = number_of_segments(ids)
    else:
        source = convert_to_tensor(num_segments)
        count = SegmentCount(integer(source, function, "num_segments"), source)
    return gather(data, indices, axis=0, batch_dims=0), ids, count


def _counts(rows: Tensor, ids: Tensor, count: SegmentCount) -> Tensor:
    ones = arithmetic.cast(arithmetic.greater_equal(ids, 0), dtype=rows.dtype)
    total = segment.segment_sum(ones, ids, count=count.size)
    return reshape(total, shape=(count.size, *(1,) * (len(rows.dims) - 1)))


@export("sparse.segment_sum")
def segment_sum(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Compute the sums of the rows `data[indices]` with equal ids; 0 where an id is missing.

    data [m, ...] of real numbers, indices [n] of rows, segment_ids [n] sorted -> [k, ...] with k
    the last id + 1, or num_segments.  InvalidArgumentError for indices out of range, or ids that
    decrease, are negative or exceed num_segments.

    >>> import talweg as tf
    >>> tf.sparse.segment_sum([[1.0, 2.0], [3.0, 4.0]], [0, 1, 1], [0, 0, 1])
    <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
    array([[4., 6.],
           [3., 4.]], dtype=float32)>
    """
    rows, ids, count = _pick_rows(data, indices, segment_ids, num_segments, "segment_sum", REAL)
    return segment.segment_sum(rows, ids, count=count.size)


@export("sparse.segment_mean")
def segment_mean(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Compute the means of the rows `data[indices]` with equal ids; 0 where an id is missing.

    data [m, ...] of floats, indices [n] of rows, segment_ids [n] sorted -> [k, ...] with k the
    last id + 1, or num_segments.  InvalidArgumentError for indices out of range, or ids that
    decrease, are negative or exceed num_segments.

    >>> import talweg as tf
    >>> tf.sparse.segment_mean([[1.0, 2.0], [3.0, 4.0]], [0, 1, 1], [0, 0, 1])
    <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
    array([[2., 3.],
           [3., 4.]], dtype=float32)>
    """
    rows, ids, count = _pick_rows(
        data, indices, segment_ids, num_segments, "segment_mean", FLOATING
    )
    return guarded.div_no_nan(
        segment.segment_sum(rows, ids, count=count.size), _counts(rows, ids, count)
    )


@export("sparse.segment_sqrt_n")
def segment_sqrt_n(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Compute the sums of the rows `data[indices]` with equal ids over the square root of their
    number.

    data [m, ...] of floats, indices [n] of rows, segment_ids [n] sorted -> [k, ...] with k the
    last id + 1, or num_segments.  InvalidArgumentError for indices out of range, or ids that
    decrease, are negative or exceed num_segments.

    >>> import talweg as tf
    >>> tf.sparse.segment_sqrt_n([[1.0, 2.0], [3.0, 4.0]], [0, 1, 1], [0, 0, 1]).numpy().round(4)
    array([[2.8284, 4.2426],
           [3.    , 4.    ]], dtype=float32)
    """
    rows, ids, count = _pick_rows(
        data, indices, segment_ids, num_segments, "segment_sqrt_n", FLOATING
    )
    roots = arithmetic.sqrt(_counts(rows, ids, count))
    return guarded.div_no_nan(segment.segment_sum(rows, ids, count=count.size), roots)
