"""Elements by index: gather, gather_nd, boolean_mask, where; and sparse cotangents."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import require_sizes, tensor
from talweg.api.array.gathering_ragged import gather_ragged
from talweg.api.array.operands import (
    constant,
    dims_or_none,
    integer_scalar,
    integer_vector,
    set_dims,
    sizes_tensor,
)
from talweg.api.export import export, implement_hook
from talweg.core.dims import dims_differ, same
from talweg.core.dtypes import ANY, bool_, int32, int64, string
from talweg.core.errors import invalid, value_error
from talweg.core.shapes import merge_equal_shapes
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.operators import matching_list
from talweg.eager.ragged import RaggedTensor
from talweg.eager.tensor import EagerTensor
from talweg.graph.symbol import Symbol
from talweg.prims import arithmetic, indexing, layout, reduce, search, segment, sequences

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike


@implement_hook("gather")
@export("gather")
def gather(
    params: object,
    indices: object,
    validate_indices: bool | None = None,
    axis: AxisLike | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """Return the slices of `params` along `axis` that `indices` names.

    params [..., n, ...], indices (integers) of any shape; the result has shape
    params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:].  The first
    `batch_dims` axes of both are gone through together; `axis` is that number by default.
    InvalidArgumentError for an index outside [0, n).  Ragged `params` give rows that are ragged,
    ragged `indices` a result with their rows.

    >>> import talweg as tf
    >>> tf.gather([[1, 2], [3, 4], [5, 6]], [2, 0]).numpy()
    array([[5, 6],
           [1, 2]], dtype=int32)
    """
    if isinstance(indices, RaggedTensor) or isinstance(params, RaggedTensor):
        return gather_ragged(params, indices, axis, batch_dims)
    i = tensor(indices)
    x = tensor(params)
    unranked = dims_or_none(x) is None or dims_or_none(i) is None
    if unranked and axis in (None, 0) and type(batch_dims) is int and batch_dims == 0:
        return indexing.gather_rows(x, i)
    rank = len(x.dims)
    batch = integer_scalar(batch_dims, "gather", "batch_dims")
    if not -len(i.dims) <= batch <= len(i.dims):
        raise invalid(
            "TW202",
            f"gather: expected batch_dims in [{-len(i.dims)}, {len(i.dims)}], but got {batch}",
        )
    batch += len(i.dims) if batch < 0 else 0
    at_axis = _gather_axis(batch_dims if axis is None else axis, rank, axis is None)
    if at_axis == 0:
        batch = 0  # TensorFlow looks at batch_dims only along other axes
    if at_axis < batch or rank == 0:
        raise invalid(
            "TW203",
            f"gather: params of shape {x.dims} with axis={at_axis} and batch_dims={batch}",
            "params of rank at least 1, and batch_dims at most axis",
        )
    if at_axis == 0 and batch == 0:
        return indexing.gather_rows(x, i)
    return indexing.gather(x, i, axis=at_axis, batch_dims=batch)


@export("compat.v1.gather")
def gather_v1(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: AxisLike | None = None,
    batch_dims: int = 0,
) -> Tensor:
    """Call `tf.gather` with the arguments in the order of TensorFlow 1.

    >>> import talweg as tf
    >>> tf.compat.v1.gather([1, 2, 3], [2]).numpy()
    array([3], dtype=int32)
    """
    return gather(params, indices, axis=axis, batch_dims=batch_dims)


def _gather_axis(axis: AxisLike, rank: int, implied: bool) -> int:
    if type(axis) is not int and tensor(axis).dims:
        raise invalid("TW203", f"gather: axis must be scalar, got {axis!r}")
    place = integer_scalar(axis, "gather", "axis")
    if not -rank <= place < rank and not (implied and place == 0):
        raise invalid("TW203", f"gather: axis={place} for params of rank {rank}", "one of its axes")
    return place + rank if place < 0 else place


@implement_hook("gather_nd")
@export("gather_nd")
def gather_nd(
    params: TensorLike,
    indices: TensorLike,
    batch_dims: int = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Tensor:
    """Return the slices of `params` at coordinates.

    indices [..., depth]: the last axis holds coordinates along the first `depth` axes of `params`
    after `batch_dims` axes that both share.  The result has shape
    indices.shape[:-1] + params.shape[batch_dims + depth:].  InvalidArgumentError for coordinates
    outside, unless `bad_indices_policy` is "IGNORE", which gives zeros there.

    >>> import talweg as tf
    >>> tf.gather_nd([[1, 2], [3, 4]], [[0, 0], [1, 1]]).numpy()
    array([1, 4], dtype=int32)
    """
    i = tensor(indices)
    x = tensor(params)
    batch = integer_scalar(batch_dims, "gather_nd", "batch_dims")
    if batch and not 0 <= batch < len(i.dims):
        raise value_error(
            "TW202",
            f"gather_nd: argument `batch_dims` = {batch} must be less than rank(`indices`) = "
            f"{len(i.dims)}",
        )
    if batch:
        if dims_differ(x.dims[:batch], i.dims[:batch]):
            raise invalid(
                "TW204",
                f"gather_nd: params has shape {x.dims} and indices has shape {i.dims}",
                f"the first {batch} dimensions equal",
            )
        i = require_sizes(i, i.dims[:batch], x.dims[:batch], "gather_nd: batches of indices")
        i = _with_batch_places(i, batch)
    if bad_indices_policy == "IGNORE":
        return _gather_ignoring(x, i)
    sparse = not batch and len(i.dims) == 2 and same(i.dims[-1], 1)
    return indexing.gather_nd(x, i, sparse=sparse)


def _with_batch_places(i: Any, batch: int) -> Any:
    """Put the batch coordinates before each index: i [b..., k, depth] -> [b..., k, batch +
    depth].
    """
    dims = i.dims[:-1]
    columns = []
    for axis in range(batch):
        steps = sequences.counting(size=dims[axis], dtype=i.dtype)
        lined = (*(1,) * axis, dims[axis], *(1,) * (len(dims) - axis))
        spread = layout.reshape(steps, shape=lined)
        columns.append(layout.broadcast_to(spread, shape=(*dims, 1)))
    return layout.concat(*columns, i, axis=len(i.dims) - 1)


def inside(i: Any, dims: tuple) -> Any:
    """Test which indices i [..., depth] lie inside a tensor of shape `dims`: truth values
    [...].
    """
    bounds = sizes_tensor(dims[: operator.index(i.dims[-1])], i.dtype)
    zero = constant(i.dtype.numpy_dtype.type(0))
    fits = arithmetic.logical_and(arithmetic.greater_equal(i, zero), arithmetic.less(i, bounds))
    return reduce.reduce_all(fits, axes=(len(i.dims) - 1,), keepdims=False)


def _gather_ignoring(x: Tensor, i: Any) -> Any:
    fits = inside(i, x.dims)
    kept = layout.reshape(fits, shape=(*fits.dims, 1))
    safe = arithmetic.select(kept, i, constant(i.dtype.numpy_dtype.type(0)))
    found = indexing.gather_nd(x, safe, sparse=False)
    shape = (*fits.dims, *(1,) * (len(found.dims) - len(fits.dims)))
    nothing = tensor(b"", string) if found.dtype.name == "string" else arithmetic.zeros_of(found)
    return arithmetic.select(layout.reshape(fits, shape=shape), found, nothing)


@implement_hook("boolean_mask")
@export("boolean_mask")
def boolean_mask(
    tensor: TensorLike, mask: TensorLike, axis: AxisLike | None = None, name: str = "boolean_mask"
) -> Tensor:
    """Return the elements (or slices) of `tensor` where `mask` is true, as the first axis of the
    result.

    mask: truth values of known shape, matching the axes of `tensor` from `axis` (0) on.
    ValueError if the shapes do not match or the mask is a scalar.

    >>> import talweg as tf
    >>> tf.boolean_mask([1, 2, 3], [True, False, True]).numpy()
    array([1, 3], dtype=int32)
    """
    x = convert_to_tensor(tensor)
    chosen = convert_to_tensor(mask)
    rank = len(chosen.dims)
    if rank == 0:
        raise value_error("TW203", "boolean_mask: mask cannot be scalar.")
    start = 0 if axis is None else integer_scalar(axis, "boolean_mask", "axis")
    covered = x.dims[start : start + rank] if start >= 0 else x.dims[start:][:rank]
    if dims_differ(covered, chosen.dims) or start < 0:
        raise value_error(
            "TW204",
            f"boolean_mask: shapes {covered} and {chosen.dims} are incompatible",
            "a mask of the shape of the axes it covers",
        )
    chosen = require_sizes(chosen, chosen.dims, covered, "boolean_mask: mask")
    covered = merge_equal_shapes(covered, chosen.dims)
    count = math.prod(covered)
    flat = layout.reshape(x, shape=(*x.dims[:start], count, *x.dims[start + rank :]))
    places = search.nonzero(layout.reshape(chosen, shape=(count,)))
    places = layout.reshape(places, shape=places.dims[:1])
    return indexing.gather(flat, places, axis=start, batch_dims=0)


@export("where")
def where(condition: TensorLike, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Return, with x and y, x where `condition` holds, y elsewhere, broadcast.  Without: where it
    holds.

    condition: truth values (for the short form numbers too).  The short form gives the indices
    [n, rank] in int64, in row-major order.  ValueError if only one of x and y is given;
    InvalidArgumentError if the shapes do not broadcast or the dtypes of x and y differ.

    >>> import talweg as tf
    >>> tf.where([True, False, True], [1, 2, 3], 0).numpy()
    array([1, 0, 3], dtype=int32)
    >>> tf.where([[True, False], [False, True]]).numpy()
    array([[0, 0],
           [1, 1]])
    """
    if x is None and y is None:
        c = tensor(condition)
        if c.dtype not in ANY:
            raise invalid("TW102", f"where: condition has dtype {c.dtype.name}", "bool or a number")
        return search.nonzero(c)
    if x is None or y is None:
        raise value_error("TW207", "where: x and y must both be non-None or both be None.")
    if not hasattr(condition, "dtype"):
        condition = convert_to_tensor(condition, bool_)
    c = tensor(condition)
    if c.dtype is not bool_:
        raise invalid("TW102", f"where: condition has dtype {c.dtype.name}", "bool")
    return arithmetic.select(c, *matching_list((x, y)))


@export("compat.v1.where")
def where_v1(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Do what `tf.where` does, except that a vector condition chooses rows and nothing else
    broadcasts.

    >>> import talweg as tf
    >>> tf.compat.v1.where([True, False], [[1, 2], [3, 4]], [[5, 6], [7, 8]]).numpy()
    array([[1, 2],
           [7, 8]], dtype=int32)
    """
    if x is None or y is None:
        return where(condition, x, y)
    c = convert_to_tensor(condition, None if hasattr(condition, "dtype") else bool_)
    x, y = matching_list((x, y))
    rows = len(c.dims) == 1 < len(x.dims)  # it chooses rows
    wanted = () if not c.dims else x.dims[:1] if rows else x.dims
    if dims_differ(x.dims, y.dims) or dims_differ(c.dims, wanted):
        raise invalid(
            "TW204",
            f"where: condition, x and y have shapes {c.dims}, {x.dims} and {y.dims}",
            "x and y of one shape; a condition of that shape, a scalar, or a vector choosing rows",
        )
    y = require_sizes(y, y.dims, x.dims, "where: y, and x")
    c = require_sizes(c, c.dims, wanted, "where: condition, and x")
    if rows:
        c = layout.reshape(c, shape=(*c.dims, *(1,) * (len(x.dims) - 1)))
    return arithmetic.select(c, x, y)


# -- sparse cotangents


@implement_hook("dense")
def dense(slices: IndexedSlices) -> Any:
    """Convert IndexedSlices to a tensor: rows named twice are summed, a negative row is left
    out.
    """
    if slices.dense_shape is None:
        raise value_error(
            "TW205",
            f"IndexedSlices without dense_shape cannot become a tensor: {slices}",
            "IndexedSlices with a dense_shape",
        )
    values, indices = convert_to_tensor(slices.values), convert_to_tensor(slices.indices)
    whole = set_dims(convert_to_tensor(slices.dense_shape), (len(values.dims),))
    rows = integer_vector(whole, "dense", "dense_shape")[0]
    if type(indices) is Symbol and values.dtype.is_numeric:
        return segment.segment_sum(values, _as_ids(indices), count=rows)
    array = indices._array if type(indices) is EagerTensor else None
    if array is not None and array.size and array.min() < 0:
        kept = constant(np.flatnonzero(array >= 0))
        values = indexing.gather(values, kept, axis=0, batch_dims=0)
        indices = constant(array[array >= 0])
    return indexing.scatter_rows(values, indices, axis=0, batch_dims=0, rows=rows)


def _as_ids(indices: Tensor) -> Any:
    """Convert indices to segment ids, which are int32 or int64."""
    return indices if indices.dtype is int64 else arithmetic.cast(indices, dtype=int32)


@implement_hook("add_slices")
def add_slices(x: TensorLike, y: IndexedSlices) -> Any:
    """Add x + y where at least one is IndexedSlices: sparse if both are, else dense."""
    if not isinstance(x, IndexedSlices):
        return arithmetic.add(x, dense(y))
    if not isinstance(y, IndexedSlices):
        return arithmetic.add(dense(x), y)
    values = layout.concat(x.values, y.values, axis=0)
    i, j = x.indices, y.indices
    if i.dtype is not j.dtype:
        j = arithmetic.cast(j, dtype=i.dtype)
    whole = x.dense_shape if x.dense_shape is not None else y.dense_shape
    return IndexedSlices(values, layout.concat(i, j, axis=0), whole)
