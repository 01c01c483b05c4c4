"""ConcreteFunction: one trace of a Python function."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dim_walks import substitute
from talweg.core.dims import is_symbolic
from talweg.core.dtypes import variant
from talweg.core.errors import NeedsStaticError, OpError, invalid, type_error
from talweg.core.locking import let_go_one
from talweg.core.spec import TensorSpec
from talweg.core.tracebacks import pass_out
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.eager.long_runs import LongRun, PendingUpdate
from talweg.eager.resident import named, nearest, put_near, resident
from talweg.eager.structured import STATE, Exchanged, as_tensor, content, near_content
from talweg.eager.tensor import FIRST_GPU, EagerTensor, wrap
from talweg.execute import choice, executor
from talweg.graph import structure
from talweg.graph.contents import element
from talweg.graph.function_graph import FunctionGraph
from talweg.graph.handle import Handle
from talweg.graph.operation import Operation
from talweg.graph.subgraph import Body
from talweg.graph.symbol import Symbol
from talweg.kernels.variants import History, List
from talweg.passes.functionalize import program_of
from talweg.prims.calls import call
from talweg.trace import batch_rules, call_rules, exchange
from talweg.trace.bodies import canonical
from talweg.trace.described_function import DescribedFunction
from talweg.trace.device_step import use_steps
from talweg.trace.implementations import API, note_call
from talweg.trace.library_attributes import ConcreteFunctionAttributes, TraceGraphAttributes
from talweg.trace.paths import Paths
from talweg.trace.result_structure import of_spec, pack_results, without_values
from talweg.trace.signature import put_together
from talweg.trace.structured_calls import match_tensors
from talweg.trace.unchanged import Contents
from talweg.trace.variable_reads import as_of_operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.dims import Atom
    from talweg.eager.structured import Variables
    from talweg.graph.node import Node
    from talweg.trace.signature import Container

RULES = batch_rules, call_rules  # they register batch rules and derivatives


class TraceGraph(TraceGraphAttributes, FunctionGraph):
    """The graph of a function."""

    leaks_are = TypeError  # what using one of its tensors elsewhere raises

    def _start_of(self, handle: Handle) -> Symbol:
        return self.capture_variable(handle)  # so that the trace serves wherever it is called


class ConcreteFunction(DescribedFunction, ConcreteFunctionAttributes):
    """A function traced for one kind of arguments (`tf.function(...).get_concrete_function`).

    Calling it runs the trace: tensors in the order of the traced function's tensor arguments.
    """

    def __init__(
        self,
        name: str,
        graph: TraceGraph,
        tree: Container,
        specs: list[TensorSpec],
        attributes: dict[str, Any] | None = None,
    ):
        self.name, self.graph, self.used = name, graph, 0  # used: larger than before at each use
        self.attributes = attributes or {}  # `experimental_attributes` of its function
        self._tree, self.specs = tree, specs
        self._template: Any = None
        self._pack: Any = None  # makes a nest like the template of results
        self._absent: list[bool] = []
        self._single = False
        self._has_lists = False  # whether arguments or results are no arrays
        self.body: Any = None
        self._outside: list = []  # what was captured: tensors and handles of variables
        self.formals: tuple = ()  # handles of the variables among the arguments
        self.shared = False  # whether other variables may stand in their places
        self.again: Any = None  # gives a trace for other variables, where this one does not serve
        self._program: Any = None
        self.step: Any = None  # how it is called on a device after the first time (`DeviceStep`)
        self._holds = True  # whether a call must hold what it changes: unknown before the first
        self._argument_names: list[str] = []
        self.structured_input_signature: tuple = ((), {})
        self.parameters: list[tuple] = []  # names, kinds, what they were traced for
        self.flat_inputs: list[TensorSpec] = specs  # named only where the user did

    # -- tracing

    def trace(
        self, function: Callable[..., Any], names: list[str], variables: Sequence[Any] = ()
    ) -> None:
        """Trace `function` of the arguments in their structure."""
        graph = self.graph
        self.formals = graph.formals = tuple([variable.handle for variable in variables])
        symbols = self._enter(names)

        def run() -> Any:
            args, kwargs = put_together(self._tree, list(symbols), variables)
            contents = Contents((args, kwargs))
            result = function(*args, **kwargs)
            contents.check(self.name)
            return result

        paths = graph.paths = Paths(graph, run, self._flatten)
        with dispatch.only(()), graph.as_default():
            results, template = paths.trace()
        graph.paths = None
        self._close(results, template)

    def trace_flat(self, run: Callable[[list], list], names: list[str], output: object) -> None:
        """Trace `run` of the list of tensors, which gives the tensors of the results.

        output: the structure of the results, with specs in place of tensors.
        """
        graph = self.graph
        symbols = self._enter(names)
        with dispatch.only(()), graph.as_default():
            tensors = iter(run(symbols))
            template = structure.map_leaves(lambda leaf: of_spec(leaf, tensors), output)
            results = self._flatten(template, graph)
        self._close(results, template)

    def _enter(self, names: list[str]) -> list:
        """Make the inputs for the arguments."""
        symbols = []
        for number, spec in enumerate(self.specs):
            symbol = self.graph.add_input(_aval_of_spec(spec))
            name = names[number]
            self.graph.label(symbol.node, f"tensor_{name}" if name.startswith("_") else name)
            symbols.append(symbol)
        self._argument_names = names
        return symbols

    def _flatten(self, answer: object, graph: FunctionGraph) -> list:
        """Return the results of the function as tensors; None stays None."""
        return [self._leaf(leaf, graph) for leaf in structure.flatten(answer, composites=True)]

    def _leaf(self, leaf: Symbol | int | None, graph: FunctionGraph) -> Any:
        if leaf is None or isinstance(leaf, Operation):
            return None
        if type(leaf) is Symbol:
            return leaf if leaf.node.table is graph.table else graph.bring_in(leaf)
        if isinstance(leaf, Tensor):
            return graph.bring_in(leaf)
        try:
            return convert_to_tensor(leaf)
        except (TypeError, ValueError):
            raise type_error(
                "TW104",
                f"the function {self.name!r} returned {leaf!r}, of type {type(leaf).__name__}; a "
                "tf.function returns tensors, None, or nests of these",
            ) from None

    def _close(self, results: list, template: object) -> None:
        graph = self.graph
        self._absent = [x is None for x in results]
        symbols = [x for x in results if x is not None]
        self._template = without_values(template)
        nested = partial(structure.is_nested, composites=True)
        put_together = structure.packer(self._template, nested)
        self._single = (
            len(results) == 1
            and not self._absent[0]
            and not structure.is_nested(template, composites=True)
        )
        absent = self._absent if any(self._absent) else None
        self._pack = partial(pack_results, self._single, absent, put_together)
        captured = list(graph.captured.values())
        self._outside = [value for value, _ in captured]
        inputs = (*graph.input_nodes, *[node for _, node in captured])
        outputs = tuple([x.node for x in symbols])
        api = self.attributes.get(API)
        self.body = Body(self.name, inputs, outputs, graph.find_forced(), api=api)
        self.body.device = graph.find_device(self.body.nodes)
        self._has_lists = any(node.aval.dtype is variant for node in (*inputs, *outputs))
        graph.close(outputs, self._pack)
        self.writes = tuple(graph.writes)

    # -- calling

    def __call__(self, *args: object, **kwargs: object) -> Any:
        try:
            plain = not kwargs and len(args) == len(self.specs) and not self.formals
            if plain and all([type(x) is EagerTensor for x in args]):
                return self.call_flat(self._check(list(args)))
            bound = match_tensors(self, args, kwargs)
            if bound is not None:
                tensors, variables = self._check(bound[0]), bound[1]
            else:  # tensors alone, in the order of the trace's
                args, variables = exchange.without_variables(self, args)
                tensors = self._tensors_of(args, kwargs)
            if not variables or self.serves(variables):
                return self.call_flat(tensors, variables)
            return self.again(variables).call_flat(tensors)  # a trace of their own
        except Exception as error:
            pass_out(error)
            raise

    def serves(self, variables: list) -> bool:
        """Return whether this trace may be called with these variables as arguments."""
        return exchange.serves(self, variables)

    def _tensors_of(self, args: tuple, kwargs: dict) -> list:
        """Return the tensor arguments of a direct call; TypeError for others than the traced."""
        numbers = (np.ndarray, np.generic, int, float, complex)
        given = list(args)
        wrong = [x for x in given if not is_tensor_like(x) and not isinstance(x, numbers)]
        if wrong:
            raise type_error(
                "TW104",
                f"{self.name} got {wrong[0]!r}",
                f"the structure it was traced with, {self.structured_input_signature}, or "
                f"{len(self.specs)} tensors",
            )
        names = self._argument_names
        if kwargs:
            for name in names[len(given) :]:
                if name in kwargs:
                    given.append(kwargs.pop(name))
            if kwargs:
                raise type_error("TW104", f"{self.name} got unexpected arguments {sorted(kwargs)}")
        if len(given) != len(self.specs):
            raise type_error(
                "TW104",
                f"{self.name} takes {len(self.specs)} tensors ({', '.join(names)}), got "
                f"{len(given)}",
            )
        tensors = [
            convert_to_tensor(x, dtype=None if is_tensor_like(x) else spec.dtype)
            for x, spec in zip(given, self.specs)
        ]
        return self._check(tensors)

    def _check(self, tensors: list) -> list:
        """Return the tensors, if their dtypes and shapes are those of the trace."""
        for number, (tensor, spec) in enumerate(zip(tensors, self.specs)):
            if tensor.dtype is not spec.dtype:
                name = self._argument_names[number]
                raise invalid(
                    "TW102",
                    f"{self.name}: argument {name!r} has dtype {tensor.dtype.name}",
                    spec.dtype.name,
                )
            if not spec.shape.is_compatible_with(tensor.shape):
                name = self._argument_names[number]
                raise type_error(
                    "TW204",
                    f"{self.name}: argument {name!r} has shape {tensor.shape}",
                    f"a shape compatible with {spec.shape}",
                )
        return tensors

    def captured_values(self) -> list:
        """Return what was captured: tensors, and handles of variables."""
        return self._outside

    def captures_now(self, state: Any = STATE) -> list:
        """Return the captured tensors; of variables, their present values."""
        if state is not STATE:
            return [
                state.variable(value).value() if type(value) is Handle else value
                for value in self._outside
            ]
        found = []
        for value in self._outside:
            if type(value) is Handle:
                variable = value.owner()
                found.append((value.variable if variable is None else variable).value())
            else:
                found.append(value)
        return found

    def call_flat(
        self,
        tensors: list,
        variables: Sequence[Any] = (),
        state: LongRun | Exchanged | Variables | None = None,
    ) -> Any:
        """Compute the result for tensors and variables; with `state`, writes are held already."""
        if state is None:
            if self._holds:
                return self._call_holding(tensors, variables)
            state = STATE
        if dispatch.state.busy or self._has_lists:
            return self._call_with_recorders(tensors, state)
        if executor.chosen.value == "xla":
            return self._call_on_device(tensors, state)
        operands = tensors + self.captures_now(state) if self._outside else tensors
        arrays = []
        for x in operands:
            if type(x) is not EagerTensor:
                return self._pack(self._apply(operands))
            arrays.append(x._array)
        x = operands = None  # so that variables' values are only theirs, and written in place
        values = executor.run(self._program or self._only_program(), arrays, state)
        if self._single:
            return wrap(values[0])
        return self._pack([wrap(value) for value in values])

    def _call_on_device(self, tensors: list, state: Any) -> Any:
        """Compute the result on a device, whose arrays operands and results may be."""
        if any([type(x) is not EagerTensor for x in tensors]):
            return self._pack(self._apply(tensors + self.captures_now(state)))
        arrays = [nearest(x) for x in tensors]
        taken = self._outside
        is_outermost = state is STATE or type(state) is LongRun
        if taken and is_outermost and all([type(value) is Handle for value in taken]):
            arrays += choice.near_values(taken, state, executor.is_compiled(self._program))
        elif taken:
            operands = self.captures_now(state)
            if any([type(x) is not EagerTensor for x in operands]):
                return self._pack(self._apply(tensors + operands))
            arrays += map(put_near if executor.is_compiled(self._program) else nearest, operands)
            del operands  # so that variables' values are only theirs
        values = executor.run_on_device(self._program or self._only_program(), arrays, state)
        if type(values) is not list:
            use_steps(self, len(tensors))
            return self._pack(named([resident(value) for value in values.arrays]))
        return self._pack(named([wrap(value) for value in values]))

    def _only_program(self) -> Any:
        """Return the program for calls that keep no residuals."""
        found = self._program = program_of(self.body)
        return found

    def _call_with_recorders(self, tensors: list, state: object) -> Any:
        """Compute the result under recorders (tapes), with residuals."""
        context, body = dispatch.context, self.body
        operands = tensors + self.captures_now(state)
        if context.base is not None or any([type(x) is not EagerTensor for x in operands]):
            return self._pack(self._apply(operands))
        if dispatch.state.observer is not None:
            dispatch.state.observer.function_called(self)
        recorders = context.recorders
        if executor.chosen.value == "xla" and (
            choice.is_placeable() or context.device == FIRST_GPU
        ):
            if self._has_lists and not recorders:
                return self._call_with_lists(operands, state)
            if not self._has_lists and recorders:
                return self._call_recorded(operands, state, recorders)
            if not recorders:
                del operands
                return self._call_on_device(tensors, state)
        wrapped = _tensor_of if self._has_lists else EagerTensor
        arrays = [content(x) for x in operands] if self._has_lists else [x._array for x in operands]
        if not recorders:
            del operands
            values = executor.run(program_of(body), arrays, state)
            values_out = [wrapped(value) for value in values]
            if context.device is not None:
                dispatch.put_on_device(tuple(values_out))
            return self._pack(values_out)
        residual_nodes, everything = self._find_residuals(recorders)
        context.recorders = ()
        try:
            values = executor.run(program_of(body, residual_nodes, everything), arrays, state)
        finally:
            context.recorders = recorders
        count = len(body.outputs)
        history = as_tensor(History(1, dict(zip(residual_nodes, values[count:]))))
        results = tuple([wrapped(value) for value in values[:count]])
        for recorder in context.recorders:
            recorder.record(call, tuple(operands), (*results, history), {"body": body})
        return self._pack(results)

    def _call_with_lists(self, operands: list, state: Any) -> Any:
        """Compute the result for iterators and lists among tensors that a device may have."""
        program = program_of(self.body)
        for place in executor.places_on_device(program):
            put_near(operands[place])
        arrays = [near_content(x) for x in operands]
        operands.clear()  # so that variables' values are only theirs
        values = executor.run_on_device(program, arrays, state)
        values = values if type(values) is list else values.arrays
        return self._pack(named([_tensor_of(value) for value in values]))

    def _call_recorded(self, operands: list, state: Any, recorders: tuple) -> Any:
        """Compute the result for recorders, on a device, where what derivatives need stays."""
        residual_nodes, everything = self._find_residuals(recorders)
        dispatch.context.recorders = ()
        try:
            arrays = [put_near(x) for x in operands]  # the reverse will use them, too
            program = program_of(self.body, residual_nodes, everything)
            ran = executor.run_on_device(program, arrays, state)
        finally:
            dispatch.context.recorders = recorders
        values, count = ran if type(ran) is list else ran.arrays, len(self.body.outputs)
        later = History.on_device(dict(zip(residual_nodes, values[count:])))
        results = (*named(list(map(resident, values[:count]))), as_tensor(later))
        for recorder in recorders:
            recorder.record(call, tuple(operands), results, {"body": self.body})
        return self._pack(results[:-1])

    def _find_residuals(self, recorders: tuple) -> tuple[tuple, bool]:
        """Return the residuals to keep: those of one tape's reverse, or all inner values."""
        if len(recorders) == 1 and recorders[0].rank == 0:
            reverse = call_rules.usual_reverse(self.body)
            return (() if reverse is None else reverse.inner), False
        return self.body.everything(), True

    def _apply(self, operands: list) -> list:
        base = dispatch.context.base
        if isinstance(base, FunctionGraph):
            base.pending_writes.update(dict.fromkeys(self.writes))
        if self.attributes:
            note_call(self)
        # Equal bodies make equal nodes, whose history knows the nodes of one of them.
        count = len(operands) - len(self._outside)
        operands = operands[:count] + as_of_operation(operands[count:], operands[:count])
        results = list(call(*operands, body=canonical(self.body))[:-1])
        for node, result in zip(self.body.outputs, results):
            self._tell_sizes(node, result, operands)
        return results

    def _tell_sizes(self, node: Node, result: Tensor, operands: list) -> None:
        """Bind sizes of a result that are values of arguments, where the caller knows these."""
        dims = node.aval.dims
        if type(result) is not Symbol or dims is None or not is_symbolic(dims):
            return
        given = {x: operand for x, operand in zip(self.body.inputs, operands)}

        def find_size(atom: Atom) -> Any:
            operand = given.get(atom.source) if atom.kind == "value" else None
            return element(operand.node, atom.place) if type(operand) is Symbol else None

        try:
            sizes = [substitute(size, find_size) for size in dims]
        except (NeedsStaticError, OpError):  # a size there is not: the run will say so
            return
        if sum(type(n) is int for n in sizes) > sum(type(n) is int for n in dims):
            result.set_shape([n if type(n) is int and n >= 0 else None for n in sizes])

    def _call_holding(self, tensors: list, variables: Sequence[Any]) -> Any:
        """Compute the result while no other thread writes the variables that it writes."""
        program = self._program
        if program is None:
            program = self._only_program()
            self._holds = bool(program.changes or self.formals)
        changes = program.changes
        state: Any = STATE
        if variables and self.formals:
            handle_pairs = zip(self.formals, [variable.handle for variable in variables])
            changed = {formal: handle for formal, handle in handle_pairs if formal is not handle}
            state = Exchanged(changed) if changed else STATE
        if not changes or dispatch.context.base is not None:
            return self.call_flat(tensors, (), state)
        if dispatch.state.busy:
            dispatch.note_write()
        if dispatch.context.recorders:
            self._find_residuals(
                dispatch.context.recorders
            )  # a reverse is traced while nothing is held
        if len(changes) == 1 and state is STATE and not program.calls_python:
            variable, me = STATE.owner(changes[0]), get_ident()
            if variable._held is None:  # the usual case; no call may come between these two lines
                variable._held = me
                try:
                    return self.call_flat(tensors, (), STATE)
                finally:
                    let_go_one(variable)
        with PendingUpdate(program, changes, state) as held:
            return self.call_flat(tensors, (), held)


def _tensor_of(value: Symbol | None) -> EagerTensor:
    """Return a result as a tensor; iterators' elements and the like as they are."""
    is_plain = type(value) not in (List, History) and not hasattr(value, "devices")
    return EagerTensor(value) if is_plain else as_tensor(value)


def _aval_of_spec(spec: TensorSpec) -> Aval:
    return Aval(None if spec.shape.rank is None else spec.shape.as_tuple(), spec.dtype)
