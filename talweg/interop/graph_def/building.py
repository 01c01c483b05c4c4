"""Building a graph from checked nodes: each by its rule, or by the operation of tf.raw_ops.

A `Builder` holds what one import has in common; a `Scope` the values of one region (the graph, a
function, a branch or a loop of the first generation).
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.dtypes import int32, resource, variant
from talweg.core.errors import (
    InvalidArgumentError,
    NeedsStaticError,
    NotFoundError,
    ResourceExhaustedError,
    UnimplementedError,
    compose,
)
from talweg.core.value import Tensor
from talweg.eager.tensor import wrap
from talweg.graph.structure import map_leaves
from talweg.graph.symbol import Symbol, constant_of
from talweg.interop.graph_def.flows import FORWARD, GRADIENT, Flows
from talweg.interop.graph_def.loop_form import build_loop
from talweg.interop.graph_def.reading import FunctionRecord, NodeRecord, Reference
from talweg.interop.graph_def.regions import (
    PASSING,
    STRUCTURE,
    SWITCH,
    CondRegion,
    LoopFrame,
    Planner,
    Regions,
)
from talweg.interop.graph_def.scopes import ImportScope, Namer
from talweg.interop.graph_def.values import RULES, ResourceEdge, base, raw_operation, tensor
from talweg.prims import arithmetic
from talweg.prims.lists.elements import variant_zero
from talweg.trace import control
from talweg.trace.bodies import BodyGraph, apply_branch
from talweg.trace.function import Function as TracedFunction
from talweg.trace.kept_operations import keep

if TYPE_CHECKING:
    from talweg.core.dtypes import DType

INLINED = 1_000_000  # nodes of functions that one import may build
SHORT = 60  # nodes of a function that is built wherever it is used
NESTED = 100  # functions inside one another


class GraphBuilder:
    """One import: the library of functions, and how deep and how much has been built."""

    def __init__(self, functions: Any):
        self.messages = functions
        self.functions: dict[str, FunctionRecord] = {}
        self.regions: dict[str, Regions] = {}
        self.active: list[str] = []
        self.built = 0
        self.lengths: dict[str, int] = {}  # nodes of a function, with those of what it calls
        self.traced: dict[str, Any] = {}  # functions that are called, not built again
        self.tracing: set[str] = set()
        self.mapped: dict[Reference, Any] = {}  # inputs replaced by the user's tensors
        self.namer: Namer | None = None
        self.writes: dict[str, frozenset] = {}  # node -> variables written before its result
        self.present: dict[str, Any] = {}  # variables of the graph by name
        self.tables: Any = None  # tables by name, if they are not the graph's
        self.planner: Any = None  # of what is being built
        self.stacked: dict[tuple, Any] = {}  # handles of arrays that are put on stacks

    @property
    def names_nodes(self) -> bool:
        """Whether what is built is not in a function, and gets the names of its nodes."""
        return self.namer is not None and not self.active

    # -- regions

    def region(self, planner: Planner, path: tuple, wanted: list[Any], scope: ImportScope) -> None:
        """Build the nodes of a region that the `wanted` ones need."""
        before, self.planner = self.planner, planner
        for unit in planner.plan(path, wanted, scope.is_built):
            if isinstance(unit, NodeRecord):
                self.item(unit, planner, scope)
            elif isinstance(unit, CondRegion):
                self._choice(unit, planner, scope)
            else:
                self._loop(unit, planner, scope)
        self.planner = before

    @property
    def flows(self) -> Flows:
        """The flows of TensorArrays in the graph or function that is being built."""
        regions = self.planner.regions
        if regions.flows is None:
            regions.flows = Flows(regions.items)
        return regions.flows

    def _as_flow(self, value: Any, source: Reference, merge: NodeRecord) -> Any:
        """Return a tensor for a Merge; an empty list for what is none among arrays' gradients."""
        value = tensor(value)
        kind = self.flows.kind((merge.name, 0)) if type(value) is Symbol else None
        if kind is None:
            return value
        begins = kind == GRADIENT and self.flows.kind(source) == FORWARD
        return variant_zero() if begins or value.dtype is not variant else value

    def item(self, item: NodeRecord, planner: Planner, scope: ImportScope) -> None:
        """Build one node."""
        if item.op in STRUCTURE:
            value = self.input(item, item.inputs[0], scope)
            outputs = [value, value] if item.op in SWITCH else [value]
            scope.set(item.name, outputs, None)
            return
        inputs = [self.input(item, reference, scope) for reference in item.inputs]
        controls = [scope.control(name) for name in item.controls]
        controls = [control for control in controls if control is not None]
        outputs, control = self.result(item, inputs, controls + self._before_reads(item, inputs))
        if self.names_nodes and scope.outer is None:
            assert self.namer is not None
            with self._waiting(controls):
                outputs = self.namer.name(item, outputs, inputs, control)
        if control is None:
            control = next((_wait_for(x) for x in outputs if _wait_for(x) is not None), None)
        scope.set(item.name, outputs, control)

    def input(self, item: NodeRecord, reference: Reference, scope: ImportScope) -> Any:
        """Return the value of an input."""
        if not self.active and reference in self.mapped:
            return self.mapped[reference]
        try:
            return scope.value(reference)
        except KeyError:
            raise item.error(f"input '{reference[0]}:{reference[1]}' has no value here") from None

    def _before_reads(self, item: NodeRecord, inputs: list) -> list:
        """Find the inputs after which a variable of the first generation is read: its changes.

        Such a variable is read when its reader runs, which is after all other inputs are there.
        """
        names = [*[name for name, _ in item.inputs], *item.controls]
        written = frozenset().union(*[self.writes[name] for name in names if name in self.writes])
        changed = [x.handle for x in inputs if isinstance(x, ResourceEdge) and x.reference]
        if changed and any(part.reference for part in item.operation.inputs):
            written |= frozenset(changed[:1])
        if written:
            self.writes[item.name] = written
        wanted = {x.handle for x in inputs if isinstance(x, ResourceEdge) and x.written is None}
        return [
            x
            for x, (name, _) in zip(inputs, item.inputs)
            if type(x) is Symbol and wanted & self.writes.get(name, frozenset())
        ]

    def _waiting(self, controls: list) -> Any:
        graph = base()
        if not controls or hasattr(graph, "outer"):
            return nullcontext()  # in a function, effects happen in order anyway
        return graph.control_dependencies(controls)

    def result(self, item: NodeRecord, inputs: list, controls: list) -> tuple[list, Any]:
        """Build a node: (its outputs, its control edge if it has none); errors name the node."""
        try:
            with self._waiting(controls):
                inputs = self._check_inputs(item, inputs)
                result = (
                    RULES[item.op](self, item, inputs)
                    if item.op in RULES
                    else (self.call(item, inputs))
                )
            return self._outputs(item, result)
        except (UnimplementedError, NotFoundError, ResourceExhaustedError, RecursionError):
            raise
        except NeedsStaticError as error:
            raise UnimplementedError(
                None, None, compose("TW506", f"{item.described} cannot be built: {error}")
            ) from error
        except InvalidArgumentError as error:
            raise self._said(item, error) from error
        except (ValueError, TypeError, KeyError, AttributeError, LookupError) as error:
            raise self._said(item, error) from error

    def _said(self, item: NodeRecord, error: Exception) -> ValueError:
        text = str(error)
        return error if item.described in text else item.error(text)  # type: ignore[return-value]

    def _check_inputs(self, item: NodeRecord, inputs: list) -> list:
        """Check the dtypes of the inputs by the type of operation; other values become tensors."""
        wanted = []
        checked = []
        for part in item.operation.inputs:
            wanted += [(dtype, part) for dtype in part.dtypes(item.attributes)]
        for number, (value, (dtype, part)) in enumerate(zip(inputs, wanted)):
            if not part.reference and item.op not in PASSING:
                value = tensor(value)
            if type(value) is Symbol:
                own = value.dtype
                if own is not dtype and variant not in (own, dtype):
                    raise item.error(
                        f"input {number} ({part.name}) is {own.name}, but the node says "
                        f"{dtype.name}"
                    )
            elif dtype is not resource and not isinstance(value, ResourceEdge):
                raise item.error(f"input {number} ({part.name}) has no value that can be used")
            checked.append(value)
        return checked

    def _outputs(self, item: NodeRecord, result: object) -> tuple[list, Any]:
        wanted = [
            dtype for part in item.operation.outputs for dtype in part.dtypes(item.attributes)
        ]
        if not wanted:
            return [], result if not isinstance(result, (list, tuple)) else None
        outputs = list(result) if isinstance(result, (list, tuple)) else [result]
        outputs = [
            base().bring_in(x) if isinstance(x, Tensor) and type(x) is not Symbol else x
            for x in outputs
        ]
        if len(outputs) != len(wanted):
            raise item.error(f"it gives {len(outputs)} outputs instead of {len(wanted)}")
        outputs = [_to_complex(x, dtype) for x, dtype in zip(outputs, wanted)]
        for number, (value, dtype) in enumerate(zip(outputs, wanted)):
            if _differs(value, dtype):
                raise item.error(
                    f"output {number} is {value.dtype.name}, but the node says {dtype.name}"
                )
        return outputs, None

    def call(self, item: NodeRecord, inputs: list) -> Any:
        """Call the operation of tf.raw_ops of that type."""
        function, names = raw_operation(item.op)
        if function is None:
            raise UnimplementedError(
                None,
                None,
                compose("TW506", f"{item.described}: talweg has no operation of this type"),
            )
        arguments: dict[str, Any] = {}
        start = 0
        for nth, part in enumerate(item.operation.inputs):
            count = part.count(item.attributes)
            given = inputs[start : start + count]
            name = part.keyword if part.keyword in names else names[nth]
            arguments[name] = given if part.is_list else given[0]
            start += count
        for name, value in item.attributes.items():
            name = item.operation.renamed.get(name, name)
            if name in names:
                arguments[name] = value
        try:
            return dispatch.state.in_graph(function, (), arguments)
        except NeedsStaticError:  # constants as such may tell enough
            arguments = map_leaves(_static_tensor, arguments)
        try:
            return dispatch.state.in_graph(function, (), arguments)
        except NeedsStaticError:
            dtypes = [t for part in item.operation.outputs for t in part.dtypes(item.attributes)]
            return keep(function, arguments, dtypes)

    # -- branches and loops of the first generation

    def _choice(self, choice: CondRegion, planner: Planner, scope: ImportScope) -> None:
        first = planner.regions.first_of(choice)
        predicate = tensor(self.input(first, choice.predicate, scope))
        index = arithmetic.cast(arithmetic.logical_not(predicate), dtype=int32)

        def side(which: int) -> Any:
            def run() -> list:
                inner = ImportScope(scope)
                places = [on if which == 1 else 1 - on for _, on in choice.merges]
                sources = [m.inputs[p] for (m, _), p in zip(choice.merges, places)]
                self.region(planner, choice.inside(which), choice.list_branch_nodes(which), inner)
                merged = [
                    self._as_flow(inner.value(source), source, merge)
                    for source, (merge, _) in zip(sources, choice.merges)
                ]
                for (merge, _), value in zip(choice.merges, merged):
                    if not isinstance(value, Tensor):
                        raise merge.error("a branch gives what is no tensor")
                return merged

            return run

        results = self._branches(first, index, [side(1), side(0)])
        for (merge, on), value in zip(choice.merges, results):
            taken = predicate if on == 1 else arithmetic.logical_not(predicate)
            outputs = [value, arithmetic.cast(taken, dtype=int32)]
            if self.names_nodes and scope.outer is None:
                outputs = self.namer.name(merge, outputs, [], None)
            scope.set(merge.name, outputs, value)
        for name, _ in choice.effects:
            scope.set(name, [], results[0])

    def _branches(self, item: NodeRecord, index: Symbol, functions: list) -> list:
        graphs = []
        for number, function in enumerate(functions):
            graph = BodyGraph(f"{item.op}_{number}")
            graph.run(function)
            graphs.append(graph)
        if len({len(graph.results) for graph in graphs}) > 1:
            raise item.error("its branches give different numbers of results")
        for first, *others in zip(*[graph.results for graph in graphs]):
            for other in others:
                if first.dtype is not other.dtype:
                    raise item.error(f"its branches give {first.dtype.name} and {other.dtype.name}")
        *results, history = apply_branch(index, graphs)
        return results or [history]

    def _loop(self, frame: LoopFrame, planner: Planner, scope: ImportScope) -> None:
        leaving = {exit.name: planner.regions.merge_behind(exit) for exit in frame.exits}
        merges, condition = frame.merges, frame.condition
        initial = []
        for merge in merges:
            enter = planner.regions.items[merge.inputs[0][0]]
            value = self.input(enter, enter.inputs[0], scope)
            initial.append(self._as_flow(value, enter.inputs[0], merge))

        def inner_scope(variables: list) -> ImportScope:
            inner = ImportScope(scope)
            for merge, value in zip(merges, variables):
                inner.set(merge.name, [value], None)
            return inner

        def go_on(variables: list) -> Any:
            inner = inner_scope(variables)
            source = condition.inputs[0]
            self.region(planner, frame.inside, [source[0]], inner)
            return control.truth(inner.value(source), "while_loop")

        def body(variables: list) -> list:
            inner = inner_scope(variables)
            sources = [planner.regions.items[merge.inputs[1][0]].inputs[0] for merge in merges]
            back = [merge.inputs[1][0] for merge in merges]
            self.region(planner, frame.inside, back, inner)
            return [
                self._as_flow(inner.value(source), source, merge)
                for source, merge in zip(sources, merges)
            ]

        results = build_loop(frame.enters[0], go_on, body, initial)
        for exit in frame.exits:
            value = results[merges.index(leaving[exit.name])]
            outputs = [value]
            if self.names_nodes and scope.outer is None:
                outputs = self.namer.name(exit, outputs, [], None)
            scope.set(exit.name, outputs, value if type(value) is Symbol else None)

    # -- functions

    def function(self, name: str, item: NodeRecord) -> FunctionRecord:
        """Return a function of the library, checked; NotFoundError if there is none of the name."""
        found = self.functions.get(name)
        if found is None:
            if name not in self.messages:
                raise NotFoundError(
                    None, None, compose("TW506", f"{item.described}: no function '{name}'")
                )
            found = self.functions[name] = FunctionRecord(self.messages[name], self.messages)
            self.regions[name] = Regions(found.items, found.arguments)
        return found

    def apply(self, name: str, arguments: list, item: NodeRecord) -> list:
        """Build a function in the graph in force; its results."""
        function = self.function(name, item)
        if name in self.active:
            raise UnimplementedError(
                None, None, compose("TW506", f"{item.described}: function '{name}' calls itself")
            )
        if len(self.active) >= NESTED:
            raise item.error(f"functions call each other more than {NESTED} deep")
        if len(arguments) != len(function.arguments):
            raise item.error(
                f"'{name}' takes {len(function.arguments)} arguments, not {len(arguments)}"
            )
        if self._is_called(name, function, arguments):
            return self._call_function(name, arguments, item)
        before = self.built
        self.built += len(function.items)
        if self.built > INLINED:
            raise ResourceExhaustedError(
                None,
                None,
                compose("TW506", f"{item.described}: functions come to more than {INLINED} nodes"),
            )
        results = self._inline_function(name, function, arguments, item)
        self.lengths[name] = self.built - before
        return results

    def _is_called(self, name: str, function: FunctionRecord, arguments: list) -> bool:
        """Return whether a function is traced and called: a pure, long one from its second call on.

        So the nodes of a function that others use again and again are built twice at most.
        """
        if self.lengths.get(name, 0) <= SHORT or name in self.tracing:
            return False
        if any(part.operation.stateful for part in function.items.values()):
            return False
        return all(type(x) is Symbol and x.dtype is not variant for x in arguments)

    def _call_function(self, name: str, arguments: list, item: NodeRecord) -> list:
        """Return a function's results, traced once for all arguments of these dtypes and shapes."""
        traced = self.traced.get(name)
        if traced is None:

            def build(*symbols: Symbol) -> list:
                self.tracing.add(name)
                try:
                    return self.apply(name, list(symbols), item)
                finally:
                    self.tracing.discard(name)

            traced = self.traced[name] = TracedFunction(build, name, autograph=False)
        return list(traced(*arguments))

    def _inline_function(
        self, name: str, function: FunctionRecord, arguments: list, item: NodeRecord
    ) -> list:
        """Inline a function: build its operations in the graph in force; its results."""
        scope = ImportScope()
        for nth, (argument, value) in enumerate(zip(function.arguments, arguments)):
            dtype = function.dtypes[nth]
            if _differs(value, dtype):
                raise item.error(
                    f"argument '{argument}' of '{name}' is {dtype.name}, not {value.dtype.name}"
                )
            scope.set(argument, [value], value if type(value) is Symbol else None)
        self.active.append(name)
        try:
            wanted = [*[name for name, _ in function.results], *function.controls]
            wanted += [part.name for part in function.items.values() if part.operation.stateful]
            planner = Planner(self.regions[name])
            at_top = [w for w in wanted if self.regions[name].paths[w] == ()]
            self.region(planner, (), at_top, scope)
            return [tensor(self.input(item, reference, scope)) for reference in function.results]
        finally:
            self.active.pop()

    def branches(self, item: NodeRecord, index: Symbol, names: list, arguments: list) -> Any:
        """Return one of several functions' results, by a number; without any, the operation."""
        functions = [lambda name=name: self.apply(name, arguments, item) for name in names]
        found = self._branches(item, index, functions)
        return found if item.output_count() else found[0].op


def _differs(value: Symbol | ResourceEdge, dtype: DType) -> bool:
    """Return whether a dtype is another; lists stand for what TensorFlow gives other dtypes."""
    return (
        type(value) is Symbol and value.dtype is not dtype and (variant not in (value.dtype, dtype))
    )


def _to_complex(value: object, dtype: DType) -> Any:
    """Return a real result that TensorFlow gives as complex numbers (of svd, eigh, slogdet)."""
    if type(value) is Symbol and dtype.is_complex and value.dtype is dtype.real_dtype:
        return arithmetic.cast(value, dtype=dtype)
    return value


def _wait_for(value: Symbol | ResourceEdge) -> Any:
    """Return the control edge that waits for an output; None if there is none."""
    if isinstance(value, ResourceEdge):
        return value.written
    return value if type(value) is Symbol else None


def _static_tensor(value: object) -> Any:
    """Return a constant of the graph as a tensor with a value; anything else as it is."""
    content = constant_of(value.node) if type(value) is Symbol else None
    return value if content is None else wrap(content.array)
