"""Body: a closed piece of graph with inputs and outputs; what branches and loops have as parameters.

Two bodies that do the same are equal, so that equal branches and loops are one node.
"""

from __future__ import annotations

from typing import Any

from talweg.core.dims import Dim
from talweg.graph.node import GRAPH, READ, Node
from talweg.graph.walk import schedule


class Body:
    """Nodes from `inputs` to `outputs`; `effects` are run even where no output needs them."""

    __slots__ = ("__weakref__", "digest", "effects", "inputs", "key", "name", "nodes", "outputs", "programs",
                 "table")  # fmt: skip

    def __init__(self, name: str, inputs: tuple, outputs: tuple, effects: tuple = ()):
        self.name, self.inputs, self.outputs, self.effects = name, inputs, outputs, effects
        self.nodes: list[Node] = schedule((*effects, *inputs, *outputs))
        self.programs: dict[tuple, Any] = {}  # by what is kept of the inside
        self.table = self.nodes[0].table if self.nodes else None  # keeps the table alive
        self.key = self._structure()
        self.digest = hash(self.key)

    @property
    def has_effects(self) -> bool:
        """Whether running it changes anything, or depends on the order of running."""
        own = set(self.inputs)
        return any(node.serial is not None and node not in own for node in self.nodes)

    def requested(self) -> tuple:
        """The inner nodes that somebody outside asks for."""
        if self.table is None:
            return ()
        asked = set(self.table.requested.values())
        return tuple([node for node in self.nodes if node in asked])

    def _structure(self) -> tuple:
        number = {node: position for position, node in enumerate(self.nodes)}
        inputs = {node: position for position, node in enumerate(self.inputs)}
        rows = []
        for node in self.nodes:
            if node in inputs:
                rows.append((inputs[node], _plain(node.aval)))
            elif node.prim.effect not in (None, GRAPH, READ):
                rows.append(node)
            else:
                sources = tuple([number[source] for source in node.inputs])
                rows.append((node.prim, _params(node), sources))
        return (*rows, tuple([number[node] for node in self.outputs]))

    def __eq__(self, other: Any) -> bool:
        return self is other or (isinstance(other, Body) and self.key == other.key)

    def __hash__(self) -> int:
        return self.digest

    def __repr__(self) -> str:
        return f"<body {self.name}: {len(self.nodes)} nodes>"


def _plain(aval: Any) -> tuple:
    dims = aval.dims
    if dims is not None:
        dims = tuple([None if type(size) is Dim else size for size in dims])
    return dims, aval.dtype


def _params(node: Node) -> Any:
    """Parameters as they compare between bodies; sizes belong to one body, so they keep it apart."""
    return node.key[1]
