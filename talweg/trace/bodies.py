"""Tracing of Python functions into bodies, and application of branches and loops to them.

A body's inputs are what it captured: the bodies of one operation get the union of their captures,
in the order of first use.  Reads of variables are captured too, so gradients by them flow; a loop
that writes a variable reads it inside.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dims import same
from talweg.core.dtypes import variant
from talweg.core.hooks import hooks
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.graph.function_graph import FunctionGraph
from talweg.graph.handle import Handle
from talweg.graph.node import Node
from talweg.graph.subgraph import Body
from talweg.graph.symbol import Symbol
from talweg.graph.walk import postorder
from talweg.prims import control
from talweg.prims.arithmetic import zeros_of
from talweg.prims.control import is_fixed
from talweg.prims.layout import broadcast_to
from talweg.prims.lists.elements import variant_zero
from talweg.trace.variable_reads import as_of_operation

if TYPE_CHECKING:
    from talweg.core.dims import Atom
    from talweg.core.primitive import Primitive

_bodies: Any = weakref.WeakValueDictionary()


def canonical(body: Body) -> Body:
    """Return the first live body equal to `body`."""
    return _bodies.setdefault(body.key, body)


class BodyGraph(FunctionGraph):
    """A body under construction.

    `view`, while a derived body is traced, says what sizes of the body it derives from are here.
    """

    def __init__(self, name: str, inside: frozenset = frozenset()):
        base = dispatch.context.base
        super().__init__(name, as_v1=base is not None and not base.building_function)
        self.inside = inside  # variables that must be read here, not outside
        self.results: list[Symbol | None] = []
        self.recorders = dispatch.context.recorders
        self.view: Any = None
        self.made: Body | None = None
        self.used_body: Body | None = None  # an equal one that was there before, or `made`
        self.asked: list[Node] = []  # nodes that may be asked for from outside, beside results

    def bind(self, prim: Primitive, operands: tuple, params: dict) -> Any:
        if prim is zeros_of and type(operands[0]) is Symbol and is_fixed(operands[0]):
            return self.zeros(operands[0])  # so the operand need not be kept for its shape
        return super().bind(prim, operands, params)

    def bring_in(self, value: object) -> Symbol:
        if type(value) is Symbol:
            if self.sees(value):
                return self.view(value.node)
            if isinstance(self.outer, BodyGraph) and self.outer.sees_deep(value):
                value = self.outer.bring_in(value)
        return super().bring_in(value)

    def sees(self, value: Symbol) -> bool:
        """Return whether `value` belongs to the body that this one is derived from."""
        return self.view is not None and value.node.table is self.view.inner.body.table

    def sees_deep(self, value: Symbol) -> bool:
        """Return whether this graph, or an outer one, has a value for `value`."""
        outer = self.outer
        return self.sees(value) or (isinstance(outer, BodyGraph) and outer.sees_deep(value))

    def outside(
        self, prim: Primitive, operand: object, params: dict, aval: Aval | None = None
    ) -> Symbol:
        """Apply `prim` in the outer graph, shown to its recorders; the result in here."""
        with self.outer_context(), dispatch.only(self.recorders):
            outer = dispatch.context.base
            if outer is None:
                return self.bring_in(prim(operand, **params))
            if type(operand) is not Symbol:  # of a batch: its interpreter takes it
                return self.own(prim(operand, **params))
            nodes = outer.nodes_of((operand,))
            value = outer.apply(prim, tuple(params.items()), nodes, aval)
            for recorder in self.recorders:
                recorder.record(prim, (operand,), value, params)
        return self.own(value)

    def zeros(self, x: Symbol) -> Symbol:
        """Return zeros in the known shape of `x`."""
        if x.dtype is variant:
            return variant_zero()
        zero = self.constant(x.dtype.numpy_dtype.type(0))
        return broadcast_to(zero, shape=x.dims) if x.dims else zero

    def _atom_inside(self, atom: Atom) -> Any:
        found = None if self.view is None else self.view.size(atom)
        return super()._atom_inside(atom) if found is None else found

    def _start_of(self, handle: Handle) -> Symbol:
        """Return the variable's value outside; its read is shown to the recorders there."""
        if self.outer is None:
            return self.capture_variable(handle)
        with self.outer_context(), dispatch.only(self.recorders):
            value = handle.variable.value()
        return self.bring_in(value)

    def run(self, function: Callable[[], list]) -> None:
        """Trace `function`, which gives tensors and Nones, along every path it takes."""
        try:
            with dispatch.only(()), self.as_default():
                found = hooks.trace_paths(self, function)
                self.results = [None if x is None else self.own(x) for x in found]
        finally:
            self.view = None

    def own(self, value: object) -> Symbol:
        """Return `value` as a tensor of this graph."""
        if type(value) is not Symbol and not isinstance(value, Tensor):
            value = convert_to_tensor(value)
        if type(value) is Symbol and value.node.table is self.table:
            return value
        return self.bring_in(value)

    def find_used(self) -> list:
        """Return the values captured that results or effects depend on, or wait for."""
        needed: dict[Node, None] = {}
        results = [x.node for x in self.results if x is not None]
        postorder([*self.effects, *results, *self.asked], needed)
        needed.update(dict.fromkeys(self.waited))
        return [value for value, node in self.captured.values() if node in needed]

    def body(self, captures: list) -> Body:
        """Return the closed body, with one input for each of its own and each outer value captured.

        If an equal body is there already, that one.
        """
        inputs = list(self.input_nodes)
        for value in captures:
            captured = self.captured.get(id(value))
            inputs.append(self._input(aval_of(value)).node if captured is None else captured[1])
        outputs = [x.node for x in self.results if x is not None]
        self.closed = True
        effects = self.find_forced()
        self.made = Body(self.function_name, tuple(inputs), tuple(outputs), effects, self.asked)
        self.used_body = canonical(self.made)
        self.let_go()
        return self.used_body

    def let_go(self) -> None:
        """Release the graph's tensors, which would keep it and other values alive."""
        self.results, self.captured, self.waited = [], {}, set()


def aval_of(value: object) -> Aval:
    aval: Any = getattr(value, "aval", None)  # of a tensor with a value its own is enough
    return Aval(value.dims, value.dtype) if aval is None else aval


def captures_of(graphs: list) -> list:
    """Return the captures that the graphs use, each once."""
    found: dict[int, Any] = {}
    for graph in graphs:
        for value in graph.find_used():
            found.setdefault(id(value), value)
    return list(found.values())


def apply_branch(index: object, graphs: list) -> list:
    """Build `branch` of traced graphs, with results of equal dtypes; residuals last."""
    captures = captures_of(graphs)
    bodies = tuple([graph.body(captures) for graph in graphs])
    note_writes(graphs)
    captures = as_of_operation(captures, [index])
    return list(control.branch(index, *captures, bodies=bodies))


def note_writes(graphs: list) -> None:
    """Record in the outer graph that operations with these bodies write variables."""
    base = dispatch.context.base
    if base is None or not isinstance(base, FunctionGraph):
        return
    for graph in graphs:
        base.pending_writes.update(dict.fromkeys(graph.writes))


def apply_loop(
    condition: Callable[[list], Any],
    body: Callable[[list], list],
    initial: list,
    avals: list,
    check: Callable[[Any], None] | None = None,
) -> list:
    """Build `loop` and return the variables at the end, residuals last.

    `avals` is what is known of each variable in every iteration (None dimensions may change); it
    is loosened until the body keeps it.  `check` is shown the traced body.
    """
    inside: frozenset = frozenset()
    avals = list(avals)
    while True:
        graphs = [
            trace_loop(function, avals, inside, name)
            for function, name in ((condition, "condition"), (body, "body"))
        ]
        if check is not None:
            check(graphs[1])
        written = frozenset(variable for graph in graphs for variable in graph.writes)
        loosened = [
            common(aval, node.aval, result.node.aval)
            for aval, node, result in zip(avals, graphs[1].input_nodes, graphs[1].results)
        ]
        if written <= inside and all(a is b for a, b in zip(avals, loosened)):
            break
        inside |= written
        avals = loosened
        for graph in graphs:
            graph.let_go()
    captures = captures_of(graphs)
    bodies = [graph.body(captures) for graph in graphs]
    note_writes(graphs)
    known = tuple([(aval.dims, aval.dtype) for aval in avals])
    captures = as_of_operation(captures, initial)
    return list(
        control.loop(
            *initial, *captures, cond=bodies[0], body=bodies[1], count=len(initial), avals=known
        )
    )


def trace_loop(
    function: Callable[[list], Any],
    avals: list,
    inside: frozenset = frozenset(),
    name: str = "body",
) -> BodyGraph:
    """Trace a function of loop variables into a graph."""
    graph = BodyGraph(name, inside)
    arguments = [graph.add_input(aval) for aval in avals]

    def call() -> list:
        results = function(arguments)
        return results if isinstance(results, list) else [results]

    graph.run(call)
    return graph


def common(aval: Aval, before: Aval, after: Aval) -> Aval:
    """Return the abstract value of a loop variable, without facts that an iteration changes."""
    if aval.dims is None:
        return aval
    if before.dims is None or after.dims is None or len(before.dims) != len(after.dims):
        return Aval(None, aval.dtype)
    kept = [same(a, b) for a, b in zip(before.dims, after.dims)]
    loose = [size is None for size in aval.dims]
    if all(keep or free for keep, free in zip(kept, loose)):
        return aval
    return Aval(tuple([d if keep else None for d, keep in zip(aval.dims, kept)]), aval.dtype)
