"""tf.nn: embedding look-ups, rows of a table by their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.array.clipping import clip_by_norm
from talweg.api.array.gathering import gather
from talweg.api.array.joining import stack_tensors
from talweg.api.array.shapes import expand_dims, squeeze
from talweg.api.export import export
from talweg.core.dtypes import int32, int64
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.value import Tensor
from talweg.eager.ragged import RaggedTensor
from talweg.prims import layout

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


def _table(params: object) -> Any:
    """Join the parts of a table that a list holds; `params` if it is one table."""
    if not isinstance(params, (list, tuple)):
        return params
    if not params:
        raise value_error("TW207", "embedding_lookup: params is empty", "at least one table")
    if len(params) == 1:
        return params[0]
    parts = [tensor(part) for part in params]
    if all(part.ndim == 0 for part in parts):
        return stack_tensors(parts)
    return layout.concat(*parts, axis=0)


@export("nn.embedding_lookup")
def embedding_lookup(
    params: TensorLike, ids: TensorLike, max_norm: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Return the rows of `params` that `ids` name.

    params [n, ...], ids [...] of int32 or int64 -> [*ids.shape, ...].  A list of params holds the
    parts of one table, which are joined along their first axis.  With `max_norm`, rows of a larger
    Euclidean norm are scaled down to it.  The gradient by `params` is an IndexedSlices.
    InvalidArgumentError for ids outside [0, n); ValueError for None or an empty list.

    >>> import talweg as tf
    >>> tf.nn.embedding_lookup(tf.constant([[1.0, 2.0], [3.0, 4.0]]), [1, 0]).numpy()
    array([[3., 4.],
           [1., 2.]], dtype=float32)
    """
    if params is None:
        raise value_error("TW101", "embedding_lookup: params is None", "a tensor of rows")
    if ids is None:
        raise value_error("TW101", "embedding_lookup: ids is None", "a tensor of row numbers")
    params = _table(params)
    if isinstance(ids, RaggedTensor):
        rows = embedding_lookup(params, ids.flat_values, max_norm)
        return ids.with_flat_values(rows)  # type: ignore
    ids = tensor(ids)
    if ids.dtype not in (int32, int64):
        raise invalid(
            "TW102", f"embedding_lookup: ids has dtype {ids.dtype.name}", "int32 or int64"
        )
    rows = gather(params, ids)
    if max_norm is None:
        return rows
    axes = list(range(ids.ndim, rows.ndim))
    if not rows.dtype.is_floating:
        raise type_error("TW102", f"embedding_lookup: max_norm needs floats, not {rows.dtype.name}")
    if axes:
        return clip_by_norm(rows, max_norm, axes=axes)
    parts = expand_dims(rows, -1)  # a table of numbers: rows of one
    return squeeze(clip_by_norm(parts, max_norm, axes=[-1]), [-1])
