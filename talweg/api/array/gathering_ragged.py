"""tf.gather where the tensor or the indices are ragged, along any axis.

Everything is brought to one case, that each row of the tensor has indices of its own and is
gathered from along its first axis: the index within the row and the row's start are then a place
among all rows' values, and gathering those is gathering rows of a tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.core.errors import value_error
from talweg.core.hooks import hooks
from talweg.eager import ragged_rows
from talweg.eager.ragged import RaggedTensor
from talweg.eager.tensor import wrap
from talweg.prims import checking, indexing, layout

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


def gather_ragged(params: object, indices: object, axis: Any, batch_dims: Any) -> Any:
    """Gather with at least one ragged operand; ValueError for an axis that is not there."""
    x = params if isinstance(params, RaggedTensor) else tensor(params)
    i = indices if isinstance(indices, RaggedTensor) else tensor(indices)
    batch = _place(int(batch_dims), i, "batch_dims") if batch_dims else 0
    rank = x.shape.rank
    if rank is not None and batch >= rank:
        raise value_error("TW203", "gather: batch_dims must be less than rank(params)")
    place = batch if axis is None else _place(int(axis), x, "axis")
    if place < batch:
        raise value_error("TW203", "gather: axis must be greater than or equal to batch_dims")
    return _gather(x, i, place, batch)


def _place(axis: int, x: TensorLike, argument: str) -> int:
    rank = x.shape.rank
    if rank is not None and not -rank <= axis < rank + (argument == "batch_dims"):
        raise value_error(
            "TW203", f"gather: {argument}={axis} out of bounds: expected -{rank}<={argument}<{rank}"
        )
    return axis + rank if axis < 0 and rank is not None else axis


def _gather(x: object, i: object, axis: int, batch: int) -> Any:
    """Gather the slices of x along `axis` at i, the first `batch` axes gone through together."""
    if axis == 0:
        if isinstance(i, RaggedTensor):
            return i.with_values(_gather(x, i.values, 0, 0))
        if isinstance(x, RaggedTensor):
            return ragged_rows.gather(x, i)
    if not isinstance(x, RaggedTensor) and not isinstance(i, RaggedTensor):
        return hooks.gather(x, i, axis=axis, batch_dims=batch)
    if batch == 0:
        i, batch = _for_each_row(i, _count(x)), 1
    x = _with_rows(x)
    if batch > 1:
        return x.with_values(_gather(x.values, _with_rows(i).values, axis - 1, batch - 1))
    if axis > 1:  # each element of a row is gathered from with the indices of the row
        own = _gather(i, x.value_rowids(), 0, 0)
        return x.with_values(_gather(x.values, own, axis - 1, 1))
    return _gather(x.values, _places(x, i), 0, 0)


def _count(x: Any) -> Any:
    """Return the number of rows of a ragged or dense tensor."""
    if not isinstance(x, RaggedTensor):
        return x.dims[0]
    return x.row_splits.dims[0] - 1


def _with_rows(x: Any) -> RaggedTensor:
    """Return a tensor [n, m, ...] as n rows of m."""
    if isinstance(x, RaggedTensor):
        return x
    rows, length = x.dims[:2]
    values = layout.reshape(x, shape=(rows * length, *x.dims[2:]))
    return RaggedTensor.from_uniform_row_length(values, length, nrows=rows)


def _for_each_row(i: Any, rows: Any) -> Any:
    """Repeat i `rows` times along a new first axis."""
    if not isinstance(i, RaggedTensor):
        return layout.broadcast_to(i, shape=(rows, *i.dims))
    count = _count(i)
    again = np.tile(np.arange(count), rows)
    return RaggedTensor.from_uniform_row_length(ragged_rows.gather(i, wrap(again)), count, rows)


def _places(x: RaggedTensor, i: Any) -> Any:
    """Convert indices within the rows of x, one structure of them a row, to places among
    x.values.
    """
    starts, lengths = x.row_starts(), x.row_lengths()
    if not isinstance(i, RaggedTensor):
        shape = (i.dims[0], *(1,) * (len(i.dims) - 1))
        starts, lengths = (layout.reshape(part, shape=shape) for part in (starts, lengths))
        return _within(hooks.cast(i, starts.dtype), lengths) + starts
    row, inner = i.value_rowids(), i.values
    while isinstance(inner, RaggedTensor):
        row, inner = indexing.gather_rows(row, inner.value_rowids()), inner.values
    shape = (row.dims[0], *(1,) * (len(inner.dims) - 1))
    starts, lengths = (
        layout.reshape(indexing.gather_rows(part, row), shape=shape) for part in (starts, lengths)
    )
    return i.with_flat_values(_within(hooks.cast(inner, starts.dtype), lengths) + starts)


def _within(i: Any, lengths: Any) -> Any:
    """Check that indices lie within their rows; InvalidArgumentError otherwise."""
    return checking.check_within(i, layout.broadcast_to(lengths, shape=i.dims))
