"""A program as machine code, for arguments of one kind: lowered, compiled, called.

Variables that it writes are written in place where nobody else can see the old value; an array that
somebody else refers to (a tensor, a view) is copied first.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from talweg.core import settings
from talweg.core.aval import Aval
from talweg.core.dtypes import of_numpy
from talweg.execute import interpret
from talweg.execute.llvm.executable import Executable
from talweg.execute.llvm.threads import wanted
from talweg.execute.ownership import exclusive
from talweg.execute.stages import Stages
from talweg.graph.node import Node
from talweg.kernels import random_streams
from talweg.kernels.random_bits import state_of_stream
from talweg.kernels.variable_updates import Update
from talweg.kernels.variants import kind_of
from talweg.lower.build import Lowered, build
from talweg.lower.loops import Host
from talweg.lower.text import to_text
from talweg.passes import straight_text
from talweg.passes.functionalize import Program
from talweg.passes.handed import Form, passed
from talweg.passes.pipeline import optimize
from talweg.passes.regions import DeclinedError, Interpreter
from talweg.passes.specialize import specialize
from talweg.passes.straight import NotStraightError, Straight, Value
from talweg.passes.worth import is_worth_it

CALLED: list[Compiled] = []  # what `talweg profile` asks for


class Compiled:
    """A program compiled for arguments of these shapes; called like an executor.

    Arguments that are variables' values, as those are that a function captures, are not passed
    twice.  `lowered` is the stage before machine code, for those who want to look.
    """

    def __init__(self, program: Program, arguments: list, state: Any, stages: Stages | None = None):
        avals = [known_of(x) for x in arguments]
        self._same = values_of_variables(program, arguments, state)
        stages, clock = stages or Stages(program.name), [time.perf_counter()]
        straight = straightened(program, avals, state, self._same, stages)
        clock.append(time.perf_counter())
        self._kept = [i for i in range(len(arguments)) if i not in self._same]
        self._shared = Counter(self._same.values())
        self.lowered: Lowered = build(straight, threads=wanted())
        straight.forget()
        lowered = self.lowered
        clock.append(time.perf_counter())
        read = [buffer for _, buffer, written in lowered.states if not written]
        self.executable = Executable(
            lowered.program,
            inputs=[*lowered.inputs, *read],
            states=[buffer for _, buffer, written in lowered.states if written],
            outputs=lowered.outputs,
            key=to_text(lowered.program),
        )
        clock.append(time.perf_counter())
        if stages.wanted:
            show(stages, lowered, clock)
        self._streams, self._exports = straight.streams, straight.exports
        self.hosted = straight.hosts
        if self.hosted is not None:
            given = [place for place, _ in self.hosted.arguments]
            self._kept = [place for place in self._kept if place not in given]
        self._updates = self.hosted is not None and bool(self.hosted.updated)
        self._drawn = straight.drawn
        states = self.lowered.states
        self._read = [variable for variable, _, written in states if not written]
        self._written = [variable for variable, _, written in states if written]
        self._shapes = [getattr(aval, "dims", aval) for aval in avals]
        self._forms = {place: aval for place, aval in enumerate(avals) if type(aval) is Form}
        self._enter = self.executable.enter
        self.name, self.last = program.name, None
        if settings.profile.get():
            CALLED.append(self)
        self._guard = self.lowered.guard
        self._plain = not (self._written or self._streams or self._same or self._forms)
        self._plain = self._plain and len(self._kept) == len(arguments)

    def __call__(self, program: Program, arguments: list, state: Any) -> list | None:
        """The outputs, None for arguments of other shapes; `state` gets what is written."""
        if self.last is None and CALLED:
            self.last = (list(arguments), state)
        if self._exports is None:
            return self._call(program, arguments, state)
        with self.keeping(arguments, state):
            try:
                return self._call(program, arguments, state)
            except DeclinedError:
                pass
            except Exception as error:
                if not self._guard or getattr(error, "talweg_exact", True):
                    raise
        return interpret.run(program, arguments, state)

    @contextmanager
    def keeping(self, arguments: list, state: Any) -> Iterator[None]:
        """Keep aside what the program works on that is not compiled, until the call is over."""
        if self._exports is None:
            yield
            return
        kept = self._exports.begin()
        try:
            if self.hosted is not None:
                kept.update(self.hosted.constants)
                for place, hosted in self.hosted.arguments:
                    kept[hosted] = arguments[place]
                for variable, hosted in self.hosted.starts.items():
                    kept[hosted] = state[variable]
            yield
        finally:
            self._exports.end()

    def _call(self, program: Program, arguments: list, state: Any) -> list | None:
        copies = self._copies(state) if self._updates else {}
        if self._plain:
            inputs = arguments
            if self._read:
                inputs = [*arguments, *[state[variable] for variable in self._read]]
            outputs = self._enter(inputs, [])
            if type(outputs) is not list:
                if self._is_for_others(arguments, state):
                    return None
                outputs = self.executable.settle(outputs, inputs, [])
        elif self._is_for_others(arguments, state):
            return None
        else:
            for place, variable in self._same.items():
                if arguments[place] is not state.get(variable):
                    return None
            inputs = self._inputs(arguments)
            if self._streams:
                drawn, streams = reserved(self._streams, state)
                inputs += drawn
            inputs += [state[variable] for variable in self._read]
            shared = self._shared
            arrays = [exclusive(state, variable, shared[variable]) for variable in self._written]
            outputs = self.executable(inputs, arrays)
        failed = self._guard and not outputs.pop()
        blocks = [outputs.pop() for _ in self._drawn]
        if failed:
            return interpret.run(program, arguments, state)
        if self._exports is not None:
            outputs = self._exports.joined(outputs)
        if not self._plain:
            for variable, array in zip(self._written, arrays):
                state[variable] = array
            if self._streams:
                for operation, count in zip(self._drawn, blocks[::-1]):
                    streams[operation] = streams[operation].skip(int(count))
                for operation, stream in streams.items():
                    state[operation] = stream
        if self.hosted is not None:
            del inputs
            self._write_aside(state, copies)
        return outputs

    def _copies(self, state: Any) -> dict[Any, Any]:
        """Copies of variables of which rows will change, where somebody else holds the value."""
        copies: dict[Any, Any] = {}
        for variable in self.hosted.updated:  # type: ignore[union-attr]
            array = exclusive(state, variable, self._shared[variable])
            if array is not state[variable]:
                copies[variable] = array
            del array
        return copies

    def _write_aside(self, state: Any, copies: dict) -> None:
        """Let variables have what regions kept aside for them."""
        kept = self._exports.now()  # type: ignore[union-attr]
        for variable, hosted in self.hosted.writes:  # type: ignore[union-attr]
            value = kept[hosted]
            if type(value) is Update:
                array = copies.pop(variable, None)
                if array is None:
                    array = exclusive(state, variable, self._shared[variable])
                value = value.write(array)
                del array
            state[variable] = value

    def _inputs(self, arguments: list) -> list:
        """What is passed of the arguments; stacks among them are kept aside."""
        if not self._forms:
            return [arguments[place] for place in self._kept]
        kept, found = self._exports.now(), []
        for place in self._kept:
            given = self._forms.get(place)
            if given is None:
                found.append(arguments[place])
            else:
                found += passed(given, place, arguments[place].handed.arrays, kept)
        return found

    def _is_for_others(self, arguments: list, state: Any) -> bool:
        """Whether the arguments have other shapes, or a variable has no value."""
        if self._shapes != list(map(kind_of, arguments)):
            return True
        variables = (*self._read, *self._written)
        return any([state[variable] is interpret.MISSING for variable in variables])

    def operands(self, arguments: list, state: Any) -> tuple[list, list]:
        """The inputs of the machine code, and the variables it would write, as they are."""
        drawn = reserved(self._streams, state)[0] if self._streams else []
        kept = [arguments[place] for place in self._kept]
        inputs = [*kept, *drawn, *[state[variable] for variable in self._read]]
        return inputs, [state[variable] for variable in self._written]


def values_of_variables(program: Program, arguments: list, state: Any) -> dict[int, Any]:
    """Which arguments are the present values of variables: position -> variable."""
    variables = {id(state.get(variable)): variable for variable in program.starts
                 if type(variable) is not Node}  # fmt: skip
    return {place: variables[id(array)] for place, array in enumerate(arguments)
            if id(array) in variables}  # fmt: skip


def alone(prim: Any, arrays: list, params: dict, threads: int | None = None) -> Any:
    """One operation as machine code; False if its NumPy kernel would be called from it.

    threads: on how many it runs; as many as usual where it is not given.
    """
    straight = Straight()
    for array in arrays:
        straight.inputs.append(Value(array.shape, of_numpy(array.dtype)))
    result = straight.apply(prim, straight.inputs, params)
    straight.outputs = list(result) if prim.multiple else [result]
    optimize(straight)
    lowered = build(straight, prim.name, threads or wanted())
    straight.forget()
    if lowered.guard or any(isinstance(block, Host) for block in lowered.program.blocks):
        return False
    key = to_text(lowered.program)
    return Executable(lowered.program, lowered.inputs, [], lowered.outputs, threads, key)


def show(stages: Stages, lowered: Lowered, clock: list[float]) -> None:
    """Tell those who look what a program has become."""
    reasons = [f"{value}: {text}\n" for value, text in lowered.reasons]
    stages.add("nests.txt", lambda: "".join(reasons), 3)
    stages.add("loops.txt", lambda: to_text(lowered.program), 4)
    if stages.kept or stages.level >= 5:
        generate = import_module("talweg.execute.llvm.generate")
        llvm = generate.module_text(lowered.program)
        stages.add("llvm.ll", lambda: llvm, 5)
        stages.add("assembly.s", lambda: generate.assembly(llvm), 6)
    parts = ("straightened", "lowered", "machine code")
    seconds = {part: b - a for part, a, b in zip(parts, clock, clock[1:])}
    stages.done(seconds, len(lowered.program.blocks))


def known_of(argument: Any) -> Any:
    """What is known of an argument when a program is compiled for it."""
    found = kind_of(argument)
    return found if type(found) is Form else Aval(found, of_numpy(argument.dtype))


def straightened(program: Program, avals: list, state: Any, same: dict, stages: Stages) -> Straight:
    """The optimized straight program, for what variables are now."""
    states = {}
    for variable in program.starts:
        if type(variable) is Node:  # a random stream
            continue
        array = state.get(variable, interpret.MISSING)
        if array is interpret.MISSING:
            raise NotStraightError(f"the variable {variable.name} has no value")
        states[variable] = Aval(array.shape, of_numpy(array.dtype))
    straight = specialize(program, avals, states, same)
    if straight.hosts is not None:
        said = [f"{name}: {why}" for name, why in straight.hosts.reasons.items()]
        reasons = "; ".join(said) or "results that are no arrays"
        if not is_worth_it(straight, at_all=settings.executor.get() == "llvm"):
            straight.forget()
            raise NotStraightError(f"what could be compiled is too little ({reasons})")
        note = f"called from inside the compiled program: {reasons}"
        program.notes = [each for each in program.notes if each != note] + [note]
        stages.say(f"{program.name} is compiled but for {reasons}")
    if stages.kept:
        stages.add("straight-0.txt", lambda: straight_text.to_text(straight), 9)
        optimize(straight, lambda name: stages.add(
            f"straight-{name}.txt", lambda: straight_text.to_text(straight), 9))  # fmt: skip
    else:
        optimize(straight)
    return straight


def reserved(streams: list, state: Any) -> tuple[list, dict]:
    """The states that random operations begin with, and their streams after that."""
    arrays, after = [], {}
    for operation, seeds, blocks in streams:
        stream = after.get(operation) or state.get(operation, interpret.MISSING)
        if stream is interpret.MISSING:
            stream = random_streams.start(seeds)
        arrays.append(state_of_stream(stream))
        after[operation] = stream.skip(blocks)
    return arrays, after


Interpreter.run = staticmethod(interpret.run)
