"""tf.compat.v1: the default graph, placeholders, initializers of all variables."""

from __future__ import annotations

import threading
from typing import Any

from talweg.api.export import export, operation
from talweg.core import dispatch
from talweg.core.dtypes import as_dtype
from talweg.core.shapes import as_shape
from talweg.eager import graph_variable
from talweg.graph.graph import GLOBAL_VARIABLES, Graph
from talweg.prims.state import group
from talweg.trace import control_rules, whole

export("Graph")(Graph)
IN_FORCE = (graph_variable, whole, control_rules)  # imported for what they register


class _Fallback(threading.local):
    """The graph in force where none was entered."""

    graph: Any = None


_fallback = _Fallback()


@operation("default_graph")
@export("compat.v1.get_default_graph")
def default_graph() -> Any:
    """The graph operations go to: the one entered last, or one made on first use."""
    base = dispatch.context.base
    while base is not None and base.building_function:
        base = base.outer
    if base is not None:
        return base
    if _fallback.graph is None:
        _fallback.graph = Graph()
    return _fallback.graph


@export("compat.v1.placeholder")
def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Any:
    """A tensor whose value is fed; RuntimeError outside a graph.

    shape: None if the rank is unknown; dimensions may be None.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.placeholder(tf.float32, [None, 3]).shape.as_list()
    [None, 3]
    """
    graph = dispatch.context.base
    if graph is None:
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.  [TW501]")
    shape = as_shape(shape)
    dims = None if shape.rank is None else shape.as_tuple()
    symbol = graph.placeholder(dims, as_dtype(dtype))
    if name is not None:
        graph.label(symbol.node, name)
    return symbol


@export("compat.v1.global_variables_initializer")
def global_variables_initializer() -> Any:
    """An operation that gives all global variables their first values.

    Asked for again with the same variables it is the same operation.
    """
    graph = default_graph()
    variables = graph.collections.get(GLOBAL_VARIABLES, [])
    with graph.as_default():
        return group(*[graph.symbol(v._initializer) for v in variables]).op
