"""The graphs of a program while it runs: kept, so that they can be drawn when it has ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from talweg.command.drawing import eager, model
from talweg.command.drawing.model import Picture
from talweg.core import dispatch
from talweg.core.observer import Observer
from talweg.core.provenance import Derived, user_origin

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive
    from talweg.graph.node import Node

MANY = 400  # operations that ran at once, and are drawn
TRACES = 40  # traces that are drawn


class Keeper(Observer):
    """Keeps traces, graphs with what sessions ran of them, and the first eager operations."""

    def __init__(self) -> None:
        self.traces: list[Any] = []
        self.graphs: dict[Any, dict] = {}  # graph -> handles of the nodes that sessions ran
        self.applied_first: list[tuple] = []
        self.variables: dict[int, str] = {}
        self.kept: list[Any] = []  # tensors whose identities stand for variables

    def function_traced(self, function: object, concrete: object, reason: str | None) -> None:
        """Keep a trace."""
        self.traces.append(concrete)

    def node_asked(self, node: Node, merged: bool) -> None:
        """Keep the graph of a node, if it is no function's."""
        graph = node.table.owner()
        if graph is not None and not graph.building_function and graph not in self.graphs:
            self.graphs[graph] = {}

    def session_ran(self, session: Any, program: Any, fed: list, fetched: list) -> None:
        """Keep the program that a session ran."""
        handles = self.graphs.setdefault(session.graph, {})
        for step in program.steps if program is not None else ():
            if step.node not in handles:
                handles[step.node] = session.graph.operation_of(step.node)

    def variable_read(self, variable: Any) -> None:
        """Remember whose value a tensor is."""
        tensor = getattr(variable, "_tensor", None)
        if tensor is not None and id(tensor) not in self.variables:
            self.variables[id(tensor)] = variable.name.split(":")[0]
            self.kept.append(tensor)

    def applied(self, prim: Primitive, operands: tuple, results: object, params: dict) -> None:
        """Keep an operation that ran at once."""
        if len(self.applied_first) < MANY:
            origin: Any = user_origin(3)
            deriving = dispatch.context.deriving
            if deriving is not None and origin is not None:
                origin = Derived(origin, deriving[0], deriving[4])
            self.applied_first.append((prim, operands, results, params, origin))

    def pictures(self) -> list[Picture]:
        """Draw the kept programs: functions and graphs, or else the operations that ran at once."""
        found = [model.of_function(concrete) for concrete in self.traces[:TRACES]]
        for number, graph in enumerate(self.graphs):
            title = "the graph" if len(self.graphs) == 1 else f"graph {number + 1}"
            picture = model.of_graph(graph, title)
            if picture.items:
                found.append(picture)
        if self.applied_first and not found:
            title = "operations that ran at once"
            if len(self.applied_first) == MANY:
                title += f", the first {MANY}"
            found.append(eager.of_applications(self.applied_first, self.variables, title))
        return found


def listing(picture: Picture) -> str:
    """Return a picture as lines of text."""
    lines = [picture.title]
    depth = {picture.root: 0}
    stack: list[Any] = list(reversed(picture.root.members))
    while stack:
        member = stack.pop()
        level = depth[member.parent] + 1
        if isinstance(member, model.Group):
            depth[member] = level
            lines.append(f"{'  ' * level}{member.title}/")
            stack += reversed(member.members)
        else:
            location = member.line.partition(": ")[0]
            lines.append(
                f"{'  ' * level}{member.label}  {member.shape}  {shorter(location)}".rstrip()
            )
    return "\n".join(lines)


def shorter(place: str) -> str:
    """Return a place without the folders of its file."""
    head, _, rest = place.partition(":")
    return f"{Path(head).name}:{rest}" if rest else place


def as_data(picture: Picture) -> dict:
    """Return a picture for programs that read JSON."""
    number = {item: i for i, item in enumerate(picture.items)}
    return {
        "title": picture.title,
        "items": [
            {
                "label": item.label,
                "kind": item.kind,
                "name": item.name,
                "shape": item.shape,
                "line": item.line,
                "result": item.is_result,
                "groups": [group.title for group in item.parent.above()[1:]] if item.parent else [],
            }
            for item in picture.items
        ],
        "edges": [[number[a], number[b], text] for (a, b), text in picture.edges.items()],
        "left_out": picture.left_out,
    }
