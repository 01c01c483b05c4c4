"""From a functionalized program to a static one, for arguments of known shapes.

Every size becomes a number and every call is put in place; loops, branches and lists become what
`loops.py`, `branches.py` and `lists.py` make of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.dim_walks import evaluate
from talweg.core.dims import Atom, Dim
from talweg.core.dtypes import of_numpy, variant
from talweg.core.errors import OpError
from talweg.core.primitive import REGISTRY
from talweg.graph.node import Node
from talweg.kernels.random.philox import PHILOX, RESERVED, THREEFRY
from talweg.kernels.variants import History, Tree
from talweg.passes.fallback.host_steps import HostFallback, HostRequiredError, Hosts, is_plain
from talweg.passes.fallback.profitability import seconds_saved
from talweg.passes.fallback.regions import add_regions
from talweg.passes.fallback.selection import (
    is_kept_as_state,
    places_kept_aside,
    run_step,
    substitute_results,
)
from talweg.passes.functionalize import Program, Step, called_program, inlined_steps
from talweg.passes.optimize.dead_code import prune_all
from talweg.passes.reasons import Reason
from talweg.passes.specialize.branches import branch
from talweg.passes.specialize.dynamic_slices import RANGES, SLICES
from talweg.passes.specialize.list_rules import LISTS, stack_of_unknown
from talweg.passes.specialize.lists import Lists
from talweg.passes.specialize.loops import loop
from talweg.passes.specialize.program import (
    KINDS,
    Equation,
    Expansion,
    SpecializationError,
    StaticProgram,
    Value,
    constant,
    demands,
)
from talweg.passes.specialize.residuals import ResidualSpec, hand_out, take_tree
from talweg.passes.specialize.side_outputs import hand_over
from talweg.passes.specialize.stack_primitives import advanced, is_endless
from talweg.passes.specialize.stacks import are_carried_by_rows
from talweg.passes.specialize.trees import ListRange, Sparse
from talweg.prims import arithmetic
from talweg.prims.random import streams

MOST_INLINED = 20_000  # steps of a function that is called, with all that it calls
ATTEMPTS = 12  # at finding what has to be left to the interpreter


def specialize(
    program: Program, arguments: Sequence[Any], states: dict, same: dict | None = None
) -> StaticProgram:
    """The static program for arguments of these kinds; `states`: variable -> Aval.

    A kind is an Aval, or a Form of what compiled programs have handed on.

    `same` tells which arguments are the values that variables have: they are no inputs then.
    Where what is known beforehand of the lengths of loops is enough, only that is used.  What has
    no static form is left to the interpreter, step by step (`fallback/host_steps.py`).
    """
    straight = _of_any_kind(program, arguments, states, same)
    prune_all(straight)
    reason = None
    if any(guard.content is not None and not guard.content.all() for guard in straight.guards):
        reason = Reason.ALWAYS_FAILS
    elif not are_carried_by_rows(straight):
        reason = Reason.STACK_CHANGED
    if reason is not None:
        straight.forget()
        raise SpecializationError(reason)
    return straight


def _of_any_kind(
    program: Program, arguments: Sequence[Any], states: dict, same: dict | None
) -> StaticProgram:
    """The program: without steps left to the interpreter if it can be, the best one otherwise."""
    for endless in (False, True):
        straight = StaticProgram()
        straight.endless = endless
        try:
            return _specialize(straight, program, arguments, states, same)
        except SpecializationError as error:
            reason = (error.reason, *error.details)  # without the error: it knows this frame
            straight.forget()
    if demands.finite:  # the interpreter looks at all results
        raise SpecializationError(*reason)
    values = []
    for endless in (False, True):
        straight = _with_hosts(endless, program, arguments, states, same)
        if straight is not None:
            values.append(straight)
            if not straight.hosts.has_bodies():
                break
    if not values:
        raise SpecializationError(*reason)
    best = max(values, key=seconds_saved)
    for straight in values:
        if straight is not best:
            straight.forget()
    return best


def _with_hosts(endless: bool, *given: Any) -> StaticProgram | None:
    """The program with what has no static form left to the interpreter, if that can be done."""
    forced: set[Step] = set()
    for _ in range(ATTEMPTS):
        straight = StaticProgram()
        straight.endless, straight.hosts = endless, Hosts(straight, forced)
        try:
            return _specialize(straight, *given)
        except HostRequiredError as error:
            straight.forget()
            forced.add(error.step)
        except SpecializationError:
            straight.forget()
            break
    return None


def _specialize(
    straight: StaticProgram,
    program: Program,
    arguments: Sequence[Any],
    states: dict,
    same: dict | None,
) -> StaticProgram:
    maker = _Specializer(straight, program)
    before, hosts = {}, straight.hosts
    for variable, slot in program.starts.items():
        if type(variable) is Node:  # a random stream: how many blocks were taken
            maker.values[slot] = constant(np.uint64(0))
            continue
        aval = states.get(variable)
        if aval is None:
            name = getattr(variable, "name", variable)
            raise SpecializationError(Reason.VARIABLE_UNSET, name)
        if hosts is not None and not (is_plain(aval) and variable.shape.is_fully_defined()):
            hosts.starts[variable] = maker.values[slot] = HostFallback(
                None, slot, Aval(None, aval.dtype)
            )
            continue
        before[variable] = maker.values[slot] = Value(aval.dims, aval.dtype)
    for position, (slot, aval) in enumerate(zip(program.inputs, arguments)):
        if same and position in same:
            variable = same[position]
            maker.values[slot] = before[variable] if variable in before else hosts.starts[variable]
            continue
        if type(aval) is ResidualSpec:
            maker.values[slot] = take_tree(straight, aval, position)
            continue
        if hosts is not None and not is_plain(aval):
            maker.values[slot] = HostFallback(None, slot, aval)
            hosts.arguments.append((position, maker.values[slot]))
            continue
        value = maker.values[slot] = Value(aval.dims, aval.dtype)  # type: ignore[arg-type]
        straight.inputs.append(value)
    maker.run()
    kept = places_kept_aside(maker)
    trees = [
        (i, maker.tree(s))
        for i, s in enumerate(program.outputs)
        if i not in kept and type(maker.values[s]) not in (Value, HostFallback)
    ]
    kept |= {position for position, _ in trees}
    straight.outputs = [maker.plain(s) for i, s in enumerate(program.outputs) if i not in kept]
    hand_over(straight, [i for i in range(len(program.outputs)) if i not in kept])
    if trees:
        hand_out(straight, trees)
    _note_drawn(straight, maker)
    for variable, value in before.items():
        after = program.writes.get(variable)
        if after is None or is_kept_as_state(maker, variable, after):
            straight.states.append((variable, value, value))
            continue
        if maker.plain(after).dims != value.dims:
            raise SpecializationError(Reason.VARIABLE_SHAPE)
        straight.states.append((variable, value, maker.plain(after)))
    if hosts is not None:
        hosts.writes += [
            (variable, maker.values[program.writes[variable]])
            for variable in hosts.starts
            if variable in program.writes
        ]
        add_regions(straight, exact=True)
    return straight


def _note_drawn(straight: StaticProgram, maker: _Specializer) -> None:
    """Let the program tell how many blocks it took of each random stream, if it has to run."""
    for place, (operation, seeds, _) in enumerate(straight.streams):
        taken = maker.plain(maker.program.writes[operation])
        blocks = None if taken.content is None else int(taken.content)
        straight.streams[place] = (operation, seeds, blocks or 0)
        if blocks is None:
            straight.drawn.append(operation)
            straight.outputs.append(taken)


class _Specializer:
    """Runs the steps of a program on values."""

    def __init__(self, straight: StaticProgram, program: Program):
        self.straight, self.program = straight, program
        self.values: dict[int, Any] = {}
        self.sizes: dict[Atom, int] = {}  # those that the graph did not know
        for slot, array in program.constants:
            self.values[slot] = self._constant(slot, array)

    def _constant(self, slot: int, array: np.ndarray) -> Any:
        hosts = self.straight.hosts
        if hosts is None or of_numpy(np.asarray(array).dtype).name in KINDS:
            return constant(array)
        return hosts.constant(slot, array)

    def plain(self, slot: int) -> Value:
        """The value in a slot, which must be an array."""
        value = self.values[slot]
        if type(value) is HostFallback:
            return self.straight.hosts.value_of(value)
        if type(value) is not Value:
            raise SpecializationError(Reason.RESULT_IS_LIST)
        return value

    def tree(self, slot: int) -> Any:
        """The list or history in a slot, to be handed on."""
        value = self.values[slot]
        if type(value) is Sparse:
            return Lists(self.straight, None).settled(value)
        if value is not None and not isinstance(value, Tree):
            raise SpecializationError(Reason.RESULT_KIND)
        return substitute_results(self.straight.hosts, value)

    def run(self) -> None:
        """All steps."""
        for step in self.program.steps:
            self.step(step)

    def step(self, step: Step) -> None:
        """One step."""
        if self.straight.hosts is None:
            self.compiled(step)
        else:
            run_step(self, step)

    def compiled(self, step: Step) -> None:
        """Specialize one step to equations; SpecializationError where there are none."""
        params = step.params
        if step.dynamic:
            try:
                params = {key: self._filled(value) for key, value in params.items()}
            except SpecializationError:
                moving = UNSIZED.get(step.prim.name)
                if moving is None:
                    raise
                self.values[step.out] = moving(self, step)
                return
        if step.kind == "body":
            self._body(step, params)
        elif step.kind == "stream":
            self._stream(step, params)
        elif step.kind == "state":
            self.values[step.out] = self._state(step, params)
        else:
            self.values[step.out] = self._plain(step, params)

    def _filled(self, value: Any) -> Any:
        if type(value) is Dim:
            try:
                return evaluate(value, self.size)
            except OpError as error:  # for the interpreter to raise, if it comes to this step
                raise SpecializationError(Reason.SIZE_REFUSED, error) from error
        if type(value) is tuple:
            return tuple([self._filled(item) for item in value])
        return value

    def size(self, atom: Atom) -> int:
        """A size that is known by now."""
        slot, kind, place = self.program.places[atom]
        value = self.plain(slot)
        if kind == "size" and place == 0 and is_endless(value):
            raise SpecializationError(Reason.STACK_USED)
        if kind == "size":
            return value.dims[place]
        if value.content is None:
            raise SpecializationError(Reason.SIZE_OF_VALUE)
        array = np.broadcast_to(value.content, value.dims)
        return int(array.reshape(-1)[place])

    def _plain(self, step: Step, params: dict) -> Any:
        prim, inputs = step.prim, [self.values.get(slot) for slot in step.inputs]
        special = _SPECIAL.get(prim.name)
        if special is not None:
            return special(inputs, params)
        way = WAYS.get(prim.name)
        if way is not None:
            found = way(self, step, params)
            if found is not NotImplemented:
                return found
        if not all(type(x) is Value for x in inputs) or any(x.dtype is variant for x in inputs):
            raise SpecializationError(Reason.LIST_OPERAND, prim.name)
        return self.straight.apply(prim, inputs, params, step.node)

    def _state(self, step: Step, params: dict) -> Any:
        name = step.prim.name
        inputs: list[Any] = [None if s < 0 else self.plain(s) for s in step.inputs]
        if name == "is_initialized":
            return constant(np.bool_(True))
        if name == "read_or_initial":
            return inputs[0]
        rule, index = params["rule"], params.get("place")
        if index is None and rule == "assign":
            return _checked_assignment(inputs[-1], params)
        first, *rest = inputs
        if index is None and rule in ("add", "sub") and first.dims == rest[0].dims:
            return self.straight.apply(REGISTRY[rule], [first, *rest], {}, step.node)
        if rule == "skip" and rest[0].content is not None:
            blocks = int(rest[0].content) * RESERVED
            moved = {"blocks": blocks, "algorithm": PHILOX if first.dims == (3,) else THREEFRY}
            return self.straight.apply(streams.skip_state, [first], moved, step.node)
        if first is None or first.dims is None:
            raise SpecializationError(Reason.VARIABLE_SHAPE_UNKNOWN)
        requires = step.prim.lowering.get("requires")
        if requires is not None:
            requires(Expansion(self.straight, step.node), first, *rest, **params)
        equation = Equation(step.prim, [first, *rest], params, step.node)
        equation.outputs = (Value(first.dims, first.dtype),)
        equation.output.maker = equation
        self.straight.equations.append(equation)
        return equation.output

    def _stream(self, step: Step, params: dict) -> None:
        """The next blocks of a stream."""
        ((operation, before, after),) = step.states
        apply, taken = self.straight.apply, self.plain(before)
        state = self.straight.stream(operation, params["seeds"])
        if taken.content is None or taken.content:
            state = apply(advanced, [state, taken], {}, step.node)
        self.values[step.out] = state
        if params["blocks"] >= 1 << 62:
            raise SpecializationError(Reason.SIZE_REFUSED, params["blocks"])
        blocks = constant(np.uint64(params["blocks"]))
        self.values[after] = apply(arithmetic.add, [taken, blocks], {}, step.node)

    def _body(self, step: Step, params: dict) -> None:
        """A call is put in place; branches and loops stay what they are."""
        way = WAYS.get(step.prim.name)
        if way is not None:
            self.values[step.out] = way(self, step, params)
            return
        body = params["body"]
        program, inner = called_program(step)
        if inlined_steps(program) > MOST_INLINED:
            raise SpecializationError(Reason.CALLS_LONG, MOST_INLINED)
        part = _Specializer(self.straight, program)
        for slot, source in zip(program.inputs, step.inputs):
            part.values[slot] = self.values[source]
        for variable, before, _ in step.states:
            if variable in program.starts:
                part.values[program.starts[variable]] = self.values[before]
        part.run()
        for variable, before, after in step.states:
            if after != before:
                self.values[after] = part.values[program.writes[variable]]
        count = len(body.outputs)
        results = [part.values[slot] for slot in program.outputs]
        history = History(1, dict(zip(inner, results[count:])))
        self.values[step.out] = (*results[:count], history)


def _checked_assignment(value: Value, params: dict) -> Value:
    shape = params["variable"].shape
    if params.get("strict", True) and not shape.is_compatible_with(value.dims):
        raise SpecializationError(Reason.ASSIGNED_SHAPE)
    return value


def _item(inputs: list, params: dict) -> Any:
    return inputs[0][params["index"]]


def _with_rule(inputs: list, params: dict) -> Any:
    return tuple(inputs[: params["count"]])


def _inner_value(inputs: list, params: dict) -> Any:
    if inputs[0] is None:
        raise SpecializationError(Reason.LOOP_NOT_KEPT)
    return inputs[0].values.get(params["inner"])


def _first(inputs: list, params: dict) -> Any:
    return inputs[0]


def _group(inputs: list, params: dict) -> Any:
    return constant(np.True_)


def _history_of(inputs: list, params: dict) -> Any:
    return History(0, {params["inner"]: inputs[0]})


def _size_value(inputs: list, params: dict) -> Any:
    return constant(np.asarray(params["size"], params["dtype"].numpy_dtype))


_SPECIAL = {
    "item": _item,
    "with_rule": _with_rule,
    "inner_value": _inner_value,
    "history_of": _history_of,
    "reread": _first,
    "stop_gradient": _first,
    "identity": _first,
    "group": _group,
    "size_value": _size_value,
}


def _on_lists(way: Callable[..., Any], maker: _Specializer, step: Step, params: dict) -> Any:
    inputs = [maker.values.get(slot) for slot in step.inputs]
    if any([type(x) is ListRange for x in inputs]):
        raise SpecializationError(Reason.LIST_OF_RANGE)
    return way(Lists(maker.straight, step.node), inputs, params)


UNSIZED = {
    **SLICES,
    "list_stack": stack_of_unknown,
    "rows_stack": stack_of_unknown,
}  # where parameters depend on values
WAYS: dict[str, Callable[[Any, Step, dict], Any]] = {
    "branch": branch,
    "loop": loop,
    **RANGES,
    **{name: partial(_on_lists, way) for name, way in LISTS.items()},
}
