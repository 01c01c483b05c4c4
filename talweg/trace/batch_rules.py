"""Batch rules of branches, loops and calls of functions.

A body is traced again with the batch axis in front of what differs from slice to slice; equal
nodes, the history of what runs and derivatives follow, since it is a body like any other.  Where
slices take different branches, or make different numbers of iterations, and where a body has
effects, everything is done for one slice after the other: in a loop, so derivatives go through, and
nothing is computed for a slice that the slice alone would not compute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dim_walks import substitute
from talweg.core.dims import Atom, Dim, of_atom, same_dims
from talweg.core.dtypes import int32, variant
from talweg.core.errors import InvalidArgumentError, NeedsStaticError, UnevenSlicesError
from talweg.core.hooks import hooks
from talweg.core.roles import Role
from talweg.eager.convert import convert_to_tensor
from talweg.graph.contents import element
from talweg.graph.node import Node
from talweg.graph.subgraph import Body, Tangents
from talweg.prims import control
from talweg.prims.arithmetic import add, less
from talweg.prims.control import keep_fixed_dims
from talweg.prims.lists import elements
from talweg.prims.rows import (
    EVEN,
    UNEVEN,
    Kinds,
    find_dims,
    history_rows,
    in_front,
    more_dims,
    rows_list,
    rows_of,
    rows_stack,
)
from talweg.prims.state import ensure_dims, size_value
from talweg.trace.bodies import BodyGraph, apply_loop, captures_of
from talweg.transform.batch import with_kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.dims import Size
    from talweg.core.primitive import Primitive
    from talweg.graph.symbol import Symbol


class NoBatchedBodyError(Exception):
    """A refusal: a body cannot run for all slices at once."""


class BatchedNodes(Tangents):
    """A map from nodes of batched bodies to nodes of the bodies for one slice.

    rows: (node, its batched node, kind).
    """

    __slots__ = ("rows",)

    def __init__(self, bodies: list, rows: tuple):
        super().__init__(bodies, tuple([(node, part) for node, part, _ in rows]))
        self.rows = rows


class Batching:
    """The trace of a body for `size` slices whose inputs are of these kinds.

    `carried`: how many inputs change from iteration to iteration, so that the history has them.
    """

    def __init__(self, body: Body, kinds: tuple, size: Any, carried: int = 0):
        self.body, self.carried = body, carried
        self.values: dict[Node, tuple[Any, int]] = {}
        self.graph = BodyGraph(f"{body.name}_batched")
        self.outputs: list[tuple[Any, int]] = []
        self.rows: list[tuple[Node, Any, int]] = []
        self.size = size
        if body.has_effects:
            raise NoBatchedBodyError
        for node, kind in zip(body.inputs, kinds):
            self._add_input(node, kind)
        self._trace()

    @property
    def kinds(self) -> tuple:
        """The kinds of the results."""
        return tuple([kind for _, kind in self.outputs])

    def _add_input(self, node: Node, kind: int) -> None:
        graph, dims, size = self.graph, node.aval.dims, self.size
        if dims is not None:
            dims = tuple([self._size(d) for d in dims])
            if kind and node.aval.dtype is not variant:
                dims = (graph.sizes.get(size) if type(size) is Dim else size, *dims)
        symbol = graph.placeholder(dims, node.aval.dtype)
        graph.input_nodes.append(symbol.node)
        if type(size) is Dim and kind and dims:
            graph.sizes.setdefault(size, symbol.dims[0])
            graph.table.symbolic = True
        self.values[node] = symbol, kind

    def _trace(self) -> None:
        """Build every node of the body."""
        graph, body = self.graph, self.body
        with dispatch.only(()), graph.as_default():
            if type(self.size) is Dim:
                self.size = graph.size_inside(self.size)
            for node in body.nodes_with(body.asked):
                if node not in self.values:
                    self._make(node)
            self.outputs = [self.values[node] for node in body.outputs]
            self._note_rows()

    def _make(self, node: Node) -> None:
        prim, graph = node.prim, self.graph
        if prim.role is Role.CONSTANT:
            self.values[node] = graph.constant(node.params["value"].array), 0
            return
        if prim.role is Role.PROJECTION:
            results, kinds = self.values[node.inputs[0]]
            index = node.params["index"]
            self.values[node] = results[index], kinds[index]  # type: ignore[index]
            self._claim(node)
            return
        pairs = [self.values[source] for source in node.operands]
        operands, kinds = [x for x, _ in pairs], tuple([kind for _, kind in pairs])
        params = {key: self._inside(value) for key, value in node.params.items()}
        if not any(kinds):
            results = prim(*operands, **params)
            unbatched = (0,) * len(results) if prim.multiple else 0
        else:
            if prim.role is Role.CUSTOM_RULE:  # the rule knows the tensors of one slice
                raise NoBatchedBodyError
            results, unbatched = with_kinds(prim, self.size, kinds, operands, params)
            unbatched = unbatched if prim.multiple else unbatched[0]
        self.values[node] = results, unbatched  # type: ignore[assignment]
        if not prim.multiple:
            self._claim(node)

    def _claim(self, node: Node) -> None:
        """Refine the value's dimensions by those of the node."""
        value, kind = self.values[node]
        if node.aval.dims is None or value.dtype is variant:
            return
        dims: Any = tuple([self._size(d) for d in node.aval.dims])
        dims = more_dims(self.size, dims) if kind else dims
        value_dims = find_dims(value)
        try:
            if value_dims is not None and same_dims(value_dims, dims):
                return
        except NeedsStaticError:
            pass
        if value_dims is not None:  # what is known here may be more
            pairs = zip(value_dims, dims)
            dims = tuple([a if b is None or type(a) is int else b for a, b in pairs])
            if all([a is b for a, b in zip(value_dims, dims)]):
                return
        shape = tuple([size if type(size) is int else None for size in dims])
        graph = self.graph
        slice_aval = graph.apply(
            ensure_dims, (("shape", shape),), graph.nodes_of((value,)), Aval(dims, value.dtype)
        )
        self.values[node] = slice_aval, kind

    def _inside(self, value: object) -> Any:
        """Return a parameter with sizes of the batched body."""
        if type(value) is tuple:
            return tuple([self._inside(part) for part in value])
        if type(value) is not Dim:
            return value
        found = self._size(value)
        if found is None:
            raise NoBatchedBodyError
        return found

    def _size(self, size: Any) -> Any:
        """Return a size of the body as one of the batched body; None if it is not known yet."""
        return substitute(size, self._atom) if type(size) is Dim else size

    def _atom(self, atom: Atom) -> Any:
        source = atom.source
        if source is None or source not in self.values:
            table = self.body.table
            return None if source is None or source.table is table else of_atom(atom)
        value, kind = self.values[source]
        if atom.kind == "size":
            dims = find_dims(value)
            return None if dims is None else dims[atom.place + (1 if kind else 0)]
        if kind:  # a size that differs from slice to slice
            raise NoBatchedBodyError
        return element(value.node, atom.place)

    def _note_rows(self) -> None:
        """Record the residuals' kind for each inner node."""
        body = self.body
        outside = set(body.inputs[self.carried :])
        for node in body.nodes_with(body.asked):
            if node in outside or node.prim.role in (Role.CONSTANT, Role.PROJECTION):
                continue
            value, kind = self.values[node]
            if node.prim.multiple:
                kinds: Any = kind  # one of each result
                self.rows.extend(zip(body.results_of(node), value, kinds))
            else:
                self.rows.append((node, value, kind))

    def finish(self, least: tuple) -> None:
        """Generalize the results to at least these kinds."""
        graph = self.graph
        pairs = zip(self.outputs, least)
        with dispatch.only(()), graph.as_default():
            graph.results = [
                graph.own(in_front(value, self.size, kind or not wanted))
                for (value, kind), wanted in pairs
            ]
        self.outputs = [
            (value, max(kind, wanted))
            for value, (_, kind), wanted in zip(graph.results, self.outputs, least)
        ]
        graph.asked = [graph.own(value).node for _, value, _ in self.rows]

    def close(self, captures: list) -> Body:
        """Return the body; `rows` are of its nodes then."""
        graph = self.graph
        rows = [(node, graph.own(value).node, kind) for node, value, kind in self.rows]
        body = graph.body(captures)
        if body is not graph.made:
            place = {node: i for i, node in enumerate(graph.made.nodes)}  # type: ignore
            rows = [(node, body.nodes[place[part]], kind) for node, part, kind in rows]
        self.rows = rows
        self.outputs = [(None, kind) for _, kind in self.outputs]
        self.values = {}
        return body


class Batched:
    """Bodies that are batched versions of bodies for one slice, and their captures."""

    def __init__(self, bodies: list, traces: list[Batching]):
        captures = captures_of([trace.graph for trace in traces])
        self.bodies = tuple([trace.close(captures) for trace in traces])
        self.captures = captures
        self.kinds = traces[0].kinds
        rows = tuple(dict.fromkeys([row for trace in traces for row in trace.rows]))
        self.kind = max([kind for _, _, kind in rows], default=EVEN) or EVEN
        self.nodes = BatchedNodes(bodies, rows)

    def history(self, history: Any, size: Size) -> tuple[Any, int]:
        """Return the residuals by the nodes of the bodies for one slice, and their kind."""
        context = dispatch.context
        if context.base is None and not context.recorders and not context.keep_inside:
            return elements.variant_zero(), 0
        return history_rows(history, nodes=self.nodes, size=size), self.kind


def _apart(size: Size) -> bool:
    """Return whether results for this size are valid everywhere."""
    return type(size) is int


def _trace_apart(size: Size, make: Callable[..., Any]) -> Any:
    """Run `make()`, traced apart from the graph in force if the size is known."""
    context = dispatch.context
    before = context.base
    if _apart(size):
        context.base = None
    try:
        return make()
    except (NoBatchedBodyError, NeedsStaticError, UnevenSlicesError):
        return None
    finally:
        context.base = before


def call_batch(prim: Primitive, size: Size, kinds: tuple, operands: tuple, body: Body) -> Any:
    """Apply the batch rule of `call` and `again`."""
    key = ("batched", prim.name, size, kinds, bool(dispatch.context.mapped))
    batched = body.programs.get(key) if _apart(size) else None
    if batched is None:

        def make() -> Batched:
            trace = Batching(body, kinds, size)
            trace.finish((0,) * len(body.outputs))
            return Batched([body], [trace])

        batched = _trace_apart(size, make)
        if batched is None:
            return NotImplemented
        if _apart(size):
            body.programs[key] = batched
    *results, history = prim(*operands, *batched.captures, body=batched.bodies[0])
    if prim is control.again:
        return Kinds((*results, history), (*batched.kinds, 0))
    history, kind = batched.history(history, size)
    return Kinds((*results, history), (*batched.kinds, kind))


def branch_batch(size: Size, kinds: tuple, operands: tuple, bodies: tuple) -> Any:
    """Apply the batch rule of `branch`; none where slices differ in their branch."""
    if kinds[0]:
        return NotImplemented

    def make() -> Batched:
        traces = [Batching(body, kinds[1:], size) for body in bodies]
        least = tuple(
            [max(kinds_of_result) for kinds_of_result in zip(*[trace.kinds for trace in traces])]
        )
        for trace in traces:
            trace.finish(least)
        return Batched(list(bodies), traces)

    batched = _trace_apart(size, make)
    if batched is None:
        return NotImplemented
    *results, history = control.branch(*operands, *batched.captures, bodies=batched.bodies)
    history, kind = batched.history(history, size)
    return Kinds((*results, history), (*batched.kinds, kind))


def loop_batch(
    size: Size, kinds: tuple, operands: tuple, cond: Body, body: Body, count: int, avals: tuple
) -> Any:
    """Apply the batch rule of `loop`; none where slices differ in their trip count."""
    own: list = []

    def make() -> Batched:
        carried = kinds[:count]
        while True:
            inside = (*carried, *kinds[count:])
            traces = [Batching(cond, inside, size), Batching(body, inside, size, count)]
            if traces[0].kinds[0]:
                raise NoBatchedBodyError
            new_kinds = tuple(map(max, carried, traces[1].kinds))
            if new_kinds == carried:
                break
            carried = new_kinds
        own.append(carried)
        traces[0].finish((0,))
        traces[1].finish(carried)
        traces[0].rows = []
        batched = Batched([body], traces)
        batched.kinds = carried
        return batched

    batched = _trace_apart(size, make)
    if batched is None:
        return NotImplemented
    carried = own[0]
    first = [
        in_front(x, size, kind or not wanted) for x, kind, wanted in zip(operands, kinds, carried)
    ]
    known = tuple(
        [
            (more_dims(size, dims) if kind and dtype is not variant else dims, dtype)
            for (dims, dtype), kind in zip(avals, carried)
        ]
    )
    *results, history = control.loop(
        *first,
        *operands[count:],
        *batched.captures,
        cond=batched.bodies[0],
        body=batched.bodies[1],
        count=count,
        avals=known,
    )
    history, kind = batched.history(history, size)
    return Kinds((*results, history), (*carried, kind))


# -- one slice after the other


def for_each_slice(prim: Primitive, size: Size, kinds: tuple, operands: list, params: dict) -> Any:
    """Apply `prim` to each slice, in a loop over the slices."""
    sources = [_slices(x, size, kind) if kind else x for x, kind in zip(operands, kinds)]
    slice_results: list = []

    def step(variables: list) -> list:
        index, *own = variables
        slices = [
            _slice(x, source, index) if kind else source
            for x, source, kind in zip(operands, sources, kinds)
        ]
        slices_of = prim(*slices, **params)
        slices_of = slices_of if prim.multiple else (slices_of,)
        slice_results[:] = [_outside(z.aval) for z in slices_of]
        rows = [
            elements.list_set(row, index, z, limited=False)
            for row, z in zip(own or [None] * len(slices_of), slices_of)
        ]
        return [add(index, 1), *rows]

    convert = convert_to_tensor
    number = convert(size, int32) if _apart(size) else size_value(size=size, dtype=int32)
    results = _count_of_results(prim, operands, kinds, params)
    start = [convert(0, int32), *[elements.list_new(number) for _ in range(results)]]
    avals = [Aval((), int32), *[Aval((), variant)] * results]
    *finals, _ = apply_loop(lambda own: less(own[0], number), step, start, avals)
    return _join_slices(finals[1:], slice_results, size, prim.multiple)


def _count_of_results(prim: Primitive, operands: list, kinds: tuple, params: dict) -> int:
    """Count the results of `prim`."""
    if not prim.multiple:
        return 1
    avals = []
    for x, kind in zip(operands, kinds):
        aval = x.aval if hasattr(x, "aval") else Aval(x.dims, x.dtype)
        less_one = kind and aval.dims is not None and aval.dtype is not variant
        avals.append(Aval(aval.dims[1:], aval.dtype) if less_one else aval)  # type: ignore
    return len(prim.infer(*avals, **params))


def _slices(x: Any, size: object, kind: int) -> Any:
    """Return the slices of an operand, as a list."""
    return rows_list(x, size=size) if x.dtype is variant else elements.list_from(x)


def _slice(x: Any, source: object, index: Symbol) -> Any:
    """Return one slice, with the dimensions known of all slices."""
    graph = dispatch.context.base
    if x.dtype is variant:
        return elements.list_get(source, index, dims=(), dtype=variant)
    dims = find_dims(x)
    if dims is not None:
        dims = tuple([graph.size_inside(size) for size in dims[1:]])
    aval = Aval(dims, x.dtype)
    params = (("dims", keep_fixed_dims(aval)), ("dtype", x.dtype))
    # Not `list_get`: what nobody has computed, since no slice needs it, may be absent.
    return graph.apply(elements.list_take, params, graph.nodes_of((source, index)), aval)


def _outside(aval: Aval) -> Aval:
    """Return the abstract value that holds of every slice's result."""
    graph: Any = dispatch.context.base
    if aval.dims is None:
        return aval
    shared = {inside: outside for outside, inside in graph.sizes.items() if type(inside) is Dim}
    dims = [substitute(size, lambda atom: shared.get(of_atom(atom))) for size in aval.dims]
    return Aval(tuple(dims), aval.dtype)


def _join_slices(found: list, made: list, size: Size, multiple: bool) -> Any:
    """Join the results of all slices."""
    results = []
    for values, aval in zip(found, made):
        if aval.dtype is variant:
            results.append(rows_of(values, size=size))
        else:
            results.append(_stack_slices(values, aval, size))
    kinds = tuple([UNEVEN if aval.dtype is variant else EVEN for aval in made])
    return Kinds(tuple(results) if multiple else results[0], kinds)


def _stack_slices(values: object, aval: Aval, size: Size) -> Any:
    """Stack the results of all slices, tensors with an abstract value common to all."""
    context = dispatch.context
    params = {"dims": aval.dims, "dtype": aval.dtype, "size": size}
    if aval.dims is not None and None not in aval.dims:
        return rows_stack(values, **params)
    if context.base is not None and context.mapped:
        raise UnevenSlicesError
    try:
        return rows_stack(values, **params)
    except InvalidArgumentError:
        if context.mapped:
            raise UnevenSlicesError from None
        raise


hooks.call_batch = call_batch
hooks.branch_batch = branch_batch
hooks.loop_batch = loop_batch
hooks.for_each_slice = for_each_slice
