"""Fetches of a session: from a nest of fetches to nodes, and from their values back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from talweg.compat_v1.values import IndexedSlicesValue, RaggedTensorValue, SparseTensorValue
from talweg.core.dtypes import integer_view
from talweg.core.errors import type_error, value_error
from talweg.core.value import IndexedSlices
from talweg.eager.composite import SparseTensor
from talweg.eager.graph_variable import GraphVariable, UnreadVariable
from talweg.eager.ragged import RaggedTensor
from talweg.graph import structure
from talweg.graph.graph import Graph
from talweg.graph.node import Node
from talweg.graph.operation import Operation
from talweg.graph.symbol import Symbol

Build = Callable[[list], Any]


class Fetch:
    """The nodes to run, and how their values go back into the structure asked for."""

    __slots__ = ("build", "nodes")

    def __init__(self, nodes: tuple, build: Build):
        self.nodes, self.build = nodes, build


def collect_fetches(graph: Graph, fetches: object) -> Fetch:
    """Return the nodes of a nest of fetches.

    TypeError for what cannot be fetched, ValueError for elements of other graphs and unknown names.
    """
    nodes: list[Node] = []
    build = _part(graph, fetches, nodes)
    return Fetch(tuple(nodes), build)


def _part(graph: Graph, item: Any, nodes: list) -> Build:
    kind = type(item)
    if kind is Symbol or kind is Operation:
        return _element(graph, item, nodes)
    if item is None:
        raise type_error("TW503", "Fetch argument None has invalid type <class 'NoneType'>")
    if isinstance(item, (list, tuple)):
        parts = [_part(graph, child, nodes) for child in item]
        if structure.is_namedtuple(item):
            return lambda values: kind(*[part(values) for part in parts])
        return lambda values: kind([part(values) for part in parts])
    if isinstance(item, Mapping):
        pairs = [(key, _part(graph, child, nodes)) for key, child in item.items()]
        return lambda values: structure.mapping_like(
            item, [(key, part(values)) for key, part in pairs]
        )
    if hasattr(kind, "__attrs_attrs__"):
        fields = [field.name for field in kind.__attrs_attrs__]
        parts = [_part(graph, getattr(item, field), nodes) for field in fields]
        return lambda values: kind(*[part(values) for part in parts])
    return _leaf(graph, item, nodes)


def _leaf(graph: Graph, item: object, nodes: list) -> Build:
    if isinstance(item, (str, bytes)):
        return _element(graph, _look_up_name(graph, item), nodes)
    if isinstance(item, UnreadVariable):
        return _element(graph, item.update, nodes)
    if isinstance(item, GraphVariable):
        return _element(graph, _read(graph, item), nodes)
    if isinstance(item, SparseTensor):
        return _composite(
            graph, SparseTensorValue, [item.indices, item.values, item.dense_shape], nodes
        )
    if isinstance(item, IndexedSlices):
        return _composite(
            graph, IndexedSlicesValue, [item.values, item.indices, item.dense_shape], nodes
        )
    if isinstance(item, RaggedTensor):
        return _composite(graph, RaggedTensorValue, [item.values, item.row_splits], nodes)
    convert = getattr(item, "_as_graph_element", None)
    if convert is not None:
        return _part(graph, convert(), nodes)
    raise type_error(
        "TW503",
        f"Fetch argument {item!r} has invalid type {type(item)}, must be a string or Tensor.",
        "a tensor, an operation, a variable, a name, or a nest of these",
    )


def _look_up_name(graph: Graph, name: object) -> Any:
    try:
        return graph.as_graph_element(name)
    except KeyError as error:
        text = f"Fetch argument {name!r} cannot be interpreted as a Tensor. ({error.args[0]})"
        raise value_error("TW503", text) from None


def _read(graph: Graph, variable: GraphVariable) -> Symbol:
    """Return a variable's value at the end of the run."""
    if variable.table is not graph.table:
        raise value_error(
            "TW503",
            f"Fetch argument {variable!r} is not an element of this graph.",
            "a variable of the session's graph",
        )
    return graph.reading(variable)


def _element(graph: Graph, element: Any, nodes: list) -> Build:
    if element.node.table is not graph.table:
        try:
            graph.own(element)
        except ValueError as error:
            text = f"Fetch argument {element!r} cannot be interpreted as a Tensor. ({error})"
            raise value_error("TW503", text) from None
    if len(graph._unfetchable) and not graph.is_fetchable(element):
        raise value_error("TW503", f"Operation {element!r} has been marked as not fetchable.")
    place = len(nodes)
    nodes.append(element.node)
    if type(element) is Operation:
        return _nothing
    return lambda values: values[place]


def _nothing(values: list) -> None:
    return None


def _composite(graph: Graph, kind: Any, parts: list, nodes: list) -> Build:
    builds = [_nothing if part is None else _part(graph, part, nodes) for part in parts]
    return lambda values: kind(*[build(values) for build in builds])


def result_of(value: Any) -> Any:
    """Return a result as the user gets it: an array of its own, a NumPy scalar for rank 0."""
    if isinstance(value, (np.ndarray, np.void)):
        value = integer_view(value)
        return np.array(value) if value.ndim else value[()]
    return value
