"""tf.compat.v1: placeholders, which are fed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.core import dispatch
from talweg.core.dtypes import as_dtype, int64
from talweg.core.errors import compose, type_error, value_error
from talweg.core.shapes import TensorShape, as_shape
from talweg.core.value import Tensor
from talweg.eager.composite import SparseTensor
from talweg.eager.ragged import RaggedTensor
from talweg.prims.state import ensure_dims
from talweg.prims.state import placeholder_with_default as with_default

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike


def _graph(function: str) -> Any:
    graph = dispatch.context.base
    if graph is None:
        text = f"tf.{function}() is not compatible with eager execution."
        raise RuntimeError(compose("TW501", text, hint="with tf.Graph().as_default(): ..."))
    return graph


def _dims(shape: Any) -> tuple | None:
    shape = as_shape(shape)
    return None if shape.rank is None else shape.as_tuple()


@export("compat.v1.placeholder")
def placeholder(dtype: object, shape: ShapeLike | None = None, name: str | None = None) -> Tensor:
    """Return a tensor whose value is fed; RuntimeError outside a graph.

    shape: None if the rank is unknown; dimensions may be None.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.placeholder(tf.float32, [None, 3]).shape.as_list()
    [None, 3]
    """
    graph = _graph("placeholder")
    if dtype is None:
        raise type_error("TW104", "placeholder: dtype=None", "a dtype")
    symbol = graph.placeholder(_dims(shape), as_dtype(dtype))
    if name is not None:
        graph.label(symbol.node, name)
    return symbol


@export("compat.v1.placeholder_with_default")
def placeholder_with_default(
    input: TensorLike, shape: ShapeLike, name: str | None = None
) -> Tensor:
    """Return a tensor that has the value of `input` unless another one is fed for it.

    shape: what is known of its shape; ValueError unless `input` has such a shape.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.placeholder_with_default([1.0, 2.0], [None])
    ...     session.run(x * 2.0), session.run(x * 2.0, {x: [5.0]})
    (array([2., 4.], dtype=float32), array([10.], dtype=float32))
    """
    value = tensor(input)
    if dispatch.context.base is None:
        return value
    shape = as_shape(shape)
    if not shape.is_compatible_with(value.shape):
        raise value_error(
            "TW204", f"placeholder_with_default: input has shape {value.shape}", f"shape {shape}"
        )
    if shape.rank is not None and not value.shape.is_fully_defined():
        value = ensure_dims(value, shape=shape.as_tuple())
    return with_default(value, shape=None if shape.rank is None else shape.as_tuple())


@export("compat.v1.sparse_placeholder", "compat.v1.sparse.placeholder")
def sparse_placeholder(
    dtype: DTypeLike, shape: ShapeLike | None = None, name: str | None = None
) -> SparseTensor:
    """Return a sparse tensor whose indices, values and dense_shape are fed, as a
    `SparseTensorValue`.

    shape: of the whole; where it is fully known, its dense_shape need not be fed.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.sparse_placeholder(tf.float32, [2, 2])
    ...     session.run(tf.sparse.to_dense(x), {x: tf.SparseTensorValue([[0, 1]], [5.0], [2, 2])})
    array([[0., 5.],
           [0., 0.]], dtype=float32)
    """
    _graph("sparse_placeholder")
    known = TensorShape(None) if shape is None else as_shape(shape)
    prefix = None if name is None else f"{name}/"

    def part(kind: object, dims: ShapeLike, suffix: str) -> Any:
        return placeholder(kind, dims, None if prefix is None else prefix + suffix)

    values = part(dtype, [None], "values")
    indices = part(int64, [None, known.rank], "indices")
    if known.is_fully_defined():
        given = np.array(known.as_list(), np.int64)
        dense = placeholder_with_default(given, [known.rank], prefix and f"{prefix}shape")
    else:
        dense = part(int64, [known.rank], "shape")
    sparse = SparseTensor(indices, values, dense)
    sparse._shape = known
    return sparse


@export("compat.v1.ragged.placeholder")
def ragged_placeholder(
    dtype: DTypeLike, ragged_rank: int, value_shape: Any = None, name: str | None = None
) -> Any:
    """Return a ragged tensor whose values and splits are fed, as a `RaggedTensorValue`.

    value_shape: that of one flat value.  With ragged_rank=0 it is a placeholder.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.ragged.placeholder(tf.int32, 1)
    ...     session.run(x * 2, {x: tf.ragged.constant_value([[1, 2], [3]], "int32")}).to_list()
    [[2, 4], [6]]
    """
    _graph("ragged.placeholder")
    inner = as_shape(() if value_shape is None else value_shape)
    if ragged_rank == 0:
        return placeholder(dtype, value_shape, name)
    ragged: Any = placeholder(dtype, [None, *inner], name and f"{name}/flat_values")
    for rank in reversed(range(ragged_rank)):
        splits = placeholder(int64, [None], name and f"{name}/row_splits_{rank}")
        ragged = RaggedTensor._of(ragged, splits)
    return ragged
