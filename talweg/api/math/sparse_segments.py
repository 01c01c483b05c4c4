"""tf.sparse.segment_*: reductions over segments of rows that are picked by their indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.api.arguments import integer, tensor
from talweg.api.export import export
from talweg.core.declare import check_dtype
from talweg.core.dtypes import FLOATING, REAL, int32, int64
from talweg.core.errors import invalid
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.prims import arithmetic, guarded, segment
from talweg.prims.layout import reshape


def _picked(
    data: Any, indices: Any, segment_ids: Any, num_segments: Any, function: str, accepts: Any
) -> tuple[Tensor, Tensor, int]:
    """The rows of data that take part, their ids, and the number of segments."""
    data, indices, ids = tensor(data), tensor(indices), tensor(segment_ids)
    check_dtype(function, "data", data.dtype, accepts)
    for value, argument in ((indices, "indices"), (ids, "segment_ids")):
        check_dtype(function, argument, value.dtype, {int32, int64})
    if not data.dims or len(indices.dims) != 1 or ids.dims != indices.dims:
        raise invalid(
            "TW204",
            f"{function}: shapes are {indices.dims} (indices), {ids.dims} (segment_ids) and "
            f"{data.dims} (data)",
            "two vectors of one length, and data of rank at least 1",
        )
    rows = indices._array  # type: ignore[attr-defined]
    _check_rows(rows, data.dims[0], function)
    order = ids._array  # type: ignore[attr-defined]
    if order.size and (order[0] < 0 or np.any(order[1:] < order[:-1])):
        raise invalid("TW207", f"{function}: segment_ids are not sorted or negative", "sorted ids")
    count = int(order[-1]) + 1 if order.size else 0
    if num_segments is not None:
        wanted = integer(convert_to_tensor(num_segments), function, "num_segments")
        if wanted < count:
            raise invalid(
                "TW207", f"{function}: num_segments={wanted} but the last id is {count - 1}"
            )
        count = wanted
    return segment.segment_rows(data, indices), ids, count


def _check_rows(rows: Any, size: int, function: str) -> None:
    wrong = (rows < 0) | (rows >= size)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise invalid(
            "TW206",
            f"{function}: indices[{place}] = {rows[place]} is out of range [0, {size})",
            "rows of data",
        )


def _counts(rows: Tensor, ids: Tensor, count: int) -> Tensor:
    ones = arithmetic.cast(arithmetic.greater_equal(ids, 0), dtype=rows.dtype)
    total = segment.segment_sum(ones, ids, count=count)
    return reshape(total, shape=(count, *(1,) * (len(rows.dims) - 1)))


@export("sparse.segment_sum")
def segment_sum(
    data: Any,
    indices: Any,
    segment_ids: Any,
    num_segments: Any = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Any:
    """The sums of the rows `data[indices]` with equal ids; 0 where an id is missing.

    data [m, ...] of real numbers, indices [n] of rows, segment_ids [n] sorted -> [k, ...] with k
    the last id + 1, or num_segments.  InvalidArgumentError for indices out of range, or ids that
    decrease, are negative or exceed num_segments.

    >>> import talweg as tf
    >>> tf.sparse.segment_sum([[1.0, 2.0], [3.0, 4.0]], [0, 1, 1], [0, 0, 1])
    <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
    array([[4., 6.],
           [3., 4.]], dtype=float32)>
    """
    rows, ids, count = _picked(data, indices, segment_ids, num_segments, "segment_sum", REAL)
    return segment.segment_sum(rows, ids, count=count)


@export("sparse.segment_mean")
def segment_mean(
    data: Any,
    indices: Any,
    segment_ids: Any,
    num_segments: Any = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Any:
    """The means of the rows `data[indices]` with equal ids; 0 where an id is missing.

    data [m, ...] of floats, indices [n] of rows, segment_ids [n] sorted -> [k, ...] with k the
    last id + 1, or num_segments.  InvalidArgumentError for indices out of range, or ids that
    decrease, are negative or exceed num_segments.

    >>> import talweg as tf
    >>> tf.sparse.segment_mean([[1.0, 2.0], [3.0, 4.0]], [0, 1, 1], [0, 0, 1])
    <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
    array([[2., 3.],
           [3., 4.]], dtype=float32)>
    """
    rows, ids, count = _picked(data, indices, segment_ids, num_segments, "segment_mean", FLOATING)
    return guarded.div_no_nan(
        segment.segment_sum(rows, ids, count=count), _counts(rows, ids, count)
    )


@export("sparse.segment_sqrt_n")
def segment_sqrt_n(
    data: Any,
    indices: Any,
    segment_ids: Any,
    num_segments: Any = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Any:
    """The sums of the rows `data[indices]` with equal ids over the square root of their number.

    data [m, ...] of floats, indices [n] of rows, segment_ids [n] sorted -> [k, ...] with k the
    last id + 1, or num_segments.  InvalidArgumentError for indices out of range, or ids that
    decrease, are negative or exceed num_segments.

    >>> import talweg as tf
    >>> tf.sparse.segment_sqrt_n([[1.0, 2.0], [3.0, 4.0]], [0, 1, 1], [0, 0, 1])
    <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
    array([[2.828427, 4.242641],
           [3.      , 4.      ]], dtype=float32)>
    """
    rows, ids, count = _picked(data, indices, segment_ids, num_segments, "segment_sqrt_n", FLOATING)
    roots = arithmetic.sqrt(_counts(rows, ids, count))
    return guarded.div_no_nan(segment.segment_sum(rows, ids, count=count), roots)
