"""Partition of a static program: parts compiled by XLA, with host steps between them.

A host step is an equation without a form: a region that the interpreter runs, or a NumPy kernel.
A value has the level of the last host step that it depends on, plus one.  What is on one level is
one part, compiled as a whole; then the host steps of that level run, in order.  A host step in the
body of a loop or branch is called from within the part.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from talweg.core.errors import ResourceExhaustedError, compose, invalid
from talweg.core.transfers import fetch, is_true, note_sent
from talweg.execute import choice
from talweg.execute.call import quiet
from talweg.execute.stage_dump import Stages
from talweg.execute.xla import engine
from talweg.execute.xla.emitter import Emitter, has_form
from talweg.execute.xla.engine import io_callback, jax
from talweg.execute.xla.engine import numpy as jnp
from talweg.passes.fallback.host_steps import ACTS
from talweg.passes.specialize.program import Equation, StaticProgram, Value
from talweg.passes.specialize.stack_primitives import is_endless

ROWS = 256  # of stacks of unknown length, at first


class Part:
    """A group of equations compiled together; `steps` run on the host afterwards.

    `inputs` and `outputs`: values from and for other parts, steps and the caller.
    """

    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self.steps: list[Equation] = []
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []


def parts_of(
    static: StaticProgram, wanted: Sequence[Value], name: bytes | None = None
) -> list[Part]:
    """Partition a program, in order; `wanted` are its results, `name` what it is on disk."""
    name = None if name is None else name + b"\nforms"
    forms = engine.recall(name, lambda: bytes(map(has_form, static.equations)))
    levels: dict[Value, int] = {}
    parts = [Part()]
    next_step = next_called = 0  # levels for what acts on the world, between parts and in them
    for equation, is_formed in zip(static.equations, forms, strict=True):
        level = max([levels.get(x, 0) for x in equation.inputs], default=0)
        on_host = not is_formed
        if equation.prim.effect in ACTS:
            level = next_step = max(level, next_step if on_host else next_called)
            next_called = level + on_host
        while len(parts) <= level + on_host:
            parts.append(Part())
        (parts[level].steps if on_host else parts[level].equations).append(equation)
        levels.update(dict.fromkeys(equation.outputs, level + on_host))
    _find_interfaces(parts, wanted)
    return parts


def _find_interfaces(parts: list[Part], wanted: Sequence[Value]) -> None:
    """Find the inputs and outputs of parts."""
    needed = {x for x in wanted if x.content is None}
    for part in reversed(parts):
        used = [x for step in part.steps for x in step.inputs if x.content is None]
        needed = needed - {x for step in part.steps for x in step.outputs} | set(used)
        made = {x for equation in part.equations for x in equation.outputs}
        part.outputs = [x for x in _in_order(part.equations) if x in needed]
        inner = [x for equation in part.equations for x in equation.inputs if x.content is None]
        part.inputs = list(dict.fromkeys([x for x in inner if x not in made]))
        needed = needed - made | set(part.inputs)


def _in_order(equations: list[Equation]) -> list[Value]:
    return [x for equation in equations for x in equation.outputs]


class Ending:
    """The end of the last part: it combines guards and selects variables' values.

    `states`: (before, after) of variables that are written.
    """

    def __init__(self, static: StaticProgram):
        self.guards = [
            guard
            for guard in static.guards
            if guard.content is None or not bool(np.all(guard.content))
        ]
        self.states = [(b, a) for _, b, a in static.states if a is not b]
        self.outputs = list(static.outputs)

    def find_wanted(self) -> list[Value]:
        """Return all values that the last part needs."""
        return [*self.guards, *[x for pair in self.states for x in pair], *self.outputs]


class OnlyPart:
    """A program of one part, for callers with arrays in order.

    `call(donated, given)` gives `full, (ok, outputs, after)`; what is donated are states `written`,
    what is given are `inputs` and states `read`.
    """

    def __init__(
        self, written: list[int], inputs: list[int], read: list[int], wide: bool, device: Any
    ):
        self.written, self.inputs, self.read = written, inputs, read
        self._wide, self.device = wide, device
        self.whereabouts = device or "the default device"
        self.call: Callable[[tuple, tuple], Any]
        self.copy = engine.copy

    def put(self, array: Any) -> Any:
        """Copy an array of NumPy to the program's device."""
        return engine.put(array, self.device)

    def bring(self, arrays: tuple) -> tuple:
        """Move arrays to the program's device that lie on another one."""
        return tuple([engine.bring(array, self.device) for array in arrays])

    def let_call(self, executable: Callable[..., Any]) -> None:
        """Make an executable callable by JAX's fast path, without a scope if possible."""
        self.call = engine.call_wide(executable) if self._wide else executable


class PartsExecutable:
    """The parts of a program, compiled on first run for a number of stacks' rows."""

    shares = False  # XLA's own threads see to the cores
    may_be_called = True  # by those who have arrays in order, without a look at where they are

    def __init__(
        self,
        static: StaticProgram,
        stages: Stages,
        device: Any = None,
        name: bytes | None = None,
    ):
        self.device = device  # None: the default one
        self._name = name  # of the program on disk
        self.ending = Ending(static)
        with engine.wide():
            self.parts = parts_of(static, self.ending.find_wanted(), name)
        self.stages, self.exports = stages, static.exports
        self.hosts = [step for part in self.parts for step in part.steps]
        self.inputs = list(static.inputs)
        self.states = [before for _, before, _ in static.states]
        self.capacity = ROWS
        self.compiled: dict[tuple, Any] = {}
        self.calls_back = False  # whether a part calls Python while it runs
        self._calling = threading.RLock()
        self._error: BaseException | None = None  # of a host step in a part that runs
        self._kept: Any = None
        last = self.parts[-1]
        self.befores = [before for before, _ in self.ending.states]
        given = dict.fromkeys([*last.inputs, *self.ending.find_wanted()])
        made = set(_in_order(last.equations))
        self.rest = [
            x for x in given if x.content is None and x not in made and x not in self.befores
        ]
        number = {value: position for position, value in enumerate([*self.inputs, *self.states])}
        self.rest.sort(key=lambda value: number.get(value, 0))  # inputs before states
        self.direct: OnlyPart | None = None
        self._prepare()
        self._places = self._find_places()

    def _find_places(self) -> tuple[list, list] | None:
        """Find the positions of the only part's operands in states, and in all arguments.

        None for several parts, and for stacks of unknown length.
        """
        known = [*self.inputs, *self.states]
        if len(self.parts) > 1 or any(map(is_endless, known)) or self.calls_back:
            return None
        number = {value: position for position, value in enumerate(known)}
        written, taken = [number[x] for x in self.befores], [number[x] for x in self.rest]
        if not self.hosts and self.exports is None and self.may_be_called:
            count = len(self.inputs)
            inputs = [position for position in taken if position < count]
            wide = any([self.inputs[position].dtype.size == 8 for position in inputs])
            states = [[k - count for k in places if k >= count] for places in (written, taken)]
            self.direct = OnlyPart(states[0], inputs, states[1], wide, self.device)
            self.direct.let_call(self.compiled[0, self.capacity])
        return written, taken

    def _run_only_part(self, inputs: list, states: list) -> tuple[bool, list, list]:
        """Run a program of one part (`__call__`)."""
        written, taken = self._places  # type: ignore[misc]
        known = [*inputs, *states]
        donated = tuple([known[place] for place in written])
        given = [known[place] for place in taken]
        with engine.wide():
            ok, outputs, after = self._run(0, donated, given)
        return ok is None or is_true(ok), list(outputs), list(after)

    def _prepare(self) -> None:
        """Compile all parts for the initial number of rows of stacks."""
        with engine.wide():
            for number, each in enumerate(self.parts[:-1]):
                if each.outputs:
                    self._executable(number, ((), self._kinds(each.inputs)))
            arguments = (self._kinds(self.befores), self._kinds(self.rest))
            self._executable(len(self.parts) - 1, arguments)

    def _kinds(self, values: Sequence[Value]) -> tuple:
        dims = [(self.capacity, *x.dims[1:]) if is_endless(x) else x.dims for x in values]
        kinds = zip(dims, values)
        where = None if self.device is None else jax.sharding.SingleDeviceSharding(self.device)
        return tuple(
            [jax.ShapeDtypeStruct(d, x.dtype.numpy_dtype, sharding=where) for d, x in kinds]
        )

    def __call__(self, inputs: list, states: list) -> tuple[bool, list, list]:
        """Run the program: whether all guards hold, the outputs, new values of variables."""
        if self._places is not None:
            return self._run_only_part(inputs, states)
        with engine.wide():
            known = dict(zip(self.inputs, inputs))
            known.update(zip(self.states, states))
            last = len(self.parts) - 1
            for number, part in enumerate(self.parts[:-1]):
                if part.outputs:
                    failed, results = self._run(number, (), [known[x] for x in part.inputs])
                    if failed is not None and is_true(failed):
                        return False, [], []
                    known.update(zip(part.outputs, results))
                for step in part.steps:
                    self._step(step, known)
            donated = tuple([known[x] for x in self.befores])
            ok, outputs, after = self._run(last, donated, [known[x] for x in self.rest])
            return ok is None or is_true(ok), list(outputs), list(after)

    # -- parts

    def _run(self, number: int, donated: tuple, given: list) -> Any:
        """Run a part, again with longer stacks if they were too short."""
        while True:
            arguments = (donated, tuple(self._with_rows(number, given)))
            executable = self._executable(number, arguments)
            note_sent(donated)
            note_sent(arguments[1])
            if choice.placing.used:
                arguments = self._brought(arguments)
            try:
                full, results = self._execute(executable, arguments)
            except Exception as error:
                if engine.is_out_of_memory(error):
                    text = compose("TW209", f"the device has too little memory: {error}")
                    raise ResourceExhaustedError(None, None, text) from None
                raise
            if full is None or not is_true(full):
                return results
            self.capacity *= 2
            if donated:
                donated = results[2]

    def _brought(self, arguments: tuple) -> tuple:
        """Return arguments of the program on its device, where there are functions on several."""
        return tuple([tuple([engine.bring(x, self.device) for x in own]) for own in arguments])

    def _with_rows(self, number: int, given: list) -> list:
        """Return stacks of dynamic length with as many rows as the capacity says."""
        last = number == len(self.parts) - 1
        values = self.rest if last else self.parts[number].inputs
        found = []
        for value, array in zip(values, given):
            if is_endless(value):
                while len(array) > self.capacity:
                    self.capacity *= 2
        for value, array in zip(values, given):
            if is_endless(value) and len(array) < self.capacity:
                more = [(0, self.capacity - len(array)), *[(0, 0)] * (array.ndim - 1)]
                array = np.pad(fetch(array), more)
            found.append(array)
        return found

    def serialize(self, order: list[int]) -> bytes:
        """Serialize the HLO module, which takes `[*inputs, *states]` in an order.

        InvalidArgumentError for a program that calls the host, or writes variables.
        """
        if len(self.parts) > 1 or self.hosts or self.ending.states:
            raise invalid("TW402", "hlo_serialized: it has operations of the host, or writes")
        known = [*self.inputs, *self.states]

        def function(*arrays: Any) -> tuple:
            by_value = dict(zip([known[slot] for slot in order], arrays))
            given = tuple([by_value[value] for value in self.rest])
            return self._last((), given)[1][1]

        with engine.wide():
            kinds = [
                jax.ShapeDtypeStruct(known[slot].dims, known[slot].dtype.numpy_dtype)
                for slot in order
            ]
            lowered = jax.jit(function, keep_unused=True).lower(*kinds)
            return lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()

    def _executable(self, number: int, arguments: tuple) -> Any:
        key = (number, self.capacity)
        ready = self.compiled.get(key)
        if ready is None:
            function = self._last if number == len(self.parts) - 1 else self._part(number)
            name = None if self._name is None else self._name + f"\n{key}".encode()
            executable = engine.find_executable(name, self.device)
            if executable is None:
                lowered = engine.text_of(function, arguments, (0,))
                self._show("hlo", lowered.as_text)
                executable = engine.compile_module(lowered, self.device, name)
            ready = self.compiled[key] = engine.with_room(executable, self._largest(number))
            if self.direct is not None:
                self.direct.let_call(ready)
            self._show("optimized_hlo", executable.as_text)
        return ready

    def _largest(self, number: int) -> str:
        """Describe the largest value that a part makes, for errors of memory."""
        made = [value for step in self.parts[number].equations for value in step.outputs]
        largest = max(made, key=lambda value: value.size, default=None)
        if largest is None:
            return "nothing is computed"
        name = largest.maker.prim.name if largest.maker else "a constant"
        return f"the largest is {name}, {largest.dtype.name} {largest.dims}"

    def _show(self, stage: str, text: Callable[[], str]) -> None:
        """Dump the compiled form of a part, for observers."""
        before = self.stages.texts.get(f"{stage}.txt", "")
        self.stages.add(f"{stage}.txt", lambda: before + text(), 4 if stage == "hlo" else 5)

    def _emitter(self) -> Emitter:
        return Emitter(self.capacity, self._emit_callback)

    def _part(self, number: int) -> Callable[..., Any]:
        part = self.parts[number]

        def function(donated: tuple, given: tuple) -> tuple:
            emitter = self._emitter()
            emitter.known.update(zip(part.inputs, given))
            emitter.run(part.equations)
            found = tuple(map(emitter.value, part.outputs))
            return emitter.full, (emitter.failed, found)

        return function

    def _last(self, donated: tuple, given: tuple) -> tuple:
        emitter = self._emitter()
        emitter.known.update(zip(self.befores, donated))
        emitter.known.update(zip(self.rest, given))
        emitter.run(self.parts[-1].equations)
        for guard in self.ending.guards:
            emitter.require(emitter.value(guard))
        after = [(emitter.value(b), emitter.value(a)) for b, a in self.ending.states]
        self._end(emitter)
        holds = ok = None if emitter.failed is None else ~emitter.failed
        if emitter.full is not None:
            holds = ~emitter.full if ok is None else ok & ~emitter.full
        if holds is None:
            kept = tuple([a for _, a in after])
        else:  # what was there must survive a failure: its memory is given away
            kept = tuple([jnp.where(holds, a, b) for b, a in after])
        outputs = tuple(map(emitter.value, self.ending.outputs))
        return emitter.full, (ok, outputs, kept)

    def _end(self, emitter: Emitter) -> None:
        """Agree on failures with other processes that run the program: there are none."""

    # -- host steps

    def _step(self, step: Equation, known: dict) -> None:
        """Run a host step between two parts."""
        arrays = [self._find_array(x, known) for x in step.inputs]
        found = self._run_step(step, arrays)
        for value, array in zip(step.outputs, found):
            known[value] = np.asarray(array, value.dtype.numpy_dtype)

    def _find_array(self, value: Value, known: dict) -> Any:
        if value.content is not None:
            return np.broadcast_to(np.asarray(value.content, value.dtype.numpy_dtype), value.dims)
        return np.asarray(fetch(known[value]))

    def _run_step(self, step: Equation, arrays: list) -> Sequence[Any]:
        prim, params = step.prim, step.params
        call = prim.lowering.get("call")
        if call == "export":
            return params["exports"].hand_over(params["place"], *arrays)
        if call == "fetch":
            return (params["exports"].fetch(params["place"]),)
        kernel: Any = prim.numpy  # of a region: what has the interpreter run it
        found = kernel(*arrays, **params) if prim.effect else quiet(kernel, *arrays, **params)
        return found if prim.multiple else (found,)

    def _emit_callback(self, equation: Equation, arrays: list) -> Any:
        """Emit a host step within a part as a callback, ordered if it has effects."""
        kinds = [jax.ShapeDtypeStruct(x.dims, x.dtype.numpy_dtype) for x in equation.outputs]
        self.calls_back = True

        def call(*given: object) -> tuple:
            if self._error is None:
                try:
                    with nullcontext() if self.exports is None else self.exports.lend(self._kept):
                        results = self._run_step(equation, [np.asarray(fetch(x)) for x in given])
                    made = [np.asarray(x, kind.dtype) for x, kind in zip(results, kinds)]
                    note_sent(made)
                    return tuple(made)
                except BaseException as error:  # noqa: BLE001 -- raised where the run was begun
                    self._error = error
            return tuple([np.zeros(kind.shape, kind.dtype) for kind in kinds])

        if equation.prim.effect is None:
            results = jax.pure_callback(call, tuple(kinds), *arrays)
        else:
            results = io_callback(call, tuple(kinds), *arrays, ordered=True)
        return results if equation.prim.multiple else results[0]

    def _execute(self, executable: Any, arguments: tuple) -> Any:
        """Run an executable. One that calls Python runs once at a time."""
        if not self.calls_back:
            return executable(*arguments)
        with self._calling:
            self._error = None
            self._kept = None if self.exports is None else self.exports.now()
            try:
                found = jax.block_until_ready(executable(*arguments))
                jax.effects_barrier()
            finally:
                error, self._error, self._kept = self._error, None, None
            if error is not None:
                raise error
            return found
