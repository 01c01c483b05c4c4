"""tf.compat.v1.nn: rows of tables that may be in parts, over which rows are dealt out."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.array import gathering
from talweg.api.export import export, look_up
from talweg.compat_v1.partitions import PartitionedVariable
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.eager.composite import SparseTensor
from talweg.eager.ragged import RaggedTensor
from talweg.prims import arithmetic

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


class _Table:
    """A table of all rows of its parts, over which they were dealt out one by one or in blocks."""

    def __init__(self, params: Any, partition_strategy: str):
        if partition_strategy not in ("mod", "div"):
            raise value_error(
                "TW207", f"Unrecognized partition strategy: {partition_strategy}", "mod or div"
            )
        parts = [params]
        if isinstance(params, (list, tuple, PartitionedVariable)):
            parts = list(params)
        if not (hasattr(parts[0], "shape") or isinstance(parts[0], (list, tuple))):
            parts = [params]  # a row of numbers
        self.rows = params if len(parts) == 1 else look_up("concat")(parts, 0)
        counts = [tensor(part).dims[0] for part in parts] if len(parts) > 1 else []
        self.starts = [0, *itertools.accumulate(counts)][:-1]
        self.dealt = len(parts) > 1 and partition_strategy == "mod"

    def row_of(self, number: int | None) -> int | None:
        """Return the row of one id."""
        if number is None or number < 0 or not self.dealt:
            return number
        part, place = number % len(self.starts), number // len(self.starts)
        return self.starts[part] + place

    def rows_of(self, ids: Tensor) -> Tensor:
        """Return the rows of ids; negative ones stay."""
        if not self.dealt:
            return ids
        count = tensor(len(self.starts), ids.dtype)
        begin = gathering.gather(tensor(self.starts, ids.dtype), ids % count)
        return arithmetic.select(ids < 0, ids, begin + ids // count)


def _of_all_ids(function: Callable[[Tensor], Tensor], ids: Any) -> Any:
    """Apply a function to the ids of a dense, sparse or ragged tensor."""
    if isinstance(ids, RaggedTensor):
        return ids.with_flat_values(function(ids.flat_values))
    if isinstance(ids, SparseTensor):
        return ids.with_values(function(ids.values))
    return function(ids) if isinstance(ids, Tensor) else ids


@export("compat.v1.nn.embedding_lookup")
def embedding_lookup(
    params: TensorLike,
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Tensor:
    """Return rows of `params` by `ids`.

    params: a tensor [n, ...], or a list of parts of one, over which the rows are dealt out one by
    one ("mod") or in blocks ("div").

    >>> import talweg.compat.v1 as tf
    >>> tf.nn.embedding_lookup(tf.constant([[1.0], [2.0]]), [1, 0]).numpy()
    array([[2.],
           [1.]], dtype=float32)
    """
    table = _Table(params, partition_strategy)
    ids = _of_all_ids(table.rows_of, ids if isinstance(ids, RaggedTensor) else tensor(ids))
    return look_up("nn.embedding_lookup")(table.rows, ids, max_norm)


@export("compat.v1.nn.embedding_lookup_sparse")
def embedding_lookup_sparse(
    params: TensorLike,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: Any = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Return for each row of sparse or ragged ids, rows of a table, combined.

    As `tf.nn.embedding_lookup_sparse`; params may be in parts, as for `embedding_lookup`.

    >>> import talweg.compat.v1 as tf
    >>> ids = tf.SparseTensor([[0, 0], [0, 1]], [0, 1], [1, 2])
    >>> parts = [[[1.0], [5.0]], [[3.0]]]
    >>> tf.nn.embedding_lookup_sparse(parts, ids, None, combiner="sum").numpy()
    array([[4.]], dtype=float32)
    """
    table = _Table(params, partition_strategy)
    return look_up("nn.embedding_lookup_sparse")(
        table.rows, _of_all_ids(table.rows_of, sp_ids), sp_weights, combiner, max_norm
    )


@export("compat.v1.nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: Any = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Call `embedding_lookup_sparse` without negative ids and weights of 0 or less.

    As `tf.nn.safe_embedding_lookup_sparse`; the table may be in parts, as for `embedding_lookup`.

    >>> import talweg.compat.v1 as tf
    >>> ids = tf.SparseTensor([[0, 0], [1, 0]], [1, -1], [2, 1])
    >>> tf.nn.safe_embedding_lookup_sparse(tf.constant([[1.0], [3.0]]), ids).numpy()
    array([[3.],
           [0.]], dtype=float32)
    """
    table = _Table(embedding_weights, partition_strategy)
    ids = _of_all_ids(table.rows_of, sparse_ids)
    return look_up("nn.safe_embedding_lookup_sparse")(
        table.rows, ids, sparse_weights, combiner or "mean", table.row_of(default_id), max_norm
    )
