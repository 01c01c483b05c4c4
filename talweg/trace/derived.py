"""Views of a body for derivative rules: its reverse sweep, its forward derivative.

A rule is shown values of the derived body.  `View` makes them: an input captured from outside is
that value; a constant and what costs nothing is made again; everything else is the value that the
operation kept, so nothing runs twice.  What no rule uses in the end is not kept.  Where the
residuals were chosen (`trace/rematerialization.py`), what is none of them is made again, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dim_walks import substitute
from talweg.core.dims import Atom, Dim, of_atom, same_dims
from talweg.core.roles import Role, Trait
from talweg.graph.contents import element
from talweg.graph.graph import Graph
from talweg.graph.node import Node
from talweg.graph.subgraph import Body
from talweg.graph.symbol import Symbol
from talweg.graph.walk import postorder
from talweg.prims.state import ensure_dims
from talweg.trace.bodies import BodyGraph
from talweg.trace.rematerialization import is_repeatable
from talweg.transform.reverse import pullback
from talweg.transform.rules import jvp_of


class Handles(Graph):
    """A stub graph for handles of a body's nodes; nothing is added to it."""

    def __init__(self, body: Body):
        super().__init__()
        self.table = body.table  # type: ignore[assignment]
        self.level = 0
        self.closed = True

    def __del__(self) -> None:
        self.forget_names()


class InnerValues:
    """The inner values of one body, as rules of the enclosing operation see them."""

    def __init__(
        self,
        body: Body,
        operands: list,
        history: object,
        carried: int,
        asked: list | tuple = (),
        residuals: frozenset[Node] | None = None,
    ):
        self.body, self.operands, self.history = body, operands, history
        self.nodes = body.nodes_with(asked)  # `asked`: inner nodes that get cotangents
        self.carried = carried  # how many inputs change from iteration to iteration
        self.residuals = residuals  # all that is kept; None: whatever rules use
        self.handles = Handles(body)
        self.kept: dict[Node, Symbol] = {}
        self.position = {node: i for i, node in enumerate(body.inputs)}
        self.sizes = self._sizes_of_shared()

    def _sizes_of_shared(self) -> dict:
        """Return the sizes that captured inputs determine: size -> input."""
        found: dict = {}
        for node in self.body.inputs[self.carried :]:
            for size in node.aval.dims or ():
                if type(size) is Dim:
                    found.setdefault(size, node)
        return found

    def handle(self, node: Node) -> Symbol:
        """Return the handle of an inner node."""
        found = self.kept.get(node)
        if found is None:
            own = node.handle
            found = own() if own is not None else None
            found = self.kept[node] = Symbol(node, self.handles) if found is None else found
        return found

    def records(self) -> list:
        """Return the nodes as records of a sweep."""
        records = []
        for node in self.nodes:
            prim = node.prim
            if prim.role is Role.PROJECTION or not node.key[2:] or node in self.position:
                continue
            operands = tuple([self.handle(source) for source in node.operands])
            if prim.multiple:
                results: Any = tuple([self.handle(part) for part in self.body.results_of(node)])
            else:
                results = self.handle(node)
            records.append((prim, operands, results, node.params, node.origin))
        return records

    def pull(self, view: View, seeds: list, wanted: list) -> list:
        """Compute cotangents of the wanted inputs; `seeds` are (inner node, cotangent)."""
        targets = [self.handle(node) for node, _ in seeds]
        sources = [self.handle(node) for node, want in zip(self.body.inputs, wanted) if want]
        starts = [g for _, g in seeds]
        with view.graph.derivatives_in("gradients/"):
            found = iter(pullback(self.records(), targets, starts, sources, view.show_values))
        return [next(found) if want else None for want in wanted]

    def push(self, view: View, tangents: list) -> dict[Node, Any]:
        """Compute tangents of inner nodes, from those of the inputs."""
        known = {
            id(self.handle(n)): (n, t) for n, t in zip(self.body.inputs, tangents) if t is not None
        }
        context = dispatch.context
        outer = context.deriving
        for record in self.records():
            prim, operands, results, params, _ = record
            operand_tangents = [known.get(id(x), (None, None))[1] for x in operands]
            if all(t is None for t in operand_tangents):
                continue
            operands, shown, params = view.show_values(operands, results, params)
            context.deriving = record
            try:
                pushed = jvp_of(prim)(operand_tangents, shown, operands, params)
            finally:
                context.deriving = outer
            if pushed is None:
                continue
            pairs = zip(results, pushed) if type(results) is tuple else [(results, pushed)]
            known.update({id(z): (z.node, t) for z, t in pairs if t is not None})
        return dict(known.values())


class View:
    """A map from a body's nodes to their values in a body derived from it.

    `kept(node, aval)` gives the value that the operation kept, as a tensor of the graph.
    """

    def __init__(self, inner: InnerValues, graph: BodyGraph, kept: Callable[[Node, Aval], Symbol]):
        self.inner, self.graph, self.kept = inner, graph, kept
        self.made: dict[Node, Symbol] = {}

    def __call__(self, node: Node) -> Symbol:
        """Return the value of an inner node."""
        if node not in self.made:
            needed: dict[Node, None] = {}
            postorder([node], needed, self._made_first)
            for each in needed:
                if each not in self.made:
                    self.made[each] = self._make(each)
        return self.made[node]

    def _made_first(self, node: Node) -> tuple:
        return node.operands if node not in self.made and self._is_repeated(node) else ()

    def _is_repeated(self, node: Node) -> bool:
        """Return whether a node is computed again here."""
        if node in self.inner.position or node.prim.role is Role.CONSTANT:
            return False
        if Trait.CHEAP_TO_REPEAT in node.prim.traits and not node.table.extra.get(node):
            return True
        residuals = self.inner.residuals
        return residuals is not None and node not in residuals and is_repeatable(node)

    def _make(self, node: Node) -> Symbol:
        inner, graph = self.inner, self.graph
        place = inner.position.get(node)
        if place is not None and place >= inner.carried:
            return self.claim(node, graph.own(inner.operands[place]))
        if node.prim.role is Role.CONSTANT:
            return graph.constant(node.params["value"].array)
        if self._is_repeated(node):
            return node.prim(*map(self, node.operands), **self._params(node.params))
        return self.claim(node, self.kept(node, self.expect(node)))

    def show_values(self, operands: tuple, results: Any, params: dict) -> tuple:
        """Return the replacement, for rules, of handles of inner nodes and of parameters."""
        if type(results) is tuple:
            results = tuple([self(z.node) for z in results])
        else:
            results = self(results.node)
        operands = tuple([self(x.node) for x in operands])
        return operands, results, self._params(params)

    def _params(self, params: dict) -> dict:
        size_inside = self.graph.size_inside
        return {key: size_inside(value) for key, value in params.items()}

    def expect(self, node: Node) -> Aval:
        """Return the abstract value of `node` here: None for sizes that are not known yet."""
        dims = node.aval.dims
        if dims is not None:
            dims = tuple([self._find_size(size) if type(size) is Dim else size for size in dims])
        return Aval(dims, node.aval.dtype)

    def learn(self, node: Node, value: Symbol) -> Symbol:
        """Bind the sizes that `value` reveals first."""
        for size, present in zip(node.aval.dims or (), value.aval.dims or ()):
            if type(size) is Dim:
                self.graph.sizes.setdefault(size, present)
        return value

    def claim(self, node: Node, value: Symbol) -> Symbol:
        """Refine `value` by the shape of `node`."""
        if node.aval.dims is None:
            return value
        self.learn(node, value)
        aval, own = self.expect(node), value.aval.dims
        dims = aval.dims or ()
        if own is not None and None not in dims and same_dims(own, dims):
            return value
        shape = tuple([size if type(size) is int else None for size in dims])
        found = self.graph.apply(ensure_dims, (("shape", shape),), (value.node,), aval)
        return self.learn(node, found)

    def _find_size(self, size: Dim) -> Any:
        """Return the size here, if a value made before, or an outer one, determines it."""
        sizes = self.graph.sizes
        found = sizes.get(size)
        if found is None and size in self.inner.sizes:
            source = self.inner.sizes[size]
            if source not in self.made:
                self.made[source] = self.graph.own(self.inner.operands[self.inner.position[source]])
                self.learn(source, self.made[source])
            found = sizes.get(size)
        if found is None:
            found = substitute(size, lambda atom: sizes.get(of_atom(atom)))
        return found

    def size(self, atom: Atom) -> Any:
        """Return the size here of an atom of the body; None for other atoms."""
        source = atom.source
        if source is None or source.table is not self.inner.body.table:
            return None
        found = self._find_size(of_atom(atom))
        if found is None:
            value = self(source)
            if atom.kind != "size":
                found = element(value.node, atom.place)
            else:
                found = self.graph.sizes.get(of_atom(atom))
                found = value.dims[atom.place] if found is None else found
            self.graph.sizes[of_atom(atom)] = found
        return found
