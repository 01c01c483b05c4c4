"""Compiled programs: machine code for arguments of one kind.

Variables that it writes are written in place where nobody else can see the old value; an array that
somebody else refers to (a tensor, a view) is copied first.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talweg.core import settings
from talweg.core.aval import Aval
from talweg.core.dtypes import of_numpy
from talweg.core.lazy import LazyModule
from talweg.execute import heap, interpret, manifest
from talweg.execute.donation import exclusive
from talweg.execute.drawing import Drawing, reserve_states
from talweg.execute.llvm.runtime.executable import MissingError
from talweg.execute.llvm.runtime.sharing import fair_share
from talweg.execute.stage_dump import Stages
from talweg.graph.node import Node
from talweg.kernels.variable_updates import UpdateRule
from talweg.kernels.variants import kind_of
from talweg.passes.faults import part, side_part
from talweg.passes.functionalize import Program
from talweg.passes.specialize.program import DeclinedError
from talweg.passes.specialize.residuals import ResidualSpec, pass_arrays

if TYPE_CHECKING:
    import numpy as np

    from talweg.execute import compilation
    from talweg.passes.fallback.host_steps import Hosts
    from talweg.passes.specialize.side_outputs import SideOutputs
else:
    compilation = LazyModule("talweg.execute.compilation")


@dataclass(slots=True)
class CallSignature:
    """The calling convention of a compiled program: its arguments, and those it takes."""

    kinds: list  # the sizes of each argument, or the description of residuals
    aliases: dict[int, Any]  # position -> the variable whose present value the argument is
    passed: list[int]  # positions of the arguments that machine code is given
    residuals: dict[int, ResidualSpec]  # those of which it is given the arrays

    @staticmethod
    def of(avals: list, aliases: dict[int, Any]) -> CallSignature:
        """Return the signature of a program that is specialized to arguments of these kinds."""
        kinds = [getattr(aval, "dims", aval) for aval in avals]
        passed = [position for position in range(len(avals)) if position not in aliases]
        residuals = {i: aval for i, aval in enumerate(avals) if type(aval) is ResidualSpec}
        return CallSignature(kinds, aliases, passed, residuals)

    def leave_out(self, positions: list[int]) -> None:
        """Remove arguments that only host steps use."""
        self.passed = [position for position in self.passed if position not in positions]


@dataclass(slots=True)
class CallEffects:
    """The effects of a compiled program: variables and random streams that it reads or changes."""

    read: list  # variables that are only read
    written: list
    references: Counter  # variable -> how many arguments are its value, too
    in_place: list[tuple[Any, int]]  # what is written, and how many arguments are its value
    streams: list  # (operation, seeds, blocks) of the last inputs
    drawn: list  # operations of which the last outputs tell how many blocks were taken

    @staticmethod
    def of(made: manifest.Manifest, aliases: dict[int, Any]) -> CallEffects:
        """Return the effects of a compiled program."""
        references = Counter(aliases.values())
        read = [variable for variable, _, written in made.lowered.states if not written]
        written = [variable for variable, _, written in made.lowered.states if written]
        in_place = [(variable, references[variable]) for variable in written]
        return CallEffects(read, written, references, in_place, made.streams, made.drawn)

    def drawing(self, state: dict) -> Drawing | None:
        """Return the random numbers that a run draws; None if it draws none."""
        return Drawing(self.streams, self.drawn, state) if self.streams else None


CALLED: list[Compiled] = []  # what `talweg profile` asks for


class Compiled:
    """A program compiled for arguments of these shapes; called like an executor.

    Arguments that are variables' values, as those are that a function captures, are not passed
    twice.  `lowered` is the stage before machine code, for those who want to look.
    """

    def __init__(
        self,
        program: Program,
        arguments: list,
        state: dict,
        stages: Stages | None = None,
        anew: bool = True,
    ):
        avals = [static_facts(x) for x in arguments]
        self.signature = CallSignature.of(avals, values_of_variables(program, arguments, state))
        compiled_parts = self._load_or_compile(
            program, avals, state, stages or Stages(program.name), anew
        )
        self.lowered, self.executable = compiled_parts.lowered, compiled_parts.executable
        self.side_outputs: SideOutputs | None = compiled_parts.exports
        self.hosts: Hosts | None = compiled_parts.hosts
        if self.hosts is not None:
            self.signature.leave_out([position for position, _ in self.hosts.arguments])
        self.effects = CallEffects.of(compiled_parts, self.signature.aliases)
        self._enter: Any = getattr(self.executable, "enter", None)
        self._guard = self.lowered.guard
        self._shares = self.executable.shares
        aside = compiled_parts.hosts is not None or compiled_parts.exports is not None
        self._direct = not (compiled_parts.streams or self.signature.residuals or aside)
        self.name, self.last = program.name, None
        self._profiled = bool(settings.profile.get())
        if self._profiled:
            CALLED.append(self)

    def _load_or_compile(
        self, program: Program, avals: list, state: dict, stages: Stages, anew: bool
    ) -> manifest.Manifest:
        """Return the code and its metadata, from the disk cache if possible.

        A MissingError where it is not, and shall not be made `anew`.
        """
        key = None
        looked_at = stages.wanted or settings.profile.get() or settings.check.get()
        if not looked_at:
            with part("name of the program"):
                key = manifest.key_of(program, avals, state, self.signature.aliases)
        loaded = None
        with side_part("loading from disk", program.name):
            loaded = manifest.load(key, program, avals, self.signature.aliases)
        if loaded is None and not anew:
            raise MissingError(program.name)
        heap.give_back()
        if loaded is None:
            loaded = compilation.compile_program(
                program, avals, state, self.signature.aliases, stages
            )
            with side_part("keeping on disk", program.name):
                manifest.keep(key, program, loaded)
        return loaded

    def __call__(self, program: Program, arguments: list, state: dict) -> list | None:
        """Run the program: outputs, None for other shapes; `state` gets the variables' writes."""
        if self._profiled and self.last is None:
            self.last = (list(arguments), state)
        measured = None
        if self._shares:
            measured = fair_share.apply(self.executable)
        elif fair_share.crowded and time.monotonic() > fair_share.due:
            fair_share.refresh()
        try:
            if self._direct:
                return self._call_directly(program, arguments, state)
            if self.side_outputs is None:
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
        finally:
            if measured is not None:
                measured.end()

    def end_profile(self) -> None:
        """Drop the arguments that the profile holds, and hold none of later calls."""
        self._profiled, self.last = False, None
        CALLED.remove(self)

    @contextmanager
    def keeping(self, arguments: list, state: dict) -> Iterator[None]:
        """Store values without compiled form during the call."""
        if self.side_outputs is None:
            yield
            return
        storage = self.side_outputs.begin()
        try:
            if self.hosts is not None:
                storage.update(self.hosts.constants)
                for position, host_value in self.hosts.arguments:
                    storage[host_value] = arguments[position]
                for variable, host_value in self.hosts.starts.items():
                    storage[host_value] = state[variable]
            yield
        finally:
            self.side_outputs.end()

    def _call_directly(self, program: Program, arguments: list, state: dict) -> list | None:
        """Run a program on arrays only, through the native entry stub."""
        signature, effects = self.signature, self.effects
        inputs = arguments
        if signature.aliases:
            for position, variable in signature.aliases.items():
                if arguments[position] is not state.get(variable):
                    return None
            inputs = [arguments[position] for position in signature.passed]
        if effects.read:
            inputs = [*inputs, *[state[variable] for variable in effects.read]]
        arrays = []
        for variable, shared in effects.in_place:
            arrays.append(exclusive(state, variable, shared))
        outputs: Any = None
        try:
            outputs = self._enter(inputs, arrays)
            if type(outputs) is not list:
                if self._is_for_others(arguments, state):
                    self._put_back(state)
                    return None
                outputs = self.executable.settle(outputs, inputs, arrays)
            failed = self._guard and not outputs.pop()
            if not failed:
                for variable, array in zip(effects.written, arrays):
                    state[variable] = array
        except BaseException:  # a signal's handler: what was written must not be half there
            if type(outputs) is list or outputs is None and self._is_done():
                self._end_writing(state, arrays)
            raise
        if failed:
            self._put_back(state)
            return interpret.run(program, arguments, state)
        return outputs

    def _is_done(self) -> bool:
        """Return whether the machine code has finished, though a signal lost its result."""
        layout = getattr(self.executable, "layout", None)
        return layout is not None and layout.is_done()

    def _end_writing(self, state: dict, arrays: list) -> None:
        """Assign all variables their new values, repeating assignments already made."""
        for variable, array in zip(self.effects.written, arrays):
            state[variable] = array

    def _put_back(self, state: dict) -> None:
        """Restore the variables that were to be written in place."""
        put_back = getattr(state, "put_back", None)
        if put_back is not None:
            put_back(self.effects.written)

    def _call(self, program: Program, arguments: list, state: dict) -> list | None:
        """Run a program with arguments beyond arrays: random streams, lists, host values."""
        signature, effects = self.signature, self.effects
        copies = self._copies(state)
        if self._is_for_others(arguments, state):
            return None
        for position, variable in signature.aliases.items():
            if arguments[position] is not state.get(variable):
                return None
        inputs = self._inputs(arguments)
        drawing = effects.drawing(state)
        if drawing is not None:
            inputs += drawing.begin()
        inputs += [state[variable] for variable in effects.read]
        arrays = [exclusive(state, variable, shared) for variable, shared in effects.in_place]
        outputs: Any = None
        try:
            outputs = self.executable(inputs, arrays)
            failed = self._guard and not outputs.pop()
            blocks = [outputs.pop() for _ in effects.drawn]
            if not failed:
                for variable, array in zip(effects.written, arrays):
                    state[variable] = array
        except BaseException:
            if outputs is not None or self._is_done():
                self._end_writing(state, arrays)
            elif drawing is not None:
                drawing.undo()
            raise
        if failed:
            self._put_back(state)
            if drawing is not None:
                drawing.undo()
            return interpret.run(program, arguments, state)
        if self.side_outputs is not None:
            outputs = self.side_outputs.join(outputs)
        if drawing is not None:
            drawing.end(blocks[::-1])
        if self.hosts is not None and self.hosts.writes:
            del inputs
            self._write_aside(state, copies)
        return outputs

    def _copies(self, state: dict) -> dict[Any, Any]:
        """Copy the variables with changed rows whose arrays are shared."""
        copies: dict[Any, Any] = {}
        for variable in self.hosts.updated if self.hosts is not None else ():
            array = exclusive(state, variable, self.effects.references[variable])
            if array is not state[variable]:
                copies[variable] = array
            del array
        return copies

    def _write_aside(self, state: dict, copies: dict) -> None:
        """Assign variables the values that host regions stored."""
        assert self.side_outputs is not None and self.hosts is not None
        kept = self.side_outputs.now()
        for variable, host_value in self.hosts.writes:
            value = kept[host_value]
            if type(value) is UpdateRule:
                array = copies.pop(variable, None)
                if array is None:
                    array = exclusive(state, variable, self.effects.references[variable])
                value = value.write(array)
                del array
            state[variable] = value

    def _inputs(self, arguments: list) -> list:
        """Return the arrays among the arguments that are passed; stacks are stored apart."""
        signature = self.signature
        if not signature.residuals:
            return [arguments[position] for position in signature.passed]
        assert self.side_outputs is not None  # residuals come with them
        kept, inputs = self.side_outputs.now(), []
        for position in signature.passed:
            spec = signature.residuals.get(position)
            if spec is None:
                inputs.append(arguments[position])
            else:
                inputs += pass_arrays(spec, position, arguments[position].residuals.arrays, kept)
        return inputs

    def _is_for_others(self, arguments: list, state: dict) -> bool:
        """Return whether the arguments have other shapes, or a variable has no value."""
        if self.signature.kinds != list(map(kind_of, arguments)):
            return True
        variables = (*self.effects.read, *self.effects.written)
        return any([state[variable] is interpret.MISSING for variable in variables])

    def operands(self, arguments: list, state: dict) -> tuple[list, list]:
        """Return the machine code's inputs, and the variables it would write, unchanged."""
        drawn = reserve_states(self.effects.streams, state)[0] if self.effects.streams else []
        kept = [arguments[position] for position in self.signature.passed]
        inputs = [*kept, *drawn, *[state[variable] for variable in self.effects.read]]
        return inputs, [state[variable] for variable in self.effects.written]


def values_of_variables(program: Program, arguments: list, state: dict) -> dict[int, Any]:
    """Return the arguments that are present values of variables: position -> variable."""
    variables = {
        id(state.get(variable)): variable
        for variable in program.starts
        if type(variable) is not Node
    }
    return {
        place: variables[id(array)]
        for place, array in enumerate(arguments)
        if id(array) in variables
    }


def static_facts(argument: np.generic | np.ndarray) -> Any:
    """Return the static knowledge of an argument that a program is specialized to."""
    found = kind_of(argument)
    return found if type(found) is ResidualSpec else Aval(found, of_numpy(argument.dtype))
