"""A program as machine code, for arguments of one kind: lowered, compiled, called.

Variables that it writes are written in place where nobody else can see the old value; an array that
somebody else refers to (a tensor, a view) is copied first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
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
else:
    compilation = LazyModule("talweg.execute.compilation")

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
        state: Any,
        stages: Stages | None = None,
        anew: bool = True,
    ):
        avals = [static_facts(x) for x in arguments]
        self._same = values_of_variables(program, arguments, state)
        made = self._made(program, avals, state, stages or Stages(program.name), anew)
        self.lowered, self.executable = made.lowered, made.executable
        self._kept = [i for i in range(len(arguments)) if i not in self._same]
        self._shared = Counter(self._same.values())
        self._streams, self._exports = made.streams, made.exports
        self.hosted = made.hosts
        if self.hosted is not None:
            given = [position for position, _ in self.hosted.arguments]
            self._kept = [position for position in self._kept if position not in given]
        self._updates = self.hosted is not None and bool(self.hosted.updated)
        self._drawn = made.drawn
        states = self.lowered.states
        self._read = [variable for variable, _, written in states if not written]
        self._written = [variable for variable, _, written in states if written]
        self._shapes = [getattr(aval, "dims", aval) for aval in avals]
        self._forms = {
            position: aval for position, aval in enumerate(avals) if type(aval) is ResidualSpec
        }
        self._enter: Any = getattr(self.executable, "enter", None)
        self.name, self.last = program.name, None
        self._profiled = bool(settings.profile.get())
        if self._profiled:
            CALLED.append(self)
        self._guard = self.lowered.guard
        self._writes = [(variable, self._shared[variable]) for variable in self._written]
        aside = self.hosted is not None or self._exports is not None
        self._shares = self.executable.shares
        self._direct = not (self._streams or self._forms or aside)

    def _made(
        self, program: Program, avals: list, state: dict, stages: Stages, anew: bool
    ) -> manifest.Manifest:
        """The program's code and what goes with it, from the disk where it is there.

        A MissingError where it is not, and shall not be made `anew`.
        """
        key = None
        looked_at = stages.wanted or settings.profile.get() or settings.check.get()
        if not looked_at:
            with part("name of the program"):
                key = manifest.key_of(program, avals, state, self._same)
        made = None
        with side_part("loading from disk", program.name):
            made = manifest.load(key, program, avals, self._same)
        if made is None and not anew:
            raise MissingError(program.name)
        heap.give_back()
        if made is None:
            made = compilation.compile_program(program, avals, state, self._same, stages)
            with side_part("keeping on disk", program.name):
                manifest.keep(key, program, made)
        return made

    def __call__(self, program: Program, arguments: list, state: dict) -> list | None:
        """The outputs, None for arguments of other shapes; `state` gets what is written."""
        if self._profiled and self.last is None:
            self.last = (list(arguments), state)
        if self._shares:
            fair_share.apply(self.executable)
        if self._direct:
            return self._call_directly(program, arguments, state)
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

    def end_profile(self) -> None:
        """Drop the arguments that the profile kept, and keep none of later calls."""
        self._profiled, self.last = False, None
        CALLED.remove(self)

    @contextmanager
    def keeping(self, arguments: list, state: dict) -> Iterator[None]:
        """Keep aside what the program works on that is not compiled, until the call is over."""
        if self._exports is None:
            yield
            return
        kept = self._exports.begin()
        try:
            if self.hosted is not None:
                kept.update(self.hosted.constants)
                for position, hosted in self.hosted.arguments:
                    kept[hosted] = arguments[position]
                for variable, hosted in self.hosted.starts.items():
                    kept[hosted] = state[variable]
            yield
        finally:
            self._exports.end()

    def _call_directly(self, program: Program, arguments: list, state: dict) -> list | None:
        """Call a program that takes, changes and gives arrays only: native code looks at them."""
        inputs = arguments
        if self._same:
            for position, variable in self._same.items():
                if arguments[position] is not state.get(variable):
                    return None
            inputs = [arguments[position] for position in self._kept]
        if self._read:
            inputs = [*inputs, *[state[variable] for variable in self._read]]
        arrays = []
        for variable, shared in self._writes:
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
                for variable, array in zip(self._written, arrays):
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
        """Whether machine code has come to its end, though a signal took what it gave."""
        layout = getattr(self.executable, "layout", None)
        return layout is not None and layout.is_done()

    def _end_writing(self, state: dict, arrays: list) -> None:
        """Let all variables have their new values, those that were written already once more."""
        for variable, array in zip(self._written, arrays):
            state[variable] = array

    def _put_back(self, state: object) -> None:
        """Let variables have their values again that were to be written in place."""
        put_back = getattr(state, "put_back", None)
        if put_back is not None:
            put_back(self._written)

    def _call(self, program: Program, arguments: list, state: dict) -> list | None:
        """Call a program with arguments that are no arrays: random streams, lists, what the
        interpreter runs."""
        copies = self._copies(state) if self._updates else {}
        if self._is_for_others(arguments, state):
            return None
        for position, variable in self._same.items():
            if arguments[position] is not state.get(variable):
                return None
        inputs = self._inputs(arguments)
        drawing = Drawing(self._streams, self._drawn, state) if self._streams else None
        if drawing is not None:
            inputs += drawing.begin()
        inputs += [state[variable] for variable in self._read]
        arrays = [exclusive(state, variable, shared) for variable, shared in self._writes]
        outputs: Any = None
        try:
            outputs = self.executable(inputs, arrays)
            failed = self._guard and not outputs.pop()
            blocks = [outputs.pop() for _ in self._drawn]
            if not failed:
                for variable, array in zip(self._written, arrays):
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
        if self._exports is not None:
            outputs = self._exports.joined(outputs)
        if drawing is not None:
            drawing.end(blocks[::-1])
        if self.hosted is not None and self.hosted.writes:
            del inputs
            self._write_aside(state, copies)
        return outputs

    def _copies(self, state: dict) -> dict[Any, Any]:
        """Copies of variables of which rows will change, where somebody else holds the value."""
        copies: dict[Any, Any] = {}
        for variable in self.hosted.updated:  # type: ignore[union-attr]
            array = exclusive(state, variable, self._shared[variable])
            if array is not state[variable]:
                copies[variable] = array
            del array
        return copies

    def _write_aside(self, state: dict, copies: dict) -> None:
        """Let variables have what regions kept aside for them."""
        kept = self._exports.now()  # type: ignore[union-attr]
        for variable, hosted in self.hosted.writes:  # type: ignore[union-attr]
            value = kept[hosted]
            if type(value) is UpdateRule:
                array = copies.pop(variable, None)
                if array is None:
                    array = exclusive(state, variable, self._shared[variable])
                value = value.write(array)
                del array
            state[variable] = value

    def _inputs(self, arguments: list) -> list:
        """The arrays that are passed of the arguments; stacks among them are kept aside."""
        if not self._forms:
            return [arguments[place] for place in self._kept]
        kept, found = self._exports.now(), []
        for place in self._kept:
            given = self._forms.get(place)
            if given is None:
                found.append(arguments[place])
            else:
                found += pass_arrays(given, place, arguments[place].handed.arrays, kept)
        return found

    def _is_for_others(self, arguments: list, state: dict) -> bool:
        """Whether the arguments have other shapes, or a variable has no value."""
        if self._shapes != list(map(kind_of, arguments)):
            return True
        variables = (*self._read, *self._written)
        return any([state[variable] is interpret.MISSING for variable in variables])

    def operands(self, arguments: list, state: Any) -> tuple[list, list]:
        """The inputs of the machine code, and the variables it would write, as they are."""
        drawn = reserve_states(self._streams, state)[0] if self._streams else []
        kept = [arguments[place] for place in self._kept]
        inputs = [*kept, *drawn, *[state[variable] for variable in self._read]]
        return inputs, [state[variable] for variable in self._written]


def values_of_variables(program: Program, arguments: list, state: dict) -> dict[int, Any]:
    """The arguments that are present values of variables: position -> variable."""
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
    """The static knowledge of an argument that a program is specialized to."""
    found = kind_of(argument)
    return found if type(found) is ResidualSpec else Aval(found, of_numpy(argument.dtype))
