"""tf.io.serialize_sparse and its kin: sparse tensors as the strings of their three parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.shapes import ensure_shape
from talweg.api.export import export
from talweg.api.host import numpy_function
from talweg.api.io.serialized import as_message, parse, text_content
from talweg.core.dtypes import DType, as_dtype, int64, string
from talweg.core.errors import UnimplementedError, compose, invalid, type_error, value_error
from talweg.eager.composite import SparseTensor

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike


def _check(x: Any, out_type: DTypeLike) -> SparseTensor:
    if not isinstance(x, SparseTensor):
        raise type_error("TW104", f"Input is {type(x).__name__}", "a SparseTensor")
    if out_type is not None and as_dtype(out_type) is not string:
        text = f"sparse tensors are written as strings, not as {as_dtype(out_type).name}"
        raise UnimplementedError(None, None, compose("TW402", text, hint="out_type=tf.string"))
    return x


def _message(values: np.ndarray, dtype: DType) -> bytes:
    return text_content(values) if dtype is string else as_message(values, dtype)


@export("io.serialize_sparse")
def serialize_sparse(
    sp_input: TensorLike, out_type: DTypeLike = string, name: str | None = None
) -> Any:
    """Return a sparse tensor as three strings [3]: its indices, values and shape.

    TypeError for what is not sparse.

    >>> import talweg as tf
    >>> tf.io.serialize_sparse(tf.sparse.from_dense([1, 0, 2])).shape
    TensorShape([3])
    """
    x = _check(sp_input, out_type)
    dtype = x.dtype

    def parts(indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> np.ndarray:
        texts = as_message(indices, int64), _message(values, dtype), as_message(shape, int64)
        return np.array(texts, object)

    parts_out = numpy_function(parts, [x.indices, x.values, x.dense_shape], string)
    return ensure_shape(parts_out, [3])


@export("io.serialize_many_sparse")
def serialize_many_sparse(
    sp_input: TensorLike, out_type: DTypeLike = string, name: str | None = None
) -> Any:
    """Return each row of a sparse tensor of rank 2 or more as three strings: [rows, 3].

    TypeError for what is not sparse, InvalidArgumentError for a rank below 2.

    >>> import talweg as tf
    >>> tf.io.serialize_many_sparse(tf.sparse.from_dense([[1, 0], [0, 2]])).shape
    TensorShape([2, 3])
    """
    x = _check(sp_input, out_type)
    dtype = x.dtype

    def rows(indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> np.ndarray:
        if len(shape) < 2:
            raise invalid("TW203", f"a sparse tensor of rank {len(shape)}", "a rank above 1")
        serialized = np.empty((int(shape[0]), 3), object)
        tail = as_message(shape[1:], int64)
        for row in range(len(serialized)):
            own = indices[:, 0] == row
            serialized[row] = (
                as_message(indices[own, 1:], int64),
                _message(values[own], dtype),
                tail,
            )
        return serialized

    serialized = numpy_function(rows, [x.indices, x.values, x.dense_shape], string)
    known = x.shape[0] if x.shape.rank else None
    return ensure_shape(serialized, [known, 3])


@export("compat.v1.io.serialize_sparse", "compat.v1.serialize_sparse")
def serialize_sparse_v1(
    sp_input: TensorLike, name: str | None = None, out_type: DTypeLike = string
) -> Any:
    """Do what `tf.io.serialize_sparse` does."""
    return serialize_sparse(sp_input, out_type)


@export("compat.v1.io.serialize_many_sparse", "compat.v1.serialize_many_sparse")
def serialize_many_sparse_v1(
    sp_input: TensorLike, name: str | None = None, out_type: DTypeLike = string
) -> Any:
    """Do what `tf.io.serialize_many_sparse` does."""
    return serialize_many_sparse(sp_input, out_type)


@export(
    "io.deserialize_many_sparse",
    "compat.v1.io.deserialize_many_sparse",
    "compat.v1.deserialize_many_sparse",
)
def deserialize_many_sparse(
    serialized_sparse: TensorLike,
    dtype: DTypeLike,
    rank: int | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Return the sparse tensors of strings [n, 3], one above the other: with an axis [n] in front.

    Sizes are the largest of each axis; rank: that of the result, if it is to be known in a graph.
    InvalidArgumentError for other strings, dtypes or ranks.

    >>> import talweg as tf
    >>> rows = tf.io.serialize_many_sparse(tf.sparse.from_dense([[1, 0], [0, 2]]))
    >>> tf.sparse.to_dense(tf.io.deserialize_many_sparse(rows, tf.int32)).numpy()
    array([[1, 0],
           [0, 2]], dtype=int32)
    """
    kind = as_dtype(dtype)
    operands, kinds = [tensor(serialized_sparse, string)], [int64, kind, int64]
    indices, values, shape = numpy_function(lambda x: _together(x, kind), operands, kinds)
    known = indices.shape[1] if indices.shape.rank else None
    if rank is not None and known not in (None, rank):
        raise value_error("TW203", f"deserialize_many_sparse: rank {known}", f"{rank}")
    return SparseTensor(ensure_shape(indices, [None, rank]), values, ensure_shape(shape, [rank]))


def _together(texts: np.ndarray, dtype: DType) -> tuple:
    if texts.ndim != 2 or texts.shape[1] != 3:
        raise invalid("TW203", f"serialized_sparse has shape {texts.shape}", "[n, 3]")
    parts = []
    for row in texts:
        kinds = (int64, dtype, int64)
        parts.append([parse(np.array(text, object), kind) for text, kind in zip(row, kinds)])
    ranks = {len(shape) for _, _, shape in parts}
    if len(ranks) > 1:
        raise invalid("TW203", f"sparse tensors of ranks {sorted(ranks)}", "one rank")
    if not parts:
        raise invalid("TW204", "deserialize_many_sparse: no tensors", "at least one")
    indices = [
        np.concatenate([np.full((len(own), 1), row, np.int64), own.reshape(len(own), -1)], axis=1)
        for row, (own, _, _) in enumerate(parts)
    ]
    sizes = np.max([shape for _, _, shape in parts], axis=0, initial=0)
    return (
        np.concatenate(indices),
        np.concatenate([values for _, values, _ in parts]),
        np.concatenate([[len(parts)], sizes]).astype(np.int64),
    )
