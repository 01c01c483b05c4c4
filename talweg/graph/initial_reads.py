"""Reads of variables in the first value of another one, so that any order initializes them."""

from __future__ import annotations

from typing import Any

from talweg.core.roles import Role
from talweg.graph.node import Node
from talweg.graph.walk import postorder


def guard_reads(graph: Any, tensor: Any, kind: type) -> Any:
    """Return `tensor` with every reading of a variable replaced by one that its first value stands
    in for.

    kind: the class of variables that have first values.  Readings that wait for something, and what
    has effects, are left as they are.
    """
    order: dict[Node, None] = {}
    postorder([tensor.node], order, lambda node: node.inputs)
    if not any(node.prim.role is Role.READ for node in order):
        return tensor
    found: dict[Node, Any] = {}  # tensors, since what nobody holds leaves the graph
    for node in order:
        found[node] = _guard_node(graph, node, found, kind)
    return found[tensor.node]


def _guard_node(graph: Any, node: Node, found: dict[Node, Any], kind: type) -> Any:
    if node.prim.role is Role.READ and not node.inputs:
        owner = node.params["variable"].owner()
        return owner.initialized_value() if isinstance(owner, kind) else graph.symbol(node)
    if node.serial is not None or all(found[source].node is source for source in node.inputs):
        return graph.symbol(node)
    operands = tuple([found[source].node for source in node.operands])
    return graph.symbol(graph.table.intern(node.prim, node.key[1], operands, node.aval))
