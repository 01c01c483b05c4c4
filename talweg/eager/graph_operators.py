"""Python's operators on tensors of a graph: the short way to a node.

Where both operands are in the graph (or one is a Python number), have one dtype, and nothing
watches or orders, the node is looked up or made right here.  All else takes the general way.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.hooks import hooks
from talweg.core.provenance import is_inner
from talweg.core.tracebacks import pass_out
from talweg.core.value import with_reflection
from talweg.eager import operators
from talweg.graph.node import Node
from talweg.graph.symbol import Symbol
from talweg.prims import arithmetic

if TYPE_CHECKING:
    import numpy as np

    from talweg.core.primitive import Primitive
    from talweg.graph.function_graph import FunctionGraph
    from talweg.graph.node import NodeTable

context, state = dispatch.context, dispatch.state
GENERAL = operators  # imported for the general way of every operator
_new_node = Node.__new__
_frame = sys._getframe


def partner(graph: Any, own: Node, other: Any) -> Node | None:
    """Return the node of the other operand; None where the general way is needed."""
    if (
        context.recorders
        or graph.controls
        or graph.closed
        or graph.scope
        or graph.derivatives
        or graph.device_scopes
        or context.base is not graph
    ):
        return None
    kind = type(other)
    if kind is Symbol:
        node = other.node
        same = node.table is own.table and node.aval.dtype is own.aval.dtype
        return node if same else None
    if (kind is float or kind is int) and other:
        node = graph.numbers.get((other, kind, own.aval.dtype.name))
        return node if node is not None and node.holders > 0 else None
    return None


def _builder(prim: Any) -> Any:
    """Return the function that looks up or makes the node of `prim` for two nodes."""
    accepted = frozenset([dtype.name for dtype in prim.accepts])

    def result(table: NodeTable, x: Any, y: Any) -> Any:
        """Return the abstract value of the result for operands of one dtype; None for others."""
        if (x is y or y.dims == ()) and x.dtype.name in accepted:
            return x
        remembered = table.inferred.get((prim, (), id(x), id(y)))
        return None if remembered is None else remembered[0]

    def build(graph: FunctionGraph, a: Node, b: Node) -> Symbol | None:
        """Return the node of two operands; None where the general way is needed."""
        table = graph.table
        key = (prim, (), a, b)
        node = table.nodes.get(key)
        if node is None:
            aval = result(table, a.aval, b.aval)
            if aval is None or graph.frozen:
                return None
            frame = _frame(2)
            if is_inner(frame.f_code.co_filename):
                return None
            node = _new_node(Node)
            node.key, node.aval, node.table = key, aval, table
            node.holders, node.serial, node.handle, node.scope = 0, None, None, ""
            origin = (frame.f_code, frame.f_lasti)
            node.origin = table.origins.setdefault(origin, origin)
            a.holders += 1
            b.holders += 1
            table.nodes[key] = node
            table.built += 1
            if state.observer is not None:
                state.observer.node_asked(node, False)
            return Symbol(node, graph)
        table.merged += 1
        table.asked[node] = table.asked.get(node, 1) + 1
        table.shared[node] = None
        if state.observer is not None:
            state.observer.node_asked(node, True)
        handle = node.handle
        symbol = handle() if handle is not None else None
        return Symbol(node, graph) if symbol is None else symbol

    return build


def _fast(stem: str, operation: str, prim: Primitive) -> tuple[Any, Any]:
    """Return the operator and its reflection for `prim`; the hook is the general way."""
    general = with_reflection(operation, stem)
    build = _builder(prim)

    def operate(self: Symbol, other: object) -> Any:
        try:
            own, graph = self.node, self.graph
            node = partner(graph, own, other)
            if node is not None:
                result = build(graph, own, node)
                if result is not None:
                    return result
            return general(self, other)
        except Exception as error:
            pass_out(error)
            raise

    def apply_reflected(self: Symbol, other: float | np.ndarray) -> Any:
        try:
            own, graph = self.node, self.graph
            node = partner(graph, own, other)
            if node is not None:
                result = build(graph, node, own)
                if result is not None:
                    return result
            return getattr(hooks, operation)(other, self)
        except Exception as error:
            pass_out(error)
            raise

    return operate, apply_reflected


def install() -> None:
    """Give symbols their operators."""
    table = [
        ("add", "add", "add"),
        ("sub", "subtract", "sub"),
        ("mul", "multiply", "mul"),
        ("truediv", "truediv", "div"),
        ("pow", "pow", "pow_"),
    ]
    for stem, operation, name in table:
        forward, reflected = _fast(stem, operation, getattr(arithmetic, name))
        setattr(Symbol, f"__{stem}__", forward)
        setattr(Symbol, f"__r{stem}__", reflected)


install()
