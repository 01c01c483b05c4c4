"""Feeds of a session: values for placeholders and other tensors, checked and converted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.compat_v1.values import RaggedTensorValue
from talweg.core.dims import Dim
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.provenance import describe
from talweg.core.roles import Role
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.composite import SparseTensor
from talweg.eager.convert import to_array
from talweg.eager.graph_variable import GraphVariable
from talweg.eager.ragged import RaggedTensor
from talweg.graph.graph import Graph
from talweg.graph.node import READ, Node
from talweg.graph.symbol import Symbol

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


_OBJECT = np.dtype(object)


def feeds(graph: Graph, feed_dict: object) -> tuple[tuple, list]:
    """Convert `feed_dict` to the nodes fed, and their values as arrays.

    TypeError for keys and values that cannot be fed, ValueError for values that do not fit.
    """
    if not isinstance(feed_dict, Mapping):
        raise type_error(
            "TW504", f"feed_dict is of type {type(feed_dict)}", "a dictionary: {tensor: value}"
        )
    nodes: list[Node] = []
    arrays: list = []
    plain = None if len(graph._unfeedable) else graph.table
    for key, value in feed_dict.items():
        if type(key) is Symbol and key.node.table is plain:
            if key.node in plain.shared:
                check_alone(key)
            nodes.append(key.node)
            arrays.append(convert_fed(key, value))
            continue
        for part, given in expand_feeds(graph, key, value):
            if part.node in graph.table.shared:
                check_alone(part)
            nodes.append(part.node)
            arrays.append(convert_fed(part, given))
    return tuple(nodes), arrays


def check_alone(symbol: Symbol) -> None:
    """Raise ValueError if a tensor to be fed stands for several operations of the program.

    Equal operations are one node, and nobody knows any more who uses which of them.
    """
    if symbol.node.prim.effect == READ:  # a variable is fed wherever it is read
        return
    if (
        symbol.node.prim.role is Role.PROJECTION
        and symbol.node.inputs[0] not in symbol.node.table.shared
    ):
        return  # a result of one operation, of which somebody asked for its results again
    raise value_error(
        "TW504",
        f"Tensor {symbol.name} cannot be fed: the program makes it more than once, and equal "
        f"operations are one in a graph (first made at {describe(symbol.node.origin)})",
        "a tensor that is made once",
        "tf.placeholder_with_default(x, shape) in the place that is to be fed",
    )


def expand_feeds(graph: Graph, key: object, value: Any) -> list:
    """Expand a key of `feed_dict` to the tensors it stands for, with their values."""
    if type(key) is Symbol and key.node.table is graph.table:
        if len(graph._unfeedable) and not graph.is_feedable(key):
            raise value_error("TW504", f"Tensor {key!r} may not be fed.")
        return [(key, value)]
    if isinstance(key, (tuple, list)):
        return [pair for k, v in zip(key, value) for pair in expand_feeds(graph, k, v)]
    if isinstance(key, SparseTensor):
        pairs = zip([key.indices, key.values, key.dense_shape], _sparse_parts(key, value))
        return [pair for k, v in pairs for pair in expand_feeds(graph, k, v)]
    if isinstance(key, IndexedSlices):
        given = (
            [value.values, value.indices, value.dense_shape]
            if hasattr(value, "indices")
            else list(value)
        )
        pairs = zip([key.values, key.indices, key.dense_shape], given)
        return [pair for k, v in pairs if k is not None for pair in expand_feeds(graph, k, v)]
    if isinstance(key, RaggedTensor):
        return _split_ragged_feed(graph, key, value)
    return expand_feeds(graph, _element(graph, key), value)


def _sparse_parts(key: SparseTensor, value: Any) -> list:
    if hasattr(value, "indices"):
        return [value.indices, value.values, value.dense_shape]
    return list(value)


def _split_ragged_feed(graph: Graph, key: Any, value: TensorLike) -> list:
    if not isinstance(value, (RaggedTensorValue, RaggedTensor)):
        raise type_error("TW504", f"feed for {key!r}: {value!r}", "a RaggedTensorValue")
    pairs = [(key.values, value.values), (key.row_splits, value.row_splits)]
    return [pair for k, v in pairs for pair in expand_feeds(graph, k, v)]


def _element(graph: Graph, key: object) -> Symbol:
    """Return the tensor a key of `feed_dict` names or is."""
    try:
        return graph.as_graph_element(key, allow_operation=False)
    except (KeyError, ValueError, TypeError) as error:
        text = f"Cannot interpret feed_dict key as Tensor: {error.args[0]}"
        raise type_error("TW504", text, "a tensor of the session's graph, or its name") from None


def convert_fed(symbol: Symbol, value: object) -> Any:
    """Return a fed value as an array of the tensor's dtype and shape."""
    aval = symbol.node.aval
    kind = aval.dtype.numpy_dtype
    if type(value) is np.ndarray and value.dtype is kind and kind is not _OBJECT:
        array = value
    else:
        array = _convert(symbol, value)
    dims = aval.dims
    if dims is not None:
        _check_shape(symbol, dims, array.shape)
    return array


def _check_shape(symbol: Symbol, dims: tuple, shape: tuple) -> None:
    if len(shape) == len(dims) and all(type(d) is Dim or d == n for d, n in zip(dims, shape)):
        return
    raise value_error(
        "TW504",
        f"Cannot feed value of shape {shape} for Tensor {symbol.name}, which has shape "
        f"{symbol.shape} (made at {describe(symbol.node.origin)})",
    )


def _convert(symbol: Symbol, value: Any) -> Any:
    dtype = symbol.dtype
    if isinstance(value, (Tensor, GraphVariable)):
        raise type_error(
            "TW504",
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            "Python scalars, strings, lists and numpy ndarrays.",
            hint="its value: session.run(tensor), or tensor.numpy()",
        )
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if whole and dtype.is_integer and not dtype.min <= int(value) <= dtype.max:
        raise type_error(
            "TW504",
            f"Type of feed value {value} with type {type(value)} is not compatible with Tensor "
            f"type {dtype.name}. Try explicitly setting the type of the feed tensor to a larger "
            "type (e.g. int64).",
        )
    try:
        if dtype.name == "string":
            return np.asarray(to_array(np.asarray(value, object), dtype))
        return np.asarray(value, dtype=dtype.numpy_dtype)
    except (TypeError, ValueError) as error:
        raise value_error(
            "TW504",
            f"Cannot feed {value!r} for Tensor {symbol.name} of dtype {dtype.name}: {error}",
        ) from None


def missing_feed_error(node: Node, graph: Graph) -> Exception:
    """Return the error of a run that needs a placeholder for which nothing was given."""
    name = graph.operation_name(node)
    return invalid(
        "TW504",
        f"You must feed a value for placeholder tensor '{name}' with dtype "
        f"{node.aval.dtype.name} and shape {node.aval.shape} (made at {describe(node.origin)})",
        hint=f"session.run(..., feed_dict={{{name}: value}})",
    )
