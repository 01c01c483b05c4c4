"""Derivative rules of calls of traced functions.

The derived body, reverse or forward, is traced once for each pattern of given and wanted cotangents
and kept with the body, so a training step costs two runs and no tracing.  `Derived.inner` are the
values of the original run that it needs: a call under a tape keeps exactly these.  For its usual
reverse they are chosen (`trace/rematerialization.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.hooks import hooks
from talweg.core.locking import Turn
from talweg.eager.structured import content
from talweg.graph.node import Node
from talweg.graph.subgraph import Body, Tangents
from talweg.graph.symbol import Symbol
from talweg.graph.walk import postorder
from talweg.kernels.rows import nodes_of_values
from talweg.passes.functionalize import program_of
from talweg.prims import control
from talweg.prims.calls import call
from talweg.prims.control import avals_outside
from talweg.prims.state import after
from talweg.trace.bodies import BodyGraph, aval_of
from talweg.trace.control_rules import nodes_in, seed_cotangents, zeros_like
from talweg.trace.derived import InnerValues, View
from talweg.trace.rematerialization import choose_residuals
from talweg.transform.batch import BatchTensor
from talweg.transform.rules import densify

USUAL = ("usual reverse",)  # its key among the programs of a body
_turn = Turn()  # whoever derives a body from another has it


class DerivedCall:
    """A body derived from a body: the values it takes, and the results it gives.

    `sources` says of each input what it is: ("g", output), ("t", input), ("operand", input),
    ("inner", node) or ("part", node), a cotangent of an inner value.
    """

    __slots__ = ("__weakref__", "body", "captured", "inner", "pairs", "present", "sources")

    def __init__(
        self,
        body: Body,
        name: str,
        nodes: tuple[Any, ...],
        residuals: frozenset[Node] | None = None,
    ):
        self.sources: list[tuple] = []
        self.pairs: list = []
        before = dispatch.context.base
        dispatch.context.base = None
        try:
            graph = BodyGraph(f"{body.name}_{name}")
            inner = InnerValues(body, [], None, len(body.inputs), nodes, residuals)
            graph.run(lambda: self.trace(graph, inner))
        finally:
            dispatch.context.base = before
        self._prune(graph)
        self.present = [x is not None for x in graph.results]
        self.captured = [value for value, _ in graph.captured.values()]
        self.body = graph.body(self.captured)
        if self.pairs and self.body is not graph.made:
            index_of = {node: i for i, node in enumerate(graph.made.nodes)}
            self.pairs = [(n, self.body.nodes[index_of[part]]) for n, part in self.pairs]
        self.inner = tuple([what for kind, what in self.sources if kind == "inner"])

    def trace(self, graph: BodyGraph, inner: InnerValues) -> list:
        """Trace the derived body in `graph` and return its results."""
        raise NotImplementedError

    def _view(self, graph: BodyGraph, inner: InnerValues) -> View:
        def make_input(node: Node, aval: Aval) -> Symbol:
            place = inner.position.get(node)
            return self._input(
                graph, ("inner", node) if place is None else ("operand", place), aval
            )

        graph.view = View(inner, graph, make_input)
        return graph.view

    def _input(self, graph: BodyGraph, source: tuple, aval: Aval) -> Symbol:
        self.sources.append(source)
        symbol = graph.placeholder(aval.dims, aval.dtype)
        graph.input_nodes.append(symbol.node)
        return symbol

    def _prune(self, graph: BodyGraph) -> None:
        """Remove unused inputs."""
        needed: dict[Node, None] = {}
        results = [x.node for x in graph.results if x is not None]
        postorder([*graph.effects, *results, *graph.asked], needed)
        kept = [
            (node, source)
            for node, source in zip(graph.input_nodes, self.sources)
            if node in needed
        ]
        graph.input_nodes = [node for node, _ in kept]
        self.sources = [source for _, source in kept]

    def apply(self, given: dict, operands: tuple, history: Any, body: Body) -> list:
        """Apply it to values of the sources; residuals last; `given` has those that vary."""
        values: list = []
        for source in self.sources:
            kind, what = source
            if kind == "operand":
                values.append(operands[what])
            elif kind == "inner":
                values.append(inner_of(history, what, operands, body))
            else:
                values.append(given[source])
        *found, own = call(*values, *self.captured, body=self.body)
        results = iter(found)
        return [*[next(results) if there else None for there in self.present], own]


class Reverse(DerivedCall):
    """The reverse of a body for cotangents of some outputs and inner values.

    residuals: what the call has kept, if that was chosen, and not all that the rules use.
    """

    __slots__ = ("given", "parts", "residuals", "wanted")

    def __init__(
        self,
        body: Body,
        given: tuple,
        wanted: tuple,
        parts: tuple,
        residuals: frozenset[Node] | None,
    ):
        self.given, self.wanted, self.parts, self.residuals = given, wanted, parts, residuals
        super().__init__(body, "reverse", parts, residuals)

    def trace(self, graph: BodyGraph, inner: InnerValues) -> list:
        view = self._view(graph, inner)
        starts = []
        pairs = [(inner.body.outputs[i], ("g", i)) for i in self.given]
        for node, source in [*pairs, *[(node, ("part", node)) for node in self.parts]]:
            g = self._input(graph, source, view.expect(node))
            starts.append((node, view.claim(node, g)))
        wanted = [i in self.wanted for i in range(len(inner.body.inputs))]
        found = inner.pull(view, starts, wanted)
        return [None if x is None else densify(x) for x in found]


class Forward(DerivedCall):
    """The forward derivative of a body for tangents of some inputs."""

    __slots__ = ("given",)

    def __init__(self, body: Body, given: tuple):
        self.given = given
        super().__init__(body, "forward", body.asked)

    def trace(self, graph: BodyGraph, inner: InnerValues) -> list:
        view = self._view(graph, inner)
        tangents: list = [None] * len(inner.body.inputs)
        for place in self.given:
            node = inner.body.inputs[place]
            t = self._input(graph, ("t", place), view.expect(node))
            tangents[place] = view.claim(node, t)
        found = inner.push(view, tangents)
        own = set(inner.body.inputs)
        self.pairs = [(n, graph.own(t).node) for n, t in found.items() if n not in own]
        graph.asked = [part for _, part in self.pairs]
        return [found.get(node) for node in inner.body.outputs]


def inner_of(history: object, node: Node, operands: tuple, body: Body) -> Any:
    """Return the value of an inner node, from the residuals of a call."""
    base = dispatch.context.base
    if base is None or type(history) is not Symbol:
        return control.inner_value(history, inner=node, stacked=False)
    (aval,) = avals_outside(body, tuple([aval_of(x) for x in operands]), (node,))
    params = {"inner": node, "stacked": False}
    nodes = base.nodes_of((history,))
    value = base.apply(control.inner_value, tuple(params.items()), nodes, aval)
    for recorder in dispatch.context.recorders:
        recorder.record(control.inner_value, (history,), value, params)
    return value


def _derive_once(body: Body, key: tuple, make: Callable[[], Any]) -> Any:
    """Return a derived body, built once, by the first thread that asks for it."""
    found = body.programs.get(key)
    if found is None:
        is_ours = _turn.take()
        try:
            found = body.programs.get(key)
            if found is None:
                made = make()
                found = body.programs.setdefault(key, made)
        finally:
            if is_ours:
                _turn.give()
    return found


def reverse_of(
    body: Body,
    given: tuple,
    wanted: tuple,
    parts: tuple = (),
    residuals: frozenset[Node] | None = None,
) -> Reverse:
    """Return the reverse of a body for a pattern of cotangents, built once."""
    key = ("reverse", given, wanted, parts, residuals)
    return _derive_once(body, key, lambda: Reverse(body, given, wanted, parts, residuals))


def usual_reverse(body: Body) -> Reverse | None:
    """Return the reverse for cotangents of all results; None without differentiable ones."""
    given = tuple([i for i, n in enumerate(body.outputs) if n.aval.dtype.is_differentiable])
    wanted = tuple([i for i, n in enumerate(body.inputs) if n.aval.dtype.is_differentiable])
    if not given or not wanted:
        return None

    def make() -> Reverse:
        reverse = reverse_of(body, given, wanted)
        residuals = choose_residuals(body, reverse.body, reverse.sources)
        return reverse_of(body, given, wanted, (), residuals)

    return _derive_once(body, USUAL, make)


def _chosen_residuals(history: object, body: Body) -> frozenset[Node] | None:
    """Return the residuals that were chosen for the call of this history, if it kept no more."""
    usual = body.programs.get(USUAL)
    if usual is None or usual.residuals is None or _all_is_kept(history, body):
        return None
    return usual.residuals


def _parts(body: Body, g_history: Any, history: Any, operands: tuple) -> dict:
    """Return the cotangents of inner values, by node."""
    if g_history is None:
        return {}
    known = nodes_in(g_history)
    if known is not None:
        if type(g_history) is BatchTensor:  # slices may lack it

            def like(node: Node) -> tuple:
                return (inner_of(history, node, operands, body),)
        else:

            def like(node: Node) -> tuple:
                return ()

        return {
            n: control.history_part(g_history, *like(n), inner=n, dims=None, dtype=n.aval.dtype)
            for n in known
            if n.table is body.table
        }
    nodes, parts = seed_cotangents(body, g_history)
    if parts is not None:
        return {node: parts[node] for node in nodes}
    return {
        node: control.history_part(
            g_history,
            inner_of(history, node, operands, body),
            inner=node,
            dims=None,
            dtype=node.aval.dtype,
        )
        for node in nodes
    }


def _all_is_kept(history: object, body: Body) -> bool:
    """Return whether a call has kept all residuals, or will keep those that are requested."""
    while type(history) is BatchTensor:
        history = history.inner
    if type(history) is Symbol:
        return True
    known = nodes_of_values(content(history))
    return all([node in known for node in body.everything()])


def call_vjp(g: tuple, z: tuple, operands: tuple, body: Body, wanted: list) -> list:
    """Compute the cotangents of a call's operands."""
    *seeds, g_history = g
    parts = _parts(body, g_history, z[-1], operands)
    given = tuple([i for i, part in enumerate(seeds) if part is not None])
    places = tuple([i for i, want in enumerate(wanted) if want])
    residuals = _chosen_residuals(z[-1], body)
    reverse = reverse_of(body, given, places, tuple(parts), residuals)
    usual = tuple([i for i, x in enumerate(z[:-1]) if x.dtype.is_differentiable])
    if given != usual and not parts and not _all_is_kept(z[-1], body):
        # Only what the usual reverse needs was kept; it takes zeros for results that nobody used.
        given = usual
        seeds = [
            zeros_like(z[i]) if i in given and seed is None else seed
            for i, seed in enumerate(seeds)
        ]
        reverse = reverse_of(body, given, places, (), residuals)
    values = {("g", i): densify(seeds[i]) for i in given}
    values.update({("part", node): densify(part) for node, part in parts.items()})
    return _after_call(reverse.apply(values, operands, z[-1], body)[:-1], z, body)


def _after_call(cotangents: list, z: tuple, body: Body) -> list:
    """Return cotangents that a session has only after the call, if that has effects.

    A run that fetches nothing but a gradient does that too, as TensorFlow's does.
    """
    base = dispatch.context.base
    if base is None or base.building_function or hasattr(base, "outer"):
        return cotangents  # where all effects happen in any case
    if len(z) < 2 or type(z[0]) is not Symbol or not program_of(body).calls_python:
        return cotangents
    return [after(g, z[0]) if type(g) is Symbol else g for g in cotangents]


def call_jvp(t: object, z: tuple, operands: tuple, body: Body) -> tuple:
    """Compute the tangents of a call's results."""
    tangents = t if isinstance(t, tuple) else (t,)
    given = tuple([i for i, part in enumerate(tangents) if part is not None])
    key = ("forward", given)
    forward = _derive_once(body, key, lambda: Forward(body, given))
    values = {("t", i): tangents[i] for i in given}
    with dispatch.keep_all_inside():
        *result_tangents, history = forward.apply(values, operands, z[-1], body)
    pairs = tuple(forward.pairs)
    if not pairs:
        return (*result_tangents, None)
    return (*result_tangents, control.history_map(history, tangents=Tangents([body], pairs)))


hooks.call_vjp = call_vjp
hooks.call_jvp = call_jvp
