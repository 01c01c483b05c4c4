"""Operation: a node as `graph.get_operations()` shows it."""

from __future__ import annotations

from typing import Any

from talweg.core.value import OPERATIONS
from talweg.graph.node import Node
from talweg.graph.symbol import Symbol


class Operation:
    """One operation of a graph (`tf.Operation`); two views of one node are equal."""

    __slots__ = ("__weakref__", "graph", "node")

    def __init__(self, node: Node, graph: Any):
        self.node, self.graph = node, graph
        node.holders += 1

    def __del__(self) -> None:
        self.node.table.release(self.node)

    @property
    def _inner(self) -> Node:
        """The node itself, without what only makes it wait."""
        return self.node.inputs[0] if self.node.prim.name == "after" else self.node

    @property
    def control_node(self) -> Node:
        """What to wait for."""
        return self.node

    @property
    def name(self) -> str:
        """The name, given now if it had none."""
        return self.graph.operation_name(self.node)

    @property
    def type(self) -> str:
        """The type of operation, as TensorFlow calls it."""
        return OPERATIONS["operation_type"](self._inner)

    @property
    def inputs(self) -> tuple:
        """The tensors it takes."""
        return tuple([self.graph.symbol(node) for node in self._inner.operands])

    @property
    def control_inputs(self) -> list:
        """The operations it waits for."""
        own = self.node.inputs[1:] if self.node.prim.name == "after" else ()
        tied = self.node.table.controls.get(self.node, ())
        if self.node.prim.name in ("group", "read_variable"):
            own = self.node.inputs
        return [self.graph.operation_of(node) for node in (*own, *tied)]

    @property
    def outputs(self) -> list:
        """Its results."""
        if self.node.prim.name in ("group",):
            return []
        if self.node.prim.multiple:
            return OPERATIONS["results_of"](self.node, self.graph)
        return [self.graph.symbol(self.node)]

    @property
    def values(self) -> Any:
        """A function that gives the results as a tuple."""
        return lambda: tuple(self.outputs)

    @property
    def device(self) -> str:
        """The device asked for; '' if none was."""
        return self.graph.extras.get("devices", {}).get(self.node, "")

    @property
    def node_def(self) -> Any:
        """The operation as a NodeDef message."""
        return OPERATIONS["node_def"](self.node, self.graph)

    def get_attr(self, name: str) -> Any:
        """An attribute, as TensorFlow calls it; ValueError if there is none of the name."""
        return OPERATIONS["operation_attribute"](self._inner, name)

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run it in `session` or the default session."""
        OPERATIONS["evaluate_in_session"](self, feed_dict, session)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Operation) and self.node is other.node

    def __hash__(self) -> int:
        return hash(self.node)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


def operation_of(graph: Any, node: Node) -> Operation:
    """The operation that makes a node's result."""
    return Operation(node.inputs[0] if node.prim.name == "item" else node, graph)


def consumers_of(graph: Any, node: Node) -> list[Operation]:
    """The live operations that take a node's result."""
    found = []
    for other in graph.table.nodes.values():
        if node in other.operands and other.prim.name != "item":
            found.append(Operation(other, graph))
    return found


def symbol_of(value: Any) -> Any:
    """The first tensor of an operation, or the tensor itself."""
    return value if type(value) is Symbol else value.outputs[0]
