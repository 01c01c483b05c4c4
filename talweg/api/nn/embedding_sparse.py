"""tf.nn: rows of a table that sparse matrices of ids name, combined row by row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.math.segments import number_of_segments
from talweg.api.nn.embedding import embedding_lookup
from talweg.api.sparse.form import dims_of, sparse
from talweg.api.sparse.form import reshape as reshape_sparse
from talweg.core.dims import dims_differ
from talweg.core.errors import type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.value import Tensor
from talweg.eager.composite import SparseTensor
from talweg.eager.ragged import RaggedTensor
from talweg.eager.tensor import EagerTensor, array_of, wrap
from talweg.prims import arithmetic, layout, segment
from talweg.prims.guarded import div_no_nan

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


def _weights(sp_weights: Any, ids: Any, function: str) -> Any:
    if sp_weights is None:
        return None
    if isinstance(ids, RaggedTensor):
        if not isinstance(sp_weights, RaggedTensor):
            raise type_error(
                "TW104", f"{function}: sp_weights is {sp_weights!r}", "a RaggedTensor, as sp_ids is"
            )
        weights = sp_weights
    else:
        weights = sparse(sp_weights, function, "sp_weights")
    if dims_differ(weights.values.dims, ids.values.dims):
        raise value_error(
            "TW204",
            f"{function}: {weights.values.dims[0]} weights for {ids.values.dims[0]} ids",
            "a weight for each id",
        )
    return weights.values


@export("nn.embedding_lookup_sparse")
def embedding_lookup_sparse(
    params: TensorLike,
    sp_ids: Any,
    sp_weights: Any,
    combiner: str | None = None,
    max_norm: Any = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Return for each row of `sp_ids`, the rows of the table that its ids name, combined.

    sp_ids: a sparse or ragged matrix of int32 or int64.  sp_weights: weights at the same places, a
    matrix of the same kind, or None.  combiner: "sum"; "mean" (the default), divided by the sum of
    weights; "sqrtn", divided by the root of the sum of their squares.  ValueError for another
    combiner.

    >>> import talweg as tf
    >>> ids = tf.SparseTensor([[0, 0], [0, 1]], [0, 1], [1, 2])
    >>> tf.nn.embedding_lookup_sparse(tf.constant([[1.0], [3.0]]), ids, None).numpy()
    array([[2.]], dtype=float32)
    """
    function = "embedding_lookup_sparse"
    combiner = combiner or "mean"
    if combiner not in ("mean", "sqrtn", "sum"):
        raise value_error("TW207", f"combiner={combiner!r}", "one of 'mean', 'sqrtn', 'sum'")
    values, ids = _ids_by_row(sp_ids, function)
    weights = _weights(sp_weights, sp_ids, function)
    rows = embedding_lookup(params, values, max_norm)
    many = rows.dims[0]
    count = number_of_segments(ids)
    shape = (many, *(1,) * (rows.ndim - 1))
    if weights is None:
        column = layout.broadcast_to(tensor(1, rows.dtype), shape=shape)
    else:
        if weights.dtype is not rows.dtype:
            weights = arithmetic.cast(weights, dtype=rows.dtype)
        column = layout.reshape(weights, shape=shape)
    total = segment.segment_sum(rows * column, ids, count=count.size)
    if combiner == "sum":
        return total
    size = column if combiner == "mean" else arithmetic.square(column)
    size = segment.segment_sum(size, ids, count=count.size)
    size = size if combiner == "mean" else arithmetic.sqrt(size)
    return div_no_nan(total, size) if _may_have_zero(size) else total / size


def _ids_by_row(ids: Any, function: str) -> tuple:
    """Return the ids, and for each the row that it stands in."""
    if isinstance(ids, RaggedTensor):
        if ids.ragged_rank != 1 or ids.flat_values.ndim != 1:
            raise value_error(
                "TW203", f"{function}: sp_ids has shape {ids.shape}", "a ragged matrix, of two axes"
            )
        return ids.values, ids.value_rowids()
    if not isinstance(ids, SparseTensor):
        raise type_error(
            "TW104", f"{function}: sp_ids is {ids!r}", "a SparseTensor or a RaggedTensor"
        )
    many = ids.values.dims[0]
    first = layout.strided_slice(ids.indices, begin=(0, 0), end=(many, 1), strides=(1, 1))
    return ids.values, layout.reshape(first, shape=(many,))


def _may_have_zero(x: Tensor) -> bool:
    return type(x) is not EagerTensor or not np.all(array_of(x))


@export("nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    max_norm: Any = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Call `embedding_lookup_sparse` without negative ids and weights of 0 or less.

    Sparse ids may have more than two axes, all but the last of which are those of the result.
    Rows without ids get the row `default_id` of the table, or zeros.

    >>> import talweg as tf
    >>> ids = tf.SparseTensor([[0, 0], [1, 0]], [1, -1], [2, 1])
    >>> tf.nn.safe_embedding_lookup_sparse(tf.constant([[1.0], [3.0]]), ids).numpy()
    array([[3.],
           [0.]], dtype=float32)
    """
    if isinstance(sparse_ids, RaggedTensor):
        sparse_ids = sparse_ids.to_sparse()
    if isinstance(sparse_weights, RaggedTensor):
        sparse_weights = sparse_weights.to_sparse()
    x = sparse(sparse_ids, "safe_embedding_lookup_sparse", "sparse_ids")
    *leading, last = dims_of(x)
    if len(leading) != 1:  # rows of rows
        rows = [math.prod(leading), last]
        given = sparse_weights and reshape_sparse(sparse_weights, rows)
        embedded = safe_embedding_lookup_sparse(
            embedding_weights, reshape_sparse(x, rows), given, combiner, default_id, max_norm
        )
        return layout.reshape(embedded, shape=(*leading, *embedded.dims[1:]))
    kept = array_of(x.values) >= 0
    weights = _weights(sparse_weights, x, "safe_embedding_lookup_sparse")
    if weights is not None and combiner != "sum":
        kept = kept & (array_of(weights) > 0)
    places = np.flatnonzero(kept)
    indices, ids = array_of(x.indices)[places], array_of(x.values)[places]
    empty = np.setdiff1d(np.arange(dims_of(x)[0]), indices[:, 0])
    order = np.argsort(np.concatenate([indices[:, 0], empty]), kind="stable")
    column = np.stack([empty, np.zeros_like(empty)], axis=1)
    indices = np.concatenate([indices[:, :2], column])[order]
    ids = np.concatenate([ids, np.full(len(empty), default_id or 0, ids.dtype)])[order]
    dims = wrap(np.array(dims_of(x)[:2]))
    filled = SparseTensor(wrap(indices), wrap(ids), dims)
    sp_weights = None
    if weights is not None:
        chosen = hooks.gather(weights, wrap(np.concatenate([places, empty * 0])[order]))
        ones = np.concatenate([np.zeros(len(places), bool), np.ones(len(empty), bool)])[order]
        chosen = arithmetic.select(wrap(ones), arithmetic.one_like(chosen), chosen)
        sp_weights = SparseTensor(wrap(indices), chosen, dims)
    embedded = embedding_lookup_sparse(embedding_weights, filled, sp_weights, combiner, max_norm)
    if default_id is not None or not len(empty):
        return embedded
    present = np.isin(np.arange(embedded.dims[0]), empty, invert=True)
    return arithmetic.gate(wrap(present.reshape(-1, *(1,) * (embedded.ndim - 1))), embedded)
