"""The interpreter: runs a program step by step with the NumPy kernels.

It is the meaning of every primitive, the executor of first calls and one-shot runs, and the oracle
of the compiler.
"""

from __future__ import annotations

import contextvars
import threading
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import settings
from talweg.core.dim_walks import atoms_of, evaluate
from talweg.core.dims import Atom, Dim
from talweg.core.errors import (
    FailedPreconditionError,
    NotFoundError,
    OpError,
    ResourceExhaustedError,
    compose,
    free_frames,
)
from talweg.core.provenance import describe
from talweg.core.roles import Role
from talweg.execute.call import check, sort_out
from talweg.execute.donation import UNSHARED, OwnedValues, exclusive, to_write
from talweg.execute.eager_kernels import run_step
from talweg.graph.node import Node
from talweg.graph.subgraph import Body
from talweg.kernels.random import streams
from talweg.kernels.random.philox import state_of_stream
from talweg.kernels.variable_updates import IN_PLACE, UPDATES
from talweg.kernels.variants import History
from talweg.passes.functionalize import Program, Step, find_demanded_slots, program_of

if TYPE_CHECKING:
    from collections.abc import Callable

_END = 1 << 63  # where int64 ends: what is computed of integers wraps, as in compiled programs


class Missing:
    """The marker of a variable without a value."""

    def __repr__(self) -> str:
        return "<no value>"


MISSING: Any = Missing()


class Onlooker:
    """An observer of every program in this process, bodies included; for the doctor.

    `watch` (program -> a watch, or None) gives each run its own.  With `step_by_step` nothing runs
    as machine code meanwhile.
    """

    watch: Any = None
    step_by_step = False


onlooker = Onlooker()


def run(program: Program, arguments: list, state: dict, watch: object = None) -> list:
    """Run a program; `state` (variable -> array or MISSING) is changed by its writes.

    `arguments` belongs to the run, which empties it.  A failure leaves in `state` what was written
    before it.  `watch` is told when a step begins, and when the last one is over.
    """
    if watch is None and onlooker.watch is not None:
        watch = onlooker.watch(program)
    if _quiet.inside:
        return _run(program, arguments, state, watch)
    _quiet.inside = True
    try:
        return _quiet.context.run(_run, program, arguments, state, watch)
    finally:
        _quiet.inside = False


class _Quiet(threading.local):
    """A context in which NumPy reports no floating-point conditions, for each thread."""

    def __init__(self) -> None:
        self.inside = False
        self.context = contextvars.Context()
        self.context.run(np.seterr, all="ignore")


_quiet = _Quiet()


def _run(program: Program, arguments: list, state: dict, watch: Any = None) -> list:
    values: list = [None] * program.size
    for slot, array in program.constants:
        values[slot] = array
    for slot, array in zip(program.inputs, arguments):
        values[slot] = array
    array = None
    arguments.clear()  # so that a step that is the last to use a value has it to itself
    if program.starts:
        near = _of_device(program, state)
        for variable, slot in program.starts.items():
            values[slot] = near.get(variable, MISSING) if near else state.get(variable, MISSING)
        if program.needs:
            check_needs(program, near or state)
    try:
        _run_steps(program, values, state, watch)
        if watch is not None:
            watch.end()
    except ResourceExhaustedError:
        raise  # and nothing has changed, as in compiled programs
    except Exception:
        _keep_writes(program, values, state)
        raise
    try:
        for variable, slot in program.writes.items():
            if type(variable) is not Node or getattr(state, "reserve", None) is None:
                state[variable] = values[slot]
    except BaseException:  # a signal's handler: what is written must not be half there
        _write(program, values, state)
        raise
    return [values[slot] for slot in program.outputs]


class _DeviceReader:
    """A reader of variables, on a device where only calls use them."""

    def __init__(self, state: Any, carried: frozenset, starts: dict):
        self._state, self._carried, self._starts = state, carried, starts

    def get(self, variable: Any, default: Any) -> Any:
        """Return the device's array, or the variable's."""
        if type(variable) is not Node and self._starts[variable] in self._carried:
            return self._state.on_device([variable])[0]
        return self._state.get(variable, default)


def _of_device(program: Program, state: Any) -> _DeviceReader | None:
    """Return the reader of variables where calls go to a device; None elsewhere."""
    if settings.executor.value != "xla" or not hasattr(state, "on_device"):
        return None
    carried = find_carried_slots(program)
    return _DeviceReader(state, carried, program.starts) if carried else None


def find_carried_slots(program: Program) -> frozenset:
    """Return the slots of arguments and variables that only calls of functions use,
    and what keeps values without a look at them.

    What is there may be an array of a device.
    """
    if program.carried is None:
        used = set(program.outputs) | {slot for slot, _, _ in program.places.values()}
        for step in program.steps:
            passes_on = getattr(step.params.get("call"), "takes_near", False)
            if not passes_on and (step.kind != "body" or step.prim.role is not Role.CALL):
                used.update(step.inputs)
                used.update([before for _, before, _ in step.states])
        carried = set(program.inputs) - used
        chains = {variable: [slot] for variable, slot in program.starts.items()}
        for step in program.steps:
            for variable, before, after in step.states:
                chains.setdefault(variable, []).extend((before, after))
        for variable, slot in program.starts.items():
            if used.isdisjoint(chains[variable]):
                carried.add(slot)
        program.carried = frozenset(carried)
    return program.carried


def _write(program: Program, values: list, state: dict) -> None:
    """Commit the program's writes to `state`."""
    for variable, slot in program.writes.items():
        if type(variable) is not Node or getattr(state, "reserve", None) is None:
            state[variable] = values[slot]


def _run_steps(program: Program, values: list, state: object, watch: Any) -> None:
    heavy = program.heavy and watch is None
    for step in program.steps:
        if watch is not None:
            watch.begin(step, values)
        kernel = step.kernel
        if kernel is None or (heavy and step.kind == "plain" and step.prim.effect is None):
            _run_step(step, program, values, state, watch is None)
            continue
        inputs = step.inputs
        try:
            if len(inputs) == 2:
                result = kernel(values[inputs[0]], values[inputs[1]])
            elif len(inputs) == 1:
                result = kernel(values[inputs[0]])
            else:
                result = kernel(*[values[slot] for slot in inputs])
        except Exception as error:  # noqa: BLE001 -- sorted out, and told where the node was made
            free_frames(error)
            arrays = [values[slot] for slot in inputs]
            result = _fail(step, arrays, step.params, error)
        values[step.out] = result
        for slot in step.free:
            values[slot] = None


def _run_step(
    step: Step, program: Program, values: list, state: object, may_overwrite: bool = False
) -> None:
    """Run a step that needs more than its inputs: sizes, checks, a variable, bodies.

    may_overwrite: whether a value that nobody needs afterwards may be changed.
    """
    params, kind = step.params, step.kind
    if step.dynamic:
        try:
            params = fill_in(params, program, values)
        except OpError as error:
            raise locate_error(error, step.node) from None
        except AttributeError:
            if not _lacks_a_size(params, program, values):
                raise
            values[step.out] = _absent(step)
            return
    if kind == "body":
        _run_body(step, values, params, state)
        return
    if kind == "stream":
        _reserve(step, values, params, state)
        return
    is_state = kind == "state"
    arrays = _present(step, values) if is_state else [values[slot] for slot in step.inputs]
    try:
        if kind == "checked":
            check(step.prim, arrays, params)
        if is_state and may_overwrite and params.get("rule") in IN_PLACE:
            values[step.out] = _update_rows(step, program, values, arrays, state)
        elif program.heavy and may_overwrite and not is_state and step.prim.effect is None:
            values[step.out] = run_step(step.prim, arrays, params)
        else:
            values[step.out] = step.prim.numpy(*arrays, **params)
    except Exception as error:  # noqa: BLE001 -- sorted out, and told where the node was made
        free_frames(error)  # at once: what a kernel holds may be all the memory
        values[step.out] = _fail(step, arrays, params, error)
    for slot in step.free:  # only now: were it to fail, the value before would still be there
        values[slot] = None


def _update_rows(step: Step, program: Program, values: list, arrays: list, state: Any) -> Any:
    """Update rows of a variable: in place, if its array is unshared."""
    slot, variable = step.inputs[0], step.params["variable"]
    update = UPDATES[step.params["rule"]]
    if arrays[0] is None or slot not in step.free:
        return update(*arrays)
    arrays[0] = None  # one reference less
    if program.starts.get(variable) == slot and state.get(variable) is values[slot]:
        found = exclusive(state, variable, 1)
    else:
        array = values[slot]
        found = to_write(array, getrefcount(array) <= UNSHARED)
    arrays[0] = found
    return update(*arrays, own=True)


def _keep_writes(program: Program, values: list, state: dict) -> None:
    """Commit the writes before a failure to `state`.

    A later value of a variable takes the slot of the one before from `values`, so what is still
    there, in order, ends with the last one.
    """
    for step in program.steps:
        for variable, before, after in step.states:
            if after != before and values[after] is not None:
                state[variable] = values[after]


def _present(step: Step, values: list) -> list:
    """Return the operands of a read or write, the variable's present value first."""
    first, *rest = step.inputs
    if step.prim.role is Role.INITIALIZED:
        return [values[first] is not MISSING]
    present = None if first < 0 else values[first]
    return [None if present is MISSING else present, *[values[slot] for slot in rest]]


def _reserve(step: Step, values: list, params: dict, state: object) -> None:
    """Reserve the next blocks of an operation's own random stream, initially its seeds.

    Threads share streams, so a state that knows of them hands out the blocks.
    """
    ((operation, before, after),) = step.states
    reserve = getattr(state, "reserve", None)
    if reserve is not None:
        stream = reserve(operation, params["seeds"], params["blocks"])
        values[step.out], values[after] = state_of_stream(stream), None
        return
    present = values[before]
    stream = streams.start(params["seeds"]) if present is MISSING else present
    values[step.out] = state_of_stream(stream)
    values[after] = stream.skip(params["blocks"])


def check_needs(program: Program, state: Any) -> None:
    """Check that all variables have a value that a program needs."""
    absent = [v for v in program.needs if state.get(v, MISSING) is MISSING]
    if absent:
        raise make_uninitialized_error(absent, any(program.needs[variable] for variable in absent))


def make_uninitialized_error(variables: list, read: bool) -> OpError:
    """Make the error for uninitialized variables (NotFoundError)."""
    names = ", ".join(repr(variable.name.split(":")[0]) for variable in variables)
    names = names or "a variable that a branch reads"
    text = compose(
        "TW505",
        f"Attempting to use uninitialized value: no value in this session for {names}",
        hint="session.run(tf.global_variables_initializer()) first",
    )
    return (FailedPreconditionError if read else NotFoundError)(None, None, text)


def fill_in(params: dict, program: Program, values: list) -> dict:
    """Substitute numbers for symbolic sizes in parameters."""

    def value_of(atom: Atom) -> int:
        slot, kind, place = program.places[atom]
        array = values[slot]
        if kind == "size":
            return array.shape[place]
        return int(array.reshape(-1)[place]) if array.ndim else int(array)

    return {key: _fill_outputs(value, value_of) for key, value in params.items()}


def _lacks_a_size(params: dict, program: Program, values: list) -> bool:
    """Return whether parameters need a size of a value that was not computed."""
    return any(
        [values[program.places[atom][0]] is None for atom in atoms_of(tuple(params.values()))]
    )


def _fill_outputs(value: Any, value_of: Callable) -> Any:
    if type(value) is Dim:
        found = evaluate(value, value_of)
        return found if -_END <= found < _END else (found + _END) % (2 * _END) - _END
    if type(value) is tuple:
        return tuple([_fill_outputs(item, value_of) for item in value])
    return value


def _fail(step: Step, arrays: list, params: dict, error: Exception) -> Any:
    """Raise an error that names the operation and its origin; or return the result after all."""
    try:
        if getattr(error, "talweg_located", False):
            raise error
        if step.prim.effect is None and any([array is None for array in arrays]):
            return _absent(step)
        if step.kind == "state" or (step.prim.effect == "host" and isinstance(error, OpError)):
            raise locate_error(error, step.node)
        return sort_out(step.prim, arrays, params, error)
    except OpError as found:
        raise locate_error(found, step.node) from found.__cause__
    finally:
        del error  # its traceback holds this frame: no circle


def _absent(step: Step) -> Any:
    """Return the absent result of a step whose operand is absent, in a branch not taken.

    Derivatives carry such values along; where they are used, they have been computed.
    """
    return (None,) * len(step.node.aval) if step.prim.multiple else None


def locate_error(error: Exception, node: Node) -> Exception:
    """Add the failed operation and its origin to `error`, if it is an operation's."""
    if isinstance(error, OpError) and not getattr(error, "talweg_located", False):
        error.talweg_located = True  # type: ignore[attr-defined]
        error.talweg_node = node  # type: ignore[attr-defined]
        if node.origin is not None:
            place = f"\n  operation {node.prim.name!r} was made at {describe(node.origin)}"
            error._message += place
    return error


class Bodies:
    """The runner of bodies: by this interpreter, or as `execute/executor.py` sets it."""

    def __init__(self) -> None:
        self.run: Any = _run


bodies = Bodies()


class BodyRunner:
    """The runner of a kernel's bodies: it passes variables in and out.

    Such a kernel is given its operands as a list, which is its own, and so are those it passes on:
    then a body can change in place what nobody else needs.
    """

    def __init__(self, step: Step, state: dict):
        self.state = state
        self.remembers, self.everything = step.remembers, step.everything

    def inner(self, body: Body) -> tuple:
        """Return the inner nodes of `body` that are requested as residuals."""
        if self.everything:
            return body.everything()
        return body.find_requested() if self.remembers else ()

    def __call__(self, body: Body, arrays: list) -> list:
        """Run `body` and return its outputs."""
        return bodies.run(program_of(body), arrays, self.state)

    def call(self, body: Body, arrays: list) -> tuple:
        """Run `body`; its outputs, and the requested residuals."""
        inner = self.inner(body)
        outputs, values = self.with_inner(body, arrays, inner)
        return (*outputs, History(1, dict(zip(inner, values))))

    def with_inner(self, body: Body, arrays: list, inner: tuple) -> tuple[list, list]:
        """Run `body`; its outputs, and the values of the inner nodes."""
        values = bodies.run(program_of(body, inner, self.everything), arrays, self.state)
        count = len(body.outputs)
        return values[:count], values[count:]


class LenientRunner(BodyRunner):
    """The runner of a branch's body when a variable that the branch takes has no value.

    FailedPreconditionError if the body uses it.
    """

    def __init__(self, step: Step, state: dict):
        super().__init__(step, state)
        self.operands = step.node.operands[1:]

    def with_inner(self, body: Body, arrays: list, inner: tuple) -> tuple[list, list]:
        """Run `body`; its outputs, and the values of the inner nodes."""
        program = program_of(body, inner, self.everything)
        used = find_demanded_slots(program)
        absent = [
            operand.params.get("variable")
            for operand, array, slot in zip(self.operands, arrays, program.inputs)
            if array is MISSING and slot in used
        ]
        if absent:
            raise make_uninitialized_error(
                [variable for variable in absent if variable is not None], True
            )
        values = _run(program, arrays, self.state)
        count = len(body.outputs)
        return values[:count], values[count:]


def _run_body(step: Step, values: list, params: dict, outer: object) -> None:
    state = OwnedValues(outer, {variable: values[before] for variable, before, _ in step.states})
    arrays = [values[slot] for slot in step.inputs]
    for slot in step.free:
        values[slot] = None
    runner = BodyRunner(step, state)
    if step.prim.role is Role.BRANCH and any([array is MISSING for array in arrays]):
        runner = LenientRunner(step, state)
    try:
        result = step.prim.numpy(runner, arrays, **params)
    except Exception as error:
        error.talweg_located = True  # type: ignore[attr-defined]
        _leave(step, values, state)
        raise
    _leave(step, values, state)
    values[step.out] = result


def _leave(step: Step, values: list, state: dict) -> None:
    """Adopt the variables that the bodies of a step changed."""
    for variable, before, after in step.states:
        if after != before:
            values[after] = state[variable]
