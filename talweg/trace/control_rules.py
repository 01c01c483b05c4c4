"""Derivative rules of branches and loops: reverse and forward, of any order.

The reverse of a branch is a branch of the reversed bodies; the reverse of a loop is a loop that
runs the reversed body backwards; the forward derivative likewise, forwards.  What the derived
bodies need of the values inside the original ones comes from the history (`trace/derived.py`).  The
cotangent of a history holds cotangents of inner values, which are seeds inside; its tangent is the
history of the forward derivative.  So derivatives of any order and both modes mix.

Griewank and Walther, "Evaluating Derivatives", 2008, chapters 3 and 12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dtypes import int32, variant
from talweg.core.hooks import hooks
from talweg.eager.convert import convert_to_tensor
from talweg.eager.structured import content
from talweg.graph.node import Node
from talweg.graph.subgraph import Body, Tangents
from talweg.graph.symbol import Symbol
from talweg.kernels.rows import nodes_of_values
from talweg.prims import control
from talweg.prims.arithmetic import add, greater, sub, zeros_of
from talweg.prims.control import avals_outside, keep_fixed_dims
from talweg.prims.lists import elements
from talweg.prims.rows import EVEN
from talweg.trace.bodies import BodyGraph, apply_branch, apply_loop, aval_of, captures_of
from talweg.trace.derived import InnerValues, View
from talweg.transform.batch import BatchTensor
from talweg.transform.rules import accumulate, densify

if TYPE_CHECKING:
    from collections.abc import Callable


def zeros_like(x: Any) -> Any:
    """Return a zero cotangent of `x`."""
    return elements.variant_zero() if x.dtype is variant else zeros_of(x)


def parts_of(g: object) -> dict | None:
    """Return the inner cotangents in the cotangent of residuals; None if only a run tells."""
    cotangents: dict = {}
    if type(g) is BatchTensor:
        inner = parts_of(g.inner) if g.kind == EVEN else None
        return (
            None
            if inner is None
            else {node: BatchTensor(part, g.interpreter) for node, part in inner.items()}
        )
    pending = [] if g is None else [g]
    while pending:
        symbol = pending.pop()
        if type(symbol) is not Symbol:
            return None
        prim = symbol.node.prim.name
        operands = [symbol.graph.symbol(node) for node in symbol.node.operands]
        if prim == "variant_sum":
            pending.extend(operands)
        elif prim == "history_of":
            inner = symbol.node.params["inner"]
            cotangents[inner] = accumulate(cotangents.get(inner), operands[0])
        elif prim != "variant_zero":
            return None
    return cotangents


def nodes_in(g_history: object) -> dict | None:
    """Return the nodes with values in the cotangent of residuals; None if only a run tells."""
    while type(g_history) is BatchTensor:
        g_history = g_history.inner
    return None if type(g_history) is Symbol else nodes_of_values(content(g_history))


def seed_cotangents(body: Body, g_history: object) -> tuple[list[Node], dict | None]:
    """Return the inner nodes with cotangents from outside, and these if they are known."""
    parts = parts_of(g_history)
    if parts is not None:
        nodes: Any = parts
        if type(g_history) is BatchTensor and dispatch.context.recorders:
            parts = None  # a tape knows the batch of histories, not what is taken out of it
    else:
        nodes = nodes_in(g_history)
        nodes = body.find_requested() if nodes is None else nodes
    own = [n for n in nodes if n.table is body.table and n.aval.dtype.is_differentiable]
    return own, parts


def _like(view: View, node: Node) -> tuple[tuple, dict]:
    """Return a template for the shape of a zero in place of an inner value."""
    dims = keep_fixed_dims(node.aval)
    if dims is not None and None not in dims:
        return (), {"dims": dims, "dtype": node.aval.dtype}
    return (view(node),), {"dims": None, "dtype": node.aval.dtype}


# -- branches


def _branch_view(inner: InnerValues, graph: BodyGraph) -> View:
    """Return the values of a body of a branch, in a body of a derived branch."""

    def take_residual(node: Node, aval: Aval) -> Any:
        known = tuple([aval_of(x) for x in inner.operands])
        (aval,) = avals_outside(inner.body, known, (node,))
        params = {"inner": node, "stacked": False}
        return graph.outside(control.inner_value, inner.history, params, aval)

    graph.view = View(inner, graph, take_residual)
    return graph.view


def branch_vjp(
    g: tuple, z: tuple, index: object, operands: tuple, bodies: tuple, wanted: list
) -> list:
    """Compute cotangents of a branch's operands: a branch of the reverse of each body."""
    graphs = []
    for body in bodies:
        graph = BodyGraph(f"{body.name}_reverse")
        nodes, parts = seed_cotangents(body, g[-1])
        inner = InnerValues(body, list(operands), z[-1], 0, nodes)

        def trace(
            graph: BodyGraph = graph,
            inner: InnerValues = inner,
            given: tuple[Any, ...] = (nodes, parts),
        ) -> list:
            view = _branch_view(inner, graph)
            cotangents = inner.pull(view, _branch_seeds(view, g, *given), wanted)
            return [None if x is None else densify(x) for x in cotangents]

        graph.run(trace)
        graphs.append(graph)
    return [None, *_fill_branch(index, graphs, list(operands))[:-1]]


def _branch_seeds(view: View, g: tuple, nodes: list[Node], parts: dict | None) -> list:
    """Return the inner nodes of a branch that have cotangents, with these."""
    graph, outputs = view.graph, view.inner.body.outputs
    *seeds, g_history = g
    found = [
        (node, graph.own(densify(seed))) for node, seed in zip(outputs, seeds) if seed is not None
    ]
    for node in nodes:
        if parts is None:
            like, params = _like(view, node)
            part = control.history_part(graph.own(g_history), *like, inner=node, **params)
        else:
            part = graph.own(densify(parts[node]))
        found.append((node, part))
    return [(node, view.claim(node, part)) for node, part in found]


def _fill_branch(index: object, graphs: list, like: list) -> list:
    """Build a branch whose results may be absent: zeros where only another branch has one."""
    present = [any(graph.results[i] is not None for graph in graphs) for i in range(len(like))]
    if not any(present):
        return [None] * (len(like) + 1)
    for graph in graphs:
        filled = list(graph.results)
        with dispatch.only(()), graph.as_default():
            graph.results = [
                (graph.own(zeros_like(graph.own(like[i]))) if filled[i] is None else filled[i])
                for i in range(len(like))
                if present[i]
            ]
    *outputs, history = apply_branch(index, graphs)
    results = iter(outputs)
    return [*[next(results) if there else None for there in present], history]


def branch_jvp(t: tuple, z: tuple, index: object, operands: tuple, bodies: tuple) -> tuple:
    """Compute tangents of a branch's results: a branch of each body's forward derivative."""
    tangents = list(t[1:])
    graphs, pairs = [], []
    for body in bodies:
        graph = BodyGraph(f"{body.name}_forward")
        inner = InnerValues(body, list(operands), z[-1], 0, body.asked)

        def trace(graph: BodyGraph = graph, inner: InnerValues = inner) -> list:
            view = _branch_view(inner, graph)
            given = [
                None if x is None else view.claim(n, graph.own(x))
                for n, x in zip(inner.body.inputs, tangents)
            ]
            body_tangents = inner.push(view, given)
            pairs.append(_inner_tangents(graph, inner, body_tangents))
            return [body_tangents.get(node) for node in inner.body.outputs]

        graph.run(trace)
        graphs.append(graph)
    with dispatch.keep_all_inside():
        *body_tangents, history = _fill_branch(index, graphs, list(z[:-1]))
    return (*body_tangents, _tangent_history(history, list(bodies), graphs, pairs))


def _inner_tangents(graph: BodyGraph, inner: InnerValues, found: dict) -> list:
    """Return the inner nodes with their tangents, which may be requested later."""
    outside = set(inner.body.inputs[inner.carried :])
    pairs = [(n, graph.own(x).node) for n, x in found.items() if n not in outside]
    graph.asked = [part for _, part in pairs]
    return pairs


def _tangent_history(history: Symbol, bodies: list, graphs: list, own_pairs: list) -> Any:
    """Return the tangent of residuals: those of the forward derivative, by nodes of `bodies`."""
    if history is None:
        return None
    found: list = []
    for graph, own in zip(graphs, own_pairs):
        if graph.used_body is not graph.made:
            place = {node: i for i, node in enumerate(graph.made.nodes)}
            own = [(node, graph.used_body.nodes[place[part]]) for node, part in own]
        found.extend(own)
    pairs = tuple(dict.fromkeys(found))  # bodies that are equal are one, and so are their nodes
    return control.history_map(history, tangents=Tangents(bodies, pairs))


# -- running once more


def again_vjp(g: tuple, operands: tuple, body: Body, wanted: list) -> list:
    """Compute cotangents of the operands by rematerialization: the body runs again."""

    def reverse(own: tuple, seeds: list) -> list:
        index = convert_to_tensor(0, int32)
        results = control.branch(index, *own, bodies=(body,))
        return branch_vjp((*seeds, None), results, index, own, (body,), wanted)[1:]

    return _once_more(f"{body.name}_reverse", reverse, operands, g[:-1])


def again_jvp(t: tuple, operands: tuple, body: Body) -> tuple:
    """Compute tangents of the results by rematerialization."""

    def forward(own: tuple, tangents: list) -> list:
        index = convert_to_tensor(0, int32)
        results = control.branch(index, *own, bodies=(body,))
        return list(branch_jvp((None, *tangents), results, index, own, (body,))[:-1])

    tangents = t if isinstance(t, tuple) else (t,)
    return (*_once_more(f"{body.name}_forward", forward, operands, tangents), None)


def _once_more(name: str, derive: Callable[..., Any], operands: tuple, others: tuple) -> list:
    """Build `derive(operands, others)` as an operation that is rematerialized as well."""
    graph = BodyGraph(name)

    def trace() -> list:
        own = tuple([graph.own(x) for x in operands])
        return derive(own, [None if x is None else graph.own(densify(x)) for x in others])

    graph.run(trace)
    present = [x is not None for x in graph.results]
    captures = captures_of([graph])
    found = iter(control.again(*captures, body=graph.body(captures))[:-1])
    return [next(found) if there else None for there in present]


# -- loops


class _Derived:
    """A loop derived from a loop: its bodies see iteration `index` of the original."""

    def __init__(self, inner: InnerValues):
        self.inner = inner

    def view(self, graph: BodyGraph, index: object) -> View:
        """Return the values of iteration `index` of the original loop."""
        inner = self.inner

        def take_residual(node: Node, aval: Aval) -> Any:
            asked = {"inner": node, "stacked": True}
            values = graph.outside(control.inner_value, inner.history, asked)
            nodes = graph.nodes_of((values, index))
            params = (("dims", keep_fixed_dims(aval)), ("dtype", aval.dtype))
            # Not `list_get`: what a branch did not compute may be absent; nobody uses it then.
            return graph.apply(elements.list_take, params, nodes, aval)

        graph.view = View(inner, graph, take_residual)
        return graph.view

    def avals(self, initial: list, places: list) -> list:
        """Return the invariants of the index, and of the (co)tangents at `places`."""
        inside = [keep_fixed_dims(self.inner.body.inputs[place].aval) for place in places]
        own = [Aval(dims, x.dtype) for dims, x in zip(inside, initial[1:])]
        rest = initial[1 + len(places) :]
        return [Aval((), initial[0].dtype), *own, *map(aval_of, rest)]


def loop_vjp(g: tuple, z: tuple, operands: tuple, body: Body, count: int, wanted: list) -> list:
    """Compute cotangents of a loop's operands by a loop that runs the reversed body backwards."""
    *seeds, g_history = g
    nodes, parts = seed_cotangents(body, g_history)
    inner = InnerValues(body, list(operands), z[-1], count, nodes)
    active = _find_reversed_active(body, _reach(body, inner.nodes), seeds, nodes, count)
    carried = [i for i in range(count) if i in active]
    shared = [i for i in range(count, len(operands)) if i in active and wanted[i]]
    if not carried and not shared:
        return [None] * len(operands)
    if parts is None:
        parts = {n: control.history_part(g_history, inner=n, dims=(), dtype=variant) for n in nodes}
    reverse = _Reverse(inner, carried, shared, {n: parts[n] for n in nodes})
    start = [densify(seeds[i]) if seeds[i] is not None else zeros_like(z[i]) for i in carried]
    initial = [control.trips(z[-1]), *start, *[zeros_like(operands[i]) for i in shared]]
    cotangents = apply_loop(_is_left, reverse.body, initial, reverse.avals(initial, carried))
    results: list = [None] * len(operands)
    for operand, value in zip((*carried, *shared), cotangents[1:-1]):
        results[operand] = value
    return results


def _is_left(variables: list) -> Any:
    """Return whether an iteration is left, counted down."""
    return greater(variables[0], 0)


def _reach(body: Body, nodes: list[Node]) -> dict[Node, frozenset]:
    """Return the inputs that each inner node depends on differentiably, by their positions."""
    places = {node: i for i, node in enumerate(body.inputs)}
    reach: dict[Node, frozenset] = {}
    nothing: frozenset = frozenset()
    for node in nodes:
        aval = node.aval
        if type(aval) is not tuple and not aval.dtype.is_differentiable:
            reach[node] = nothing
        elif node in places:
            reach[node] = frozenset((places[node],))
        else:
            parts = [reach[source] for source in node.operands if reach.get(source)]
            reach[node] = parts[0] if len(parts) == 1 else nothing.union(*parts)
    return reach


def _find_reversed_active(
    body: Body, reach: dict, seeds: list, nodes: list, count: int
) -> set[int]:
    """Return the operands that get a cotangent: the fixed point of backward reachability."""
    active: set[int] = set()
    pending = [i for i, seed in enumerate(seeds) if seed is not None]
    for node in nodes:
        pending.extend(reach[node] if node in reach else reach[node.inputs[0]])
    while pending:
        place = pending.pop()
        if place not in active:
            active.add(place)
            if place < count:
                pending.extend(reach[body.outputs[place]])
    return active


class _Reverse(_Derived):
    """The reversed loop: its variables are the index, cotangents, sums for shared inputs."""

    def __init__(self, inner: InnerValues, carried: list, shared: list, parts: dict):
        super().__init__(inner)
        self.carried, self.shared, self.parts = carried, shared, parts

    def body(self, variables: list) -> list:
        """Trace one iteration backwards."""
        graph = dispatch.context.base
        inner, carried = self.inner, self.carried
        inputs, outputs = inner.body.inputs, inner.body.outputs
        index = sub(variables[0], 1)
        view = self.view(graph, index)
        seeds = [
            (outputs[position], view.claim(outputs[position], g))
            for position, g in zip(carried, variables[1:])
        ]
        for node, values in self.parts.items():
            like, params = _like(view, node)
            part = elements.list_take(graph.own(values), index, *like, **params)
            seeds.append((node, view.claim(node, part)))
        taken = {*carried, *self.shared}
        cotangents = inner.pull(view, seeds, [i in taken for i in range(len(inputs))])
        results: list = [index]
        for position in carried:
            g = cotangents[position]
            results.append(zeros_like(view(inputs[position])) if g is None else densify(g))
        for position, total in zip(self.shared, variables[1 + len(carried) :]):
            g = cotangents[position]
            results.append(total if g is None else accumulate(total, densify(g)))
        return results


def loop_jvp(t: tuple, z: tuple, operands: tuple, body: Body, count: int) -> tuple:
    """Compute tangents of a loop's results by a loop of the body's forward derivative."""
    places = _find_pushed_active(body, _reach(body, body.nodes), t, count)
    if not places:
        return (None,) * len(z)
    forward = _Forward(InnerValues(body, list(operands), z[-1], count, body.asked), places, list(t))
    start = [zeros_like(operands[i]) if t[i] is None else t[i] for i in places]
    number = control.trips(z[-1])
    zero = zeros_of(number)
    initial = [zero, *start]
    with dispatch.keep_all_inside():
        tangents = apply_loop(
            lambda variables: greater(number, variables[0]),
            forward.body,
            initial,
            forward.avals(initial, places),
        )
    results: list = [None] * len(z)
    for operand, value in zip(places, tangents[1:-1]):
        results[operand] = value
    results[-1] = _tangent_history(tangents[-1], [body], [forward.graph], [forward.pairs])
    return tuple(results)


def _find_pushed_active(body: Body, reach: dict, t: tuple, count: int) -> list[int]:
    """Return the loop variables that get a tangent, in some iteration."""
    active = {i for i, x in enumerate(t) if x is not None}
    while True:
        more = {i for i in range(count) if reach[body.outputs[i]] & active} - active
        if not more:
            return [i for i in range(count) if i in active]
        active |= more


class _Forward(_Derived):
    """The forward derivative of a loop: its variables are the iteration and tangents."""

    def __init__(self, inner: InnerValues, places: list, tangents: list):
        super().__init__(inner)
        self.places, self.tangents = places, tangents
        self.pairs: list = []
        self.graph: Any = None

    def body(self, variables: list) -> list:
        """Trace one iteration."""
        graph = dispatch.context.base
        inner, index = self.inner, variables[0]
        inputs = inner.body.inputs
        view = self.view(graph, index)
        given: list = [None] * len(inputs)
        for position, tangent in zip(self.places, variables[1:]):
            given[position] = view.claim(inputs[position], tangent)
        for position in range(inner.carried, len(inputs)):
            if self.tangents[position] is not None:
                given[position] = view.claim(inputs[position], graph.own(self.tangents[position]))
        tangents = inner.push(view, given)
        self.graph, self.pairs = graph, _inner_tangents(graph, inner, tangents)
        results = [add(index, 1)]
        for position in self.places:
            own = tangents.get(inner.body.outputs[position])
            results.append(zeros_like(view(inner.body.outputs[position])) if own is None else own)
        return results


hooks.branch_vjp = branch_vjp
hooks.branch_jvp = branch_jvp
hooks.again_vjp = again_vjp
hooks.again_jvp = again_jvp
hooks.loop_vjp = loop_vjp
hooks.loop_jvp = loop_jvp
