"""The specializer: from a functionalized program to a static one, for known shapes.

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
from talweg.passes.functionalize import Program, Step, count_inlined_steps, find_called_program
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
    """Specialize a program to arguments of these kinds; `states`: variable -> Aval.

    A kind is an Aval, or the `ResidualSpec` of what another compiled program gives.

    `same` tells which arguments are the values that variables have: they are no inputs then.
    Where what is known beforehand of the lengths of loops is enough, only that is used.  What has
    no static form is left to the interpreter, step by step (`fallback/host_steps.py`).
    """
    static = _of_any_kind(program, arguments, states, same)
    prune_all(static)
    reason = None
    if any(guard.content is not None and not guard.content.all() for guard in static.guards):
        reason = Reason.ALWAYS_FAILS
    elif not are_carried_by_rows(static):
        reason = Reason.STACK_CHANGED
    if reason is not None:
        static.forget()
        raise SpecializationError(reason)
    return static


def _of_any_kind(
    program: Program, arguments: Sequence[Any], states: dict, same: dict | None
) -> StaticProgram:
    """Specialize without host steps if possible, with the best ones otherwise."""
    for endless in (False, True):
        static = StaticProgram()
        static.endless = endless
        try:
            return _specialize(static, program, arguments, states, same)
        except SpecializationError as error:
            reason = (error.reason, *error.details)  # without the error: it knows this frame
            static.forget()
    if demands.finite:  # the interpreter looks at all results
        raise SpecializationError(*reason)
    values = []
    for endless in (False, True):
        static = _with_hosts(endless, program, arguments, states, same)
        if static is not None:
            values.append(static)
            if not static.hosts.has_bodies():
                break
    if not values:
        raise SpecializationError(*reason)
    best = max(values, key=seconds_saved)
    for static in values:
        if static is not best:
            static.forget()
    return best


def _with_hosts(endless: bool, *given: Any) -> StaticProgram | None:
    """Specialize with host fallback for steps without a static form, if that can be done."""
    forced: set[Step] = set()
    for _ in range(ATTEMPTS):
        static = StaticProgram()
        static.endless, static.hosts = endless, Hosts(static, forced)
        try:
            return _specialize(static, *given)
        except HostRequiredError as error:
            static.forget()
            forced.add(error.step)
        except SpecializationError:
            static.forget()
            break
    return None


def _specialize(
    static: StaticProgram,
    program: Program,
    arguments: Sequence[Any],
    states: dict,
    same: dict | None,
) -> StaticProgram:
    maker = _Specializer(static, program)
    before, hosts = {}, static.hosts
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
            maker.values[slot] = take_tree(static, aval, position)
            continue
        if hosts is not None and not is_plain(aval):
            maker.values[slot] = HostFallback(None, slot, aval)
            hosts.arguments.append((position, maker.values[slot]))
            continue
        value = maker.values[slot] = Value(aval.dims, aval.dtype)  # type: ignore[arg-type]
        static.inputs.append(value)
    maker.run()
    kept_aside = places_kept_aside(maker)
    trees = [
        (i, maker.tree(s))
        for i, s in enumerate(program.outputs)
        if i not in kept_aside and type(maker.values[s]) not in (Value, HostFallback)
    ]
    kept_aside |= {position for position, _ in trees}
    static.outputs = [maker.plain(s) for i, s in enumerate(program.outputs) if i not in kept_aside]
    hand_over(static, [i for i in range(len(program.outputs)) if i not in kept_aside])
    if trees:
        hand_out(static, trees)
    _note_drawn(static, maker)
    for variable, value in before.items():
        after = program.writes.get(variable)
        if after is None or is_kept_as_state(maker, variable, after):
            static.states.append((variable, value, value))
            continue
        if maker.plain(after).dims != value.dims:
            raise SpecializationError(Reason.VARIABLE_SHAPE)
        static.states.append((variable, value, maker.plain(after)))
    if hosts is not None:
        hosts.writes += [
            (variable, maker.values[program.writes[variable]])
            for variable in hosts.starts
            if variable in program.writes
        ]
        add_regions(static, exact=True)
    return static


def _note_drawn(static: StaticProgram, maker: _Specializer) -> None:
    """Make the program report the blocks it took of each random stream."""
    for place, (operation, seeds, _) in enumerate(static.streams):
        taken = maker.plain(maker.program.writes[operation])
        blocks = None if taken.content is None else int(taken.content)
        static.streams[place] = (operation, seeds, blocks or 0)
        if blocks is None:
            static.drawn.append(operation)
            static.outputs.append(taken)


class _Specializer:
    """The abstract interpreter that runs the steps of a program on values."""

    def __init__(self, static: StaticProgram, program: Program):
        self.static, self.program = static, program
        self.values: dict[int, Any] = {}
        self.sizes: dict[Atom, int] = {}  # those that the graph did not know
        for slot, array in program.constants:
            self.values[slot] = self._constant(slot, array)

    def _constant(self, slot: int, array: np.ndarray) -> Any:
        hosts = self.static.hosts
        if hosts is None or of_numpy(np.asarray(array).dtype).name in KINDS:
            return constant(array)
        return hosts.constant(slot, array)

    def plain(self, slot: int) -> Value:
        """Return the value in a slot, which must be an array."""
        value = self.values[slot]
        if type(value) is HostFallback:
            return self.static.hosts.value_of(value)
        if type(value) is not Value:
            raise SpecializationError(Reason.RESULT_IS_LIST)
        return value

    def tree(self, slot: int) -> Any:
        """Return the list or residuals in a slot, to be passed on."""
        value = self.values[slot]
        if type(value) is Sparse:
            return Lists(self.static, None).densify(value)
        if value is not None and not isinstance(value, Tree):
            raise SpecializationError(Reason.RESULT_KIND)
        return substitute_results(self.static.hosts, value)

    def run(self) -> None:
        """Specialize all steps."""
        for step in self.program.steps:
            self.step(step)

    def step(self, step: Step) -> None:
        """Specialize one step."""
        if self.static.hosts is None:
            self.compile_step(step)
        else:
            run_step(self, step)

    def compile_step(self, step: Step) -> None:
        """Specialize one step to equations; SpecializationError where there are none."""
        params = step.params
        if step.dynamic:
            try:
                params = {key: self._fill(value) for key, value in params.items()}
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

    def _fill(self, value: Any) -> Any:
        if type(value) is Dim:
            try:
                return evaluate(value, self.size)
            except OpError as error:  # for the interpreter to raise, if it comes to this step
                raise SpecializationError(Reason.SIZE_REFUSED, error) from error
        if type(value) is tuple:
            return tuple([self._fill(item) for item in value])
        return value

    def size(self, atom: Atom) -> int:
        """Return a size that is known by now."""
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
        return self.static.apply(prim, inputs, params, step.node)

    def _state(self, step: Step, params: dict) -> Any:
        name = step.prim.name
        inputs: list[Any] = [None if s < 0 else self.plain(s) for s in step.inputs]
        if name == "is_initialized":
            return constant(np.bool_(True))
        if name == "read_or_initial":
            return inputs[0]
        rule, index = params["rule"], params.get("place")
        if index is None and rule == "assign":
            return _check_assignment(inputs[-1], params)
        first, *rest = inputs
        if index is None and rule in ("add", "sub") and first.dims == rest[0].dims:
            return self.static.apply(REGISTRY[rule], [first, *rest], {}, step.node)
        if rule == "skip" and rest[0].content is not None:
            blocks = int(rest[0].content) * RESERVED
            moved = {"blocks": blocks, "algorithm": PHILOX if first.dims == (3,) else THREEFRY}
            return self.static.apply(streams.skip_state, [first], moved, step.node)
        if first is None or first.dims is None:
            raise SpecializationError(Reason.VARIABLE_SHAPE_UNKNOWN)
        requires = step.prim.lowering.get("requires")
        if requires is not None:
            requires(Expansion(self.static, step.node), first, *rest, **params)
        equation = Equation(step.prim, [first, *rest], params, step.node)
        equation.outputs = (Value(first.dims, first.dtype),)
        equation.output.maker = equation
        self.static.equations.append(equation)
        return equation.output

    def _stream(self, step: Step, params: dict) -> None:
        """Specialise the next blocks of a random stream."""
        ((operation, before, after),) = step.states
        apply, taken = self.static.apply, self.plain(before)
        state = self.static.stream(operation, params["seeds"])
        if taken.content is None or taken.content:
            state = apply(advanced, [state, taken], {}, step.node)
        self.values[step.out] = state
        if params["blocks"] >= 1 << 62:
            raise SpecializationError(Reason.SIZE_REFUSED, params["blocks"])
        blocks = constant(np.uint64(params["blocks"]))
        self.values[after] = apply(arithmetic.add, [taken, blocks], {}, step.node)

    def _body(self, step: Step, params: dict) -> None:
        """Inline a call; keep branches and loops as equations."""
        way = WAYS.get(step.prim.name)
        if way is not None:
            self.values[step.out] = way(self, step, params)
            return
        body = params["body"]
        program, inner = find_called_program(step)
        if count_inlined_steps(program) > MOST_INLINED:
            raise SpecializationError(Reason.CALLS_LONG, MOST_INLINED)
        part = _Specializer(self.static, program)
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


def _check_assignment(value: Value, params: dict) -> Value:
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
    return way(Lists(maker.static, step.node), inputs, params)


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
