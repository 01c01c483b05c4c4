"""Derivatives of branches and loops: reverse and forward, of any order.

The reverse of a body is the reverse sweep over its nodes, traced as a new body.  Whatever the sweep
takes from the forward body is translated: inputs captured from outside are those values; cheap
views are made again; everything else becomes `inner_value` of the history, for loops the element of
the iteration at hand.  So exactly what the reverse needs is saved, and nothing runs twice.

Griewank and Walther, "Evaluating Derivatives", 2008, chapters 3 and 12.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dtypes import variant
from talweg.core.primitive import later
from talweg.core.value import OPERATIONS
from talweg.graph.graph import Graph
from talweg.graph.node import Node
from talweg.graph.subgraph import Body
from talweg.graph.symbol import Symbol
from talweg.prims import control, lists
from talweg.prims.arithmetic import add, greater, sub, zeros_of
from talweg.prims.control import HistoryCotangent
from talweg.trace.bodies import BodyGraph, apply_branch, apply_loop
from talweg.transform.reverse import pullback
from talweg.transform.rules import accumulate, densify, jvp_of

CHEAP = frozenset(("broadcast_to", "reshape", "transpose", "shape_of", "zeros_like"))


class Handles(Graph):
    """Handles of a body's nodes, for rules to work on; nothing is added to it."""

    def __init__(self, body: Body):
        super().__init__()
        self.table = body.table  # type: ignore[assignment]
        self.level = 0
        self.closed = True

    def __del__(self) -> None:
        self.forget_names()


def records_of(nodes: list[Node], symbol: Callable[[Node], Any]) -> list:
    """The nodes as records of the reverse sweep."""
    records = []
    for node in nodes:
        prim = node.prim
        if prim.name == "item" or not node.key[2:]:
            continue
        operands = tuple([symbol(source) for source in node.operands])
        if prim.multiple:
            results: Any = tuple([symbol(part) for part in items_of(node)])
        else:
            results = symbol(node)
        records.append((prim, operands, results, node.params, node.origin))
    return records


def items_of(node: Node) -> list[Node]:
    """The nodes of all results of an operation with several."""
    item = later("item")
    return [
        node.table.intern(item, (("index", index),), (node,), aval)
        for index, aval in enumerate(node.aval)
    ]


class Inner:
    """One body, seen by a rule: symbols of its nodes, and what they stand for outside."""

    def __init__(self, body: Body, operands: list, history: Any):
        self.body, self.operands, self.history = body, operands, history
        self.handles = Handles(body)
        self.kept: list = []
        self.position = {node: i for i, node in enumerate(body.inputs)}

    def symbol(self, node: Node) -> Symbol:
        """The handle of an inner node."""
        handle = node.handle
        found = handle() if handle is not None else None
        if found is None:
            found = Symbol(node, self.handles)
        self.kept.append(found)
        return found

    def pull(self, seeds: list, history: dict, wanted: list) -> list:
        """Cotangents of the wanted inputs, from those of outputs and of inner values."""
        body = self.body
        targets = [self.symbol(node) for node in body.outputs]
        starts = list(seeds)
        for node, g in history.items():
            targets.append(self.symbol(node))
            starts.append(g)
        sources = [self.symbol(node) for node, want in zip(body.inputs, wanted) if want]
        records = records_of(body.nodes, self.symbol)
        found = iter(pullback(records, targets, starts, sources))
        return [next(found) if want else None for want in wanted]

    def push(self, tangents: list) -> list:
        """Tangents of the outputs, from those of the inputs."""
        known = {id(self.symbol(n)): t for n, t in zip(self.body.inputs, tangents) if t is not None}
        for prim, operands, results, params, _ in records_of(self.body.nodes, self.symbol):
            own = [known.get(id(x)) for x in operands]
            if all(t is None for t in own):
                continue
            pushed = jvp_of(prim)(own, results, operands, params)
            if pushed is None:
                continue
            pairs = zip(results, pushed) if type(results) is tuple else [(results, pushed)]
            known.update({id(z): t for z, t in pairs if t is not None})
        return [known.get(id(self.symbol(node))) for node in self.body.outputs]


def _cheap(node: Node) -> bool:
    return node.prim.name in CHEAP


def _translator(inner: Inner, outside: Callable[[Node], Any]) -> Callable[[Symbol], Any]:
    """What a symbol of the body is in the reverse body: `outside(node)`, or made again."""
    own = set(inner.body.nodes)
    made: dict[Node, Any] = {}

    def translate(symbol: Symbol) -> Any:
        node = symbol.node
        if node not in own and not (node.prim.name == "item" and node.inputs[0] in own):
            return None
        found = made.get(node)
        if found is None:
            found = made[node] = remake(node)
        return found

    def remake(node: Node) -> Any:
        if node.prim.name == "constant":
            return dispatch.context.base.constant(node.params["value"].array)
        if _cheap(node) and node.key[2:]:
            return node.prim(*[inner.symbol(x) for x in node.operands], **node.params)
        return outside(node)

    return translate


# -- branches


def branch_vjp(g: tuple, z: tuple, index: Any, operands: tuple, bodies: tuple) -> list:
    """Cotangents of a branch's operands: a branch of the reverse of each body."""
    *seeds, g_history = g
    by_node = g_history.by_node if isinstance(g_history, HistoryCotangent) else {}
    wanted = [x.dtype.is_differentiable for x in operands]
    graphs = []
    for body in bodies:
        inner = Inner(body, list(operands), z[-1])
        graph = BodyGraph(f"{body.name}_reverse", _translator(inner, _at_branch(inner)))
        own = set(body.nodes)
        history = {node: part for node, part in by_node.items() if node in own}
        graph.run(lambda i=inner, h=history: [
            None if c is None else densify(c) for c in i.pull(seeds, h, wanted)
        ])  # fmt: skip
        graphs.append(graph)
    return [None, *_filled_branch(index, graphs, list(operands))]


def _at_branch(inner: Inner) -> Callable[[Node], Any]:
    def outside(node: Node) -> Any:
        place = inner.position.get(node)
        if place is not None:
            return inner.operands[place]
        with dispatch.context.base.outer_context():
            return control.inner_value(inner.history, inner=node, stacked=False)

    return outside


def _filled_branch(index: Any, graphs: list, like: list) -> list:
    """A branch whose results may be absent: zeros where only another branch has one."""
    present = [any(graph.results[i] is not None for graph in graphs) for i in range(len(like))]
    if not any(present):
        return [None] * len(like)
    for graph in graphs:
        found = list(graph.results)
        with dispatch.only(()), graph.as_default():
            graph.results = [
                (graph.own(zeros_like(like[i])) if found[i] is None else found[i])
                for i in range(len(like)) if present[i]
            ]  # fmt: skip
    results = iter(apply_branch(index, graphs)[:-1])
    return [next(results) if there else None for there in present]


def zeros_like(x: Any) -> Any:
    """A zero cotangent of `x`."""
    if x.dtype is variant:
        return lists.list_new(lists.list_size(x))
    return zeros_of(x)


def branch_jvp(t: tuple, z: tuple, index: Any, operands: tuple, bodies: tuple) -> tuple:
    """Tangents of a branch's results: a branch of the forward derivative of each body."""
    tangents = [None if x is None else x for x in t[1:]]
    graphs = []
    for body in bodies:
        inner = Inner(body, list(operands), z[-1])
        graph = BodyGraph(f"{body.name}_forward", _translator(inner, _at_branch(inner)))
        graph.run(lambda i=inner: i.push(tangents))
        graphs.append(graph)
    return (*_filled_branch(index, graphs, list(z[:-1])), None)


# -- loops


def loop_vjp(g: tuple, z: tuple, operands: tuple, body: Body, count: int) -> list:
    """Cotangents of a loop's operands: a loop that runs the reversed body backwards."""
    *seeds, g_history = g
    by_node = g_history.by_node if isinstance(g_history, HistoryCotangent) else {}
    history = z[-1]
    active = _active(body, seeds, by_node, count, operands)
    carried = [i for i in range(count) if i in active]
    shared = [
        i for i in range(count, len(operands))
        if operands[i].dtype.is_differentiable and i in active
    ]  # fmt: skip
    if not carried and not shared:
        return [None] * len(operands)
    reverse = _Reverse(body, operands, history, count, carried, shared, by_node)
    start = [densify(seeds[i]) if seeds[i] is not None else zeros_like(z[i]) for i in carried]
    zeros = [zeros_like(operands[i]) for i in shared]
    number = control.trips(history)
    initial = [number, *start, *zeros]
    found = apply_loop(reverse.condition, reverse.body, initial, reverse.avals(initial, z))
    results: list = [None] * len(operands)
    for place, value in zip((*carried, *shared), found[1:-1]):
        results[place] = value
    return results


def _active(body: Body, seeds: list, by_node: dict, count: int, operands: tuple) -> set[int]:
    """The operands that get a cotangent: reached backwards from seeds, round after round."""
    reach: dict[Node, set] = {}
    places = {node: i for i, node in enumerate(body.inputs)}
    for node in body.nodes:
        if node in places:
            dtype = node.aval.dtype
            reach[node] = {places[node]} if dtype.is_differentiable else set()
            continue
        found: set[int] = set()
        for source in node.operands:
            found |= reach.get(source, set())
        aval = node.aval
        if type(aval) is not tuple and not aval.dtype.is_differentiable:
            found = set()
        reach[node] = found
    active = {i for i, seed in enumerate(seeds) if seed is not None}
    for node in by_node:
        active |= reach.get(node, set())
    while True:
        more = set(active)
        for i in active:
            if i < count:
                more |= reach.get(body.outputs[i], set())
        if more == active:
            return active
        active = more


class _Reverse:
    """The reversed loop: its variables are the iteration, cotangents, and sums for what is shared."""

    def __init__(self, body: Body, operands: tuple, history: Any, count: int, carried: list,
                 shared: list, by_node: dict):  # fmt: skip
        self.inner = Inner(body, list(operands), history)
        self.count, self.carried, self.shared = count, carried, shared
        self.by_node = {node: g for node, g in by_node.items() if node in set(body.nodes)}

    def condition(self, variables: list) -> Any:
        """Whether an iteration is left."""
        return greater(variables[0], 0)

    def body(self, variables: list) -> list:
        """One iteration backwards."""
        graph = dispatch.context.base
        index = sub(variables[0], 1)
        inner = self.inner
        own = set(inner.body.nodes)
        graph.translate = _translator(inner, self._at(index))
        seeds: list = [None] * len(inner.body.outputs)
        for place, g in zip(self.carried, variables[1:]):
            seeds[place] = g
        history = {
            node: lists.list_get(g, index, dims=_static(node.aval), dtype=node.aval.dtype)
            for node, g in self.by_node.items() if node in own
        }  # fmt: skip
        wanted = [i in self.carried or i in self.shared for i in range(len(inner.body.inputs))]
        found = inner.pull(seeds, history, wanted)
        results: list = [index]
        for place in self.carried:
            g = found[place]
            results.append(
                zeros_like(inner.symbol(inner.body.inputs[place])) if g is None else densify(g)
            )
        for place, total in zip(self.shared, variables[1 + len(self.carried) :]):
            results.append(
                accumulate(total, None if found[place] is None else densify(found[place]))
            )
        return [graph.own(x) for x in results]

    def _at(self, index: Any) -> Callable[[Node], Any]:
        inner, count = self.inner, self.count

        def outside(node: Node) -> Any:
            place = inner.position.get(node)
            if place is not None and place >= count:
                return inner.operands[place]
            graph = dispatch.context.base
            with graph.outer_context():
                values = control.inner_value(inner.history, inner=node, stacked=True)
            aval = node.aval
            return lists.list_get(graph.own(values), index, dims=_static(aval), dtype=aval.dtype)

        return outside

    def avals(self, initial: list, z: tuple) -> list:
        """What is known of the variables in every iteration."""
        found = [Aval((), initial[0].dtype)]
        for place, g in zip(self.carried, initial[1:]):
            inside = self.inner.body.inputs[place].aval
            fixed = inside.dims is not None and all(type(n) is int for n in inside.dims)
            found.append(Aval(inside.dims if fixed else _loose(inside, g), g.dtype))
        found.extend(Aval(x.aval.dims if type(x) is Symbol else x.dims, x.dtype)
                     for x in initial[1 + len(self.carried) :])  # fmt: skip
        return found


def _loose(inside: Aval, g: Any) -> tuple | None:
    """The sizes of a cotangent that are the same in all iterations."""
    if inside.dims is None:
        return None
    own = g.aval.dims if type(g) is Symbol else g.dims
    if own is None or len(own) != len(inside.dims):
        return tuple([size if type(size) is int else None for size in inside.dims])
    return tuple([n if type(n) is int else None for n in inside.dims])


def _static(aval: Aval) -> tuple | None:
    """The dimensions, None where they are symbolic."""
    if aval.dims is None:
        return None
    return tuple([size if type(size) is int else None for size in aval.dims])


def loop_jvp(t: tuple, z: tuple, operands: tuple, body: Body, count: int) -> tuple:
    """Tangents of a loop's results: a loop of the body's forward derivative."""
    tangents = list(t)
    inner = Inner(body, list(operands), z[-1])
    places = [i for i in range(count) if operands[i].dtype.is_differentiable]
    start = [zeros_like(operands[i]) if tangents[i] is None else tangents[i] for i in places]
    helper = _Reverse(body, operands, z[-1], count, places, [], {})
    helper.inner = inner
    number = control.trips(z[-1])

    def condition(variables: list) -> Any:
        return greater(number, variables[0])

    def step(variables: list) -> list:
        graph = dispatch.context.base
        index = variables[0]
        graph.translate = _translator(inner, helper._at(index))
        given: list = [None] * len(operands)
        for place, tangent in zip(places, variables[1:]):
            given[place] = tangent
        for place in range(count, len(operands)):
            given[place] = tangents[place]
        found = inner.push(given)
        results = [add(index, 1)]
        for place in places:
            own = found[place]
            results.append(zeros_like(inner.symbol(body.outputs[place])) if own is None else own)
        return [graph.own(x) for x in results]

    zero = dispatch.context.base.constant(number.dtype.numpy_dtype.type(0))
    initial = [zero, *start]
    found = apply_loop(condition, step, initial, helper.avals(initial, z))
    results: list = [None] * len(z)
    for place, value in zip(places, found[1:-1]):
        results[place] = value
    return tuple(results)


OPERATIONS.update(
    branch_vjp=branch_vjp,
    branch_jvp=branch_jvp,
    loop_vjp=loop_vjp,
    loop_jvp=loop_jvp,
    accumulate=accumulate,
)
