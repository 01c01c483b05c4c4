"""Scopes of an import: the values of regions, and the names of the nodes it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core.errors import value_error
from talweg.core.roles import Role
from talweg.graph.operation import Operation
from talweg.graph.symbol import Symbol
from talweg.interop.graph_def.reading import NodeRecord, Reference
from talweg.interop.graph_def.values import ResourceEdge, pass_on
from talweg.prims.bundle import bundle

if TYPE_CHECKING:
    from talweg.graph.graph import Graph
    from talweg.graph.node import Node


class ImportScope:
    """The values of a region, and of those around it."""

    def __init__(self, outer: ImportScope | None = None):
        self.outer = outer
        self.values: dict[Reference, Any] = {}
        self.done: dict[str, Any] = {}  # name of a node -> what to wait for

    def is_built(self, name: str) -> bool:
        """Return whether a node is built."""
        scope: ImportScope | None = self
        while scope is not None:
            if name in scope.done:
                return True
            scope = scope.outer
        return False

    def value(self, reference: Reference) -> Any:
        """Return the value of a tensor."""
        scope: ImportScope | None = self
        while scope is not None:
            if reference in scope.values:
                return scope.values[reference]
            scope = scope.outer
        raise KeyError(reference)

    def control(self, name: str) -> Any:
        """Return the control edge of a node; None if there is none."""
        scope: ImportScope | None = self
        while scope is not None:
            if name in scope.done:
                return scope.done[name]
            scope = scope.outer
        return None

    def set(self, name: str, outputs: list, control: Operation | Symbol | None) -> None:
        """Set the outputs and the control edge of a node."""
        self.done[name] = control
        for number, value in enumerate(outputs):
            self.values[name, number] = value


class Namer:
    """Gives the nodes of the graph that is imported into their names."""

    def __init__(self, graph: Graph, prefix: str):
        self.graph, self.prefix = graph, prefix

    def check(self, names: dict[Any, Any]) -> None:
        """Raise ValueError if a name is taken."""
        if self.prefix:
            return  # a scope that was just made
        for name in names:
            if self.graph.has_name(name):
                raise value_error("TW506", f"Node name '{name}' already exists in the Graph")

    def name(self, item: NodeRecord, outputs: list, inputs: list, control: Any) -> list:
        """Name a node's outputs; they become results of an operation of that name."""
        full = f"{self.prefix}{item.name}"
        if not outputs or not all(type(x) is Symbol for x in outputs):
            variables = [x for x in outputs if isinstance(x, ResourceEdge) and not x.is_table]
            first = next(iter(variables), None)
            if isinstance(control, (Symbol, Operation)):
                self._label(control.node, full)
            elif first is not None:
                self._label(first.read().node, full)
            return outputs
        outputs = [pass_on(x) if any(x is y for y in inputs) else x for x in outputs]
        nodes = [x.node for x in outputs]
        if len(nodes) == 1 and nodes[0].prim.role is not Role.PROJECTION:
            self._label(nodes[0], full)
        elif len(nodes) == 1:
            outputs = [pass_on(outputs[0])]
            self._label(outputs[0].node, full)
        else:
            sources = {id(node.inputs[0]) for node in nodes if node.prim.role is Role.PROJECTION}
            places = [node.params.get("index") for node in nodes]
            shown = outputs
            if len(sources) != 1 or places != list(range(len(nodes))):
                shown = bundle(*outputs)  # has the name; what follows knows more of the parts
            self._label(shown[0].node.inputs[0], full)
        if item.message.device:
            self.graph.place(outputs[0].node, item.message.device)
        return outputs

    def _label(self, node: Node, full: str) -> None:
        self.graph.add_name(node, full)
