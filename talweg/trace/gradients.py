"""Gradients of tensors of a graph: the reverse sweep over the nodes between them.

Nothing here is remembered from one call to the next: the same gradient asked twice finds its nodes
in the graph, because equal nodes are one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.dtypes import variant
from talweg.core.roles import Role
from talweg.graph.handle import Handle
from talweg.graph.node import Node
from talweg.graph.subgraph import items_of
from talweg.graph.symbol import Symbol
from talweg.graph.walk import postorder
from talweg.prims.arithmetic import identity, zeros_of
from talweg.prims.layout import broadcast_to
from talweg.transform.absent import Evidence, Notes, Scene, Source
from talweg.transform.reverse import pullback
from talweg.transform.rules import accumulate

if TYPE_CHECKING:
    from talweg.trace.bodies import BodyGraph


class GraphSweep:
    """The sweep of the operations between some targets and sources.

    `sources` are tensors of the graph, handles of variables, or None for what no target can depend
    on.  Nothing flows on from a tensor of `stops`; such a tensor may be a source.
    """

    def __init__(self, graph: Any, targets: list[Symbol], sources: list, stops: list[Symbol]):
        self.graph, self.targets = graph, targets
        stopped = {symbol.node for symbol in stops}
        order: dict[Node, None] = {}
        links = self._visit(graph, [target.node for target in targets], order, stopped)
        outside = [x for x in sources if type(x) is Symbol and x.node.table is not graph.table]
        outer: dict[Node, None] = {}
        captures: dict[Node, Node] = {}  # inner nodes -> the outer ones they stand for
        while links and outside:
            captures.update(links)
            nodes: dict[Any, list] = {}
            for node in links.values():
                nodes.setdefault(node.table, []).append(node)
            links = {}
            for table, table_nodes in nodes.items():
                visited: dict[Node, None] = {}
                links.update(self._visit(table.owner(), table_nodes, visited, stopped))
                outer = {**visited, **outer}
        order = {**outer, **order}
        groups = [self._nodes_of(source, order) for source in sources]
        self._kept: dict[Node, Symbol] = {}
        reached = {node for nodes in groups for node in nodes}
        self.records = []
        for node in order:
            if node in stopped:
                continue
            own_operands = (captures[node],) if node in captures else node.operands
            if reached.isdisjoint(own_operands):
                continue
            reached.add(node)
            if node in captures:
                operands = (self._symbol(captures[node]),)
                record = identity, operands, self._symbol(node), {}, node.origin
                self.records.append(record)
            elif node.prim.role is not Role.PROJECTION:
                self.records.append(self._record(node, own_operands))
        self.parts = [[self._symbol(node) for node in nodes] for nodes in groups]

    @staticmethod
    def _visit(graph: Any, targets: list, order: dict, stopped: set) -> dict[Node, Node]:
        """Add the targets' ancestors to `order`, with captures of outer graphs."""
        operands = _operands if graph.table.extra else _inputs
        before = (lambda node: () if node in stopped else operands(node)) if stopped else operands
        postorder(targets, order, before)
        captured = getattr(graph, "captured", {}).values()
        return {
            inside: outside.node
            for outside, inside in captured
            if type(outside) is Symbol and inside in order and inside not in stopped
        }

    def _nodes_of(self, source: Symbol, order: dict[Node, None]) -> list[Node]:
        if source is None:
            return []
        if type(source) is Handle:
            reads = [node for node in order if reads_variable(node, source)]
            return reads + find_captured_reads(self.graph, source)
        return [source.node]

    def _symbol(self, node: Node) -> Symbol:
        """Return the handle of a node, kept as long as the sweep, so that its id is unique."""
        found = self._kept.get(node)
        if found is None:
            own = node.table is self.graph.table
            graph = self.graph if own else node.table.owner()
            found = self._kept[node] = graph.symbol(node)
        return found

    def _record(self, node: Node, operands: tuple) -> tuple:
        if node.prim.multiple:
            results: Any = tuple([self._symbol(part) for part in items_of(node)])
        else:
            results = self._symbol(node)
        symbols = tuple([self._symbol(source) for source in operands])
        return node.prim, symbols, results, node.params, node.origin

    def pull(self, seeds: list) -> list:
        """Compute each source's cotangent, None without a path, from those of the targets.

        Made in the graph in force: that of the targets, or the body of a loop or batch inside it.
        """
        flat = [part for parts in self.parts for part in parts]
        results = []
        with dispatch.only(()):
            found = iter(pullback(self.records, self.targets, seeds, flat))
            for parts in self.parts:
                total = None
                for _ in parts:
                    total = accumulate(total, next(found))
                results.append(total)
        return results

    def evidence(self, number: int, given: object, source: Any, frame: Any, cuts: list) -> Evidence:
        """Return the evidence of the gradient by the source of this number."""
        asked = given[0] if isinstance(given, list) and len(given) == 1 else given
        scene = Scene.of(frame, asked, source)
        name = getattr(source, "name", "")
        return Evidence(
            self.records,
            self.targets,
            Source.of(source, name if isinstance(name, str) else ""),
            self.parts[number],
            Notes(),
            asked,
            variables=self._variables(),
            cuts=frozenset(id(self._kept[x.node]) for x in cuts if x.node in self._kept),
            scene=scene,
            in_graph=True,
            exchanged=self._leads_to(source),
        )

    def _leads_to(self, source: object) -> bool:
        """Return whether a source was computed from a target."""
        if type(source) is not Symbol:
            return False
        order: dict[Node, None] = {}
        postorder([source.node], order)
        return any(
            target.node in order and target.node is not source.node for target in self.targets
        )

    def _variables(self) -> dict[int, str]:
        """Return the names of the variables that the targets read, by their ids."""
        order: dict[Node, None] = {}
        postorder([target.node for target in self.targets], order)
        handles = [
            dict(node.key[1]).get("variable") for node in order if node.prim.role is Role.READ
        ]
        handles += [
            outside
            for outside, _ in getattr(self.graph, "captured", {}).values()
            if type(outside) is Handle
        ]
        owners = [getattr(handle, "variable", handle) for handle in handles]
        return {id(owner): owner.name for owner in owners if owner is not None}


def _operands(node: Node) -> tuple:
    return node.operands


def _inputs(node: Node) -> tuple:
    """Return the operands in a table where no input only gives sizes."""
    return node.key[2:]


def reads_variable(node: Node, handle: Handle) -> bool:
    """Return whether a node gives a value of the variable."""
    return node.prim.role is Role.READ and ("variable", handle) in node.key[1]


def find_captured_reads(graph: BodyGraph, handle: Handle) -> list[Node]:
    """Return the inputs of a function's graph that represent a variable."""
    found = []
    for outside, inside in getattr(graph, "captured", {}).values():
        if outside is handle:
            found.append(inside)
        elif type(outside) is Symbol:
            node = outside.node
            if reads_variable(node, handle) or node in find_captured_reads(outside.graph, handle):
                found.append(inside)
    return found


def place_in(graph: Any, tensor: object) -> Symbol | None:
    """Return a tensor in this graph or an outer one; None if the graph does not use it."""
    outer = graph
    while type(tensor) is Symbol and outer is not None:
        if tensor.node.table is outer.table:
            return tensor
        outer = getattr(outer, "outer", None)
    found = getattr(graph, "captured", {}).get(id(tensor))
    return None if found is None else graph.symbol(found[1])


def ones_of(target: Symbol) -> Any:
    """Return ones of the target's shape, one node for each shape; None if it has no gradient."""
    if target.dtype is variant or not target.dtype.is_differentiable:
        return None
    if target.aval.dims is None:
        return zeros_of(target) + 1
    scalar = target.graph.constant(target.dtype.numpy_dtype.type(1))
    return broadcast_to(scalar, shape=target.dims) if target.dims else scalar
