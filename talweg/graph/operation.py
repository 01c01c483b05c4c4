"""Operation: a node as `graph.get_operations()` shows it."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from talweg.core.errors import type_error
from talweg.core.hooks import hooks
from talweg.core.provenance import line_of
from talweg.core.roles import Role
from talweg.graph.names import HIDDEN, type_of
from talweg.graph.node import Node

_WITHOUT_RESULT = frozenset((Role.GROUP, Role.ACT))
_WAITING = frozenset((Role.GROUP, Role.READ, Role.INITIALIZED))  # their inputs are controls


class Operation:
    """One operation of a graph (`tf.Operation`).

    There is at most one handle for a node at a time, so handles can be compared by identity.
    """

    __slots__ = ("__dict__", "__weakref__", "graph", "node")  # libraries set attributes of theirs

    def __init__(self, node: Node, graph: Any):
        self.node, self.graph = node, graph
        node.holders += 1

    def __del__(self) -> None:
        self.node.table.release(self.node)

    @property
    def _inner(self) -> Node:
        """The node itself, without the node that makes it wait."""
        return self.node.inputs[0] if self.node.prim.role is Role.ORDER else self.node

    @property
    def control_node(self) -> Node:
        """The node that dependents wait for."""
        return self.node

    @property
    def name(self) -> str:
        """The name, generated on demand."""
        return self.graph.operation_name(self.node)

    @property
    def type(self) -> str:
        """The type of operation, as TensorFlow calls it."""
        return type_of(self.node)

    @property
    def op_def(self) -> OpDef:
        """The definition of the operation's type, of which only the name is known."""
        return OpDef(self.type)

    @property
    def inputs(self) -> tuple:
        """The operand tensors; of a ConcatV2 also the axis, which programs look for at the end."""
        inner = self._inner
        if inner.prim.role in _WAITING:
            return ()
        nodes = inner.operands
        if "axis" in inner.params and self.type == "ConcatV2":
            axis = np.int32(inner.params["axis"])
            nodes = (*nodes, self.graph.constant_node(axis))
        return tuple([self.graph.symbol(node) for node in nodes])

    @property
    def control_inputs(self) -> list:
        """The operations it waits for."""
        node = self.node
        waiting = node.inputs[1:] if node.prim.role is Role.ORDER else ()
        if node.prim.role in _WAITING:
            waiting = node.inputs
        tied = node.table.controls.get(node, ())
        found = [self.graph.operation_of(source) for source in (*waiting, *tied)]
        return list(dict.fromkeys(found))

    @property
    def _control_outputs(self) -> list:
        """The operations that wait for it (private in TensorFlow; Keras 2 follows them)."""
        return [other for other in self.graph.get_operations() if self in other.control_inputs]

    @property
    def outputs(self) -> list:
        """The result tensors."""
        node, graph = self.node, self.graph
        if node.prim.role in _WITHOUT_RESULT:
            return []
        if node.prim.multiple:
            return graph.results_of(node)
        return [graph.symbol(node)]

    def values(self) -> tuple:
        """Return the result tensors."""
        return tuple(self.outputs)

    @property
    def device(self) -> str:
        """The device that was requested, '' if none was."""
        return self.graph.device_of(self.node)

    @property
    def node_def(self) -> Any:
        """The operation as a NodeDef message."""
        return hooks.node_def(self.node, self.graph)

    @property
    def traceback(self) -> list:
        """The user's line that made the operation, as (file, line, function)."""
        origin = self.node.origin
        return [] if origin is None else [place_of(origin)]

    def get_attr(self, name: str) -> Any:
        """Return an attribute by TensorFlow's name; ValueError if there is none."""
        return hooks.operation_attribute(self._inner, name)

    def colocation_groups(self) -> list:
        """Return the groups of operations that must share a device: this one alone."""
        return [f"loc:@{self.name}".encode()]

    def run(self, feed_dict: object = None, session: object = None) -> None:
        """Run the operation in `session` or the default session."""
        hooks.evaluate_in_session(self, feed_dict, session)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"

    def __str__(self) -> str:
        lines = [f'name: "{self.name}"', f'op: "{self.type}"']
        lines += [f'input: "{tensor.name}"' for tensor in self.inputs]
        lines += [f'input: "^{control.name}"' for control in self.control_inputs]
        return "\n".join(lines) + "\n"

    def __reduce__(self) -> Any:
        raise type_error("TW104", f"{self!r} belongs to a graph and cannot be pickled")


class OpDef:
    """The definition of a type of operation, as TensorFlow's `OpDef`."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f'name: "{self.name}"'


class OperationTable:
    """The part of `Graph` that lists operations."""

    table: Any

    def start_operations(self) -> None:
        """Initialize an empty table of operations."""
        self._operations: Any = weakref.WeakValueDictionary()  # node -> its handle

    def operation_of(self, node: Node) -> Operation:
        """Return the operation that makes a node's result."""
        if node.prim.role is Role.PROJECTION:
            node = node.inputs[0]
        found = self._operations.get(node)
        if found is None:
            found = self._operations[node] = Operation(node, self)
        return found

    def consumers_of(self, node: Node) -> list[Operation]:
        """Return the live operations that take a node's result."""
        found = []
        for other in self._list_shown():
            inner = other.inputs[0] if other.prim.role is Role.ORDER else other
            if node in inner.operands and inner.prim.role not in _WAITING:
                found.append(self.operation_of(other))
        return found

    def get_operations(self) -> list[Operation]:
        """Return the live operations, in the order in which they were made."""
        return [self.operation_of(node) for node in self._list_shown()]

    def _list_shown(self) -> list[Node]:
        """Return the nodes that users see as operations, without those that only wait."""
        nodes = list(self.table.nodes.values())
        hidden = {node.inputs[0] for node in nodes if node.prim.role is Role.ORDER}
        return [node for node in nodes if node not in hidden and node.prim.role not in HIDDEN]


def place_of(origin: Any) -> tuple:
    """Return (file, line, function) of a provenance record."""
    return origin[0].co_filename, line_of(origin), origin[0].co_name
