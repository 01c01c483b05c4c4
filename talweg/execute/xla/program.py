"""Programs compiled by XLA, for arguments of one kind; called like an executor.

What stands around the compiled parts is `execute/compiled.py`'s: which arguments are variables'
values, random streams, results of unknown length, what regions keep aside.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from talweg.core import dispatch
from talweg.core.errors import invalid
from talweg.core.precision import precision
from talweg.core.transfers import fetch
from talweg.execute import choice, compilation, interpret, manifest
from talweg.execute.compiled import Compiled
from talweg.execute.donation import OwnedValues
from talweg.execute.stage_dump import Stages
from talweg.execute.xla import engine, meshes
from talweg.execute.xla.parts import PartsExecutable
from talweg.execute.xla.spread import SpreadExecutable
from talweg.graph.node import Node
from talweg.kernels.variants import kind_of
from talweg.passes.fallback.host_steps import Hosts
from talweg.passes.faults import part
from talweg.passes.functionalize import Program
from talweg.passes.specialize.program import DeclinedError, StaticProgram
from talweg.passes.specialize.side_outputs import SideOutputs


class XlaLowered(NamedTuple):
    """The caller's view of a lowered program; `states`: (variable, None, written)."""

    states: list
    guard: bool


class XlaManifest(NamedTuple):
    """The manifest of a program compiled by XLA; see `execute/manifest.py`."""

    lowered: XlaLowered
    executable: PartsExecutable
    streams: list
    drawn: list
    exports: SideOutputs | None
    hosts: Hosts | None


class XlaProgram(Compiled):
    """A program compiled by XLA."""

    def _load_or_compile(
        self, program: Program, avals: list, state: Any, stages: Stages, anew: bool
    ) -> XlaManifest:
        with compilation.collector_at_rest(), stages.to_be_sent():
            static = compilation.make_static_program(
                program,
                avals,
                state,
                self.signature.aliases,
                stages,
                without=("strip_mine", "split"),
            )
            self._name = None  # on disk: of programs that nobody looks at, for one device
            if not (stages.wanted or dispatch.state.meshes):
                name = manifest.key_of(program, avals, state, self.signature.aliases)
                digits = b"few" if precision.tensor_float_32 else b"all"
                self._name = None if name is None else name + digits
            with part("XLA"):
                executable = self._executable_of(static, stages)
        states = [
            (variable, None, after is not before) for variable, before, after in static.states
        ]
        return XlaManifest(
            XlaLowered(states, False),
            executable,
            static.streams,
            static.drawn,
            static.exports,
            static.hosts,
        )

    def _executable_of(self, static: StaticProgram, stages: Stages) -> PartsExecutable:
        """Return the executable of a static program."""
        if not dispatch.state.meshes:
            return PartsExecutable(static, stages, self.device, self._name)
        given = [x for place, x in enumerate(self._first) if place not in self.signature.aliases]
        inputs = dict(zip(static.inputs, given))
        near = self._near.on_device([variable for variable, _, _ in static.states])
        inputs.update(zip([before for _, before, _ in static.states], near))
        mesh = meshes.mesh_of_program(static.equations, list(inputs.values()))
        if mesh is None:
            return PartsExecutable(static, stages, self.device)
        return SpreadExecutable(static, stages, mesh, inputs)

    def __init__(self, program: Program, arguments: list, state: Any, stages: Any = None):
        self._near, self._first, self._placement = nearest(state), list(arguments), None
        self.device = choice.target(program)  # None: the default one
        if dispatch.state.meshes:
            self._placement = placement(program, arguments, state)
        super().__init__(program, arguments, cast(dict, self._near), stages)
        del self._near, self._first
        self._variables = [variable for variable, _, _ in self.lowered.states]
        number = {variable: position for position, variable in enumerate(self._variables)}
        aliases = self.signature.aliases
        self._aliases = [(position, number[v]) for position, v in aliases.items() if v in number]
        self._others = {position: v for position, v in aliases.items() if v not in number}
        self._given = [position for position in range(len(arguments)) if position not in aliases]
        self._dims = [before.dims for before in self.executable.states]
        self._changed = [number[variable] for variable in self.effects.written]
        self._unchanged = sorted({*number.values()} - {*self._changed})
        self._count = len(arguments)

    def direct_for(self, count: int) -> Any:
        """Return the program's only part, for calls with tensors and variables' values.

        None where it is more than that; `variables` are its states then.
        """
        same = set(self.signature.aliases) == set(range(count, self._count)) and not self._others
        return self.executable.direct if same and not self.signature.residuals else None

    def serialize(self) -> bytes:
        """Serialize the HLO module of XLA that takes the program's arguments."""
        count = len(self._given)
        places = {position: place for place, position in enumerate(self._given)}
        places.update({position: count + number for position, number in self._aliases})
        if len(places) < self._count or self._others or len(set(places.values())) < self._count:
            raise invalid("TW402", "hlo_serialized: a variable is there twice")
        return self.executable.serialize([places[place] for place in range(self._count)])

    @property
    def variables(self) -> list:
        """The variables whose values the program takes."""
        return self._variables

    @property
    def drawing(self) -> tuple[list, list]:
        """The random streams that it takes, and those it takes as much of as it uses."""
        return self.effects.streams, self.effects.drawn

    @property
    def dims(self) -> list:
        """The sizes of the arguments it was compiled for."""
        return self.signature.kinds

    def __call__(self, program: Program, arguments: list, state: Any) -> Any:
        """Run the program: outputs, None for other shapes; `state` gets the writes."""
        if self.side_outputs is None:
            return self._call(program, arguments, state)
        if self.hosts is not None:
            for position, _ in self.hosts.arguments:
                arguments[position] = fetch(arguments[position])
        with self.keeping(arguments, state):
            try:
                return self._call(program, arguments, state)
            except DeclinedError:
                pass
            except Exception as error:
                if getattr(error, "talweg_exact", True):
                    raise
        return interpret.run(program, [fetch(x) for x in arguments], state)

    def _call(self, program: Program, arguments: list, state: Any) -> Any:
        near = nearest(state)
        if choice.placing.used and choice.target(program) is not self.device:
            return None
        if dispatch.state.meshes and placement(program, arguments, state) != self._placement:
            return None
        states = near.on_device(self._variables)
        if not near.has_all(states):
            return None
        for position, number in self._aliases:
            if arguments[position] is not states[number]:
                return None
        if len(arguments) != len(self.signature.kinds) or [x.shape for x in states] != self._dims:
            return None
        for position in self._given:
            if kind_of(arguments[position]) != self.signature.kinds[position]:
                return None
        for position, variable in self._others.items():
            if arguments[position] is not near.get(variable):
                return None
        copies = self._copies(state)
        inputs = self._inputs(arguments)
        drawing = self.effects.drawing(state)
        if drawing is not None:
            inputs += drawing.begin()
        given = near.give_away(self.effects.written)
        for number, alone in zip(self._changed, given):
            if not alone and not isinstance(states[number], np.ndarray):
                states[number] = engine.copy(states[number])
        for number in self._unchanged:  # copied once, not at every call
            array = states[number]
            if isinstance(array, (np.ndarray, np.generic)):
                states[number] = engine.put(array, self.device)
                near.note_copy(self._variables[number], array, states[number])
        ok, kept = False, []
        try:
            ok, outputs, kept = self.executable(inputs, states)
        finally:
            if not ok:
                self._undo(near, given, kept, state, drawing)
        if not ok:
            present = near.on_device(self._variables)
            for position, number in self._aliases:
                arguments[position] = present[number]  # its memory was given away
            return interpret.run(program, [fetch(x) for x in arguments], state)
        blocks = [outputs.pop() for _ in self.effects.drawn]
        if self.side_outputs is not None:
            outputs = self.side_outputs.join(outputs)
        near.replace(self.effects.written, kept)
        if drawing is not None:
            drawing.end(blocks[::-1])
        if self.hosts is not None and self.hosts.writes:
            del inputs, states
            self._write_aside(state, copies)
        return DeviceOutputs(outputs)

    def _undo(self, near: Any, given: list, kept: list, state: Any, drawing: Any) -> None:
        """Restore variables and random streams.

        kept: the old values, in other memory where theirs was given away; nothing if the program
        did not come to its last part.
        """
        for variable, alone, array in zip(self.effects.written, given, kept):
            if alone:
                near.keep(variable, array)
        if not kept:
            self._put_back(state)
        if drawing is not None:
            drawing.undo()


class DeviceOutputs:
    """Results, of which a device has the arrays and computes them asynchronously."""

    def __init__(self, arrays: list):
        self.arrays = arrays

    def fetch(self) -> list:
        """Return the results as arrays of NumPy."""
        return [fetch(x) for x in self.arrays]


def placement(program: Program, arguments: list, state: Any) -> Any:
    """Return the sharding of arguments and variables among devices; None if unsharded."""
    near = nearest(state)
    starts = [variable for variable in program.starts if type(variable) is not Node]
    return meshes.placement([*arguments, *near.on_device(starts)])


class NumpyState:
    """A program's state in NumPy's arrays: of sessions, and of bodies."""

    __slots__ = ("_state",)

    def __init__(self, state: Any):
        self._state = state

    def get(self, variable: Any, default: Any = interpret.MISSING) -> Any:
        """Return the array a variable holds, or the stream of an operation."""
        return self._state.get(variable, default)

    def __getitem__(self, variable: Any) -> Any:
        return self.get(variable)

    def on_device(self, variables: list) -> list:
        """Return the arrays that variables hold."""
        return [self._state.get(variable, interpret.MISSING) for variable in variables]

    def has_all(self, arrays: list) -> bool:
        """Return whether all values exist: a variable of a session may have none."""
        return not any([array is interpret.MISSING for array in arrays])

    def give_away(self, variables: list) -> list[bool]:
        """Return the variables that may be donated: none."""
        return [False] * len(variables)

    def keep(self, variable: Any, array: Any) -> None:
        """Do nothing: the array is still there."""

    def note_copy(self, variable: Any, array: Any, copied: Any) -> None:
        """Do nothing: copies are not kept."""

    def replace(self, variables: list, arrays: list) -> None:
        """Assign variables new values."""
        for variable, array in zip(variables, arrays):
            self._state[variable] = np.array(array)


class DeviceState(NumpyState):
    """A program's state in arrays that may be a device's."""

    __slots__ = ()

    def get(self, variable: Any, default: Any = interpret.MISSING) -> Any:
        """Return a variable's array, the device's copy if any; the stream of an operation."""
        if type(variable) is Node:
            return self._state.get(variable, default)
        return self._state.on_device([variable])[0]

    def on_device(self, variables: list) -> list:
        """Return the variables' arrays, the device's copies where there are some."""
        return self._state.on_device(variables)

    def give_away(self, variables: list) -> list[bool]:
        """Return the variables that may be donated."""
        return self._state.give_away(variables)

    def keep(self, variable: Any, array: Any) -> None:
        """Restore a variable whose value a device now has elsewhere."""
        self._state.keep(variable, array)

    def note_copy(self, variable: Any, array: Any, copied: Any) -> None:
        """Let the copy that a device has of a variable's value be kept beside it."""
        self._state.note_copy(variable, array, copied)

    def replace(self, variables: list, arrays: list) -> None:
        """Assign variables values on the device."""
        self._state.replace(variables, arrays)


class BodyState(DeviceState):
    """The state of a function that another one calls, of perhaps uninitialized variables."""

    __slots__ = ()

    def get(self, variable: Any, default: Any = interpret.MISSING) -> Any:
        """Return a variable's array, the device's copy if any."""
        if type(variable) is Node or variable not in self._state:
            return self._state.get(variable, default)
        return self._state.on_device([variable])[0]


def nearest(state: Any) -> NumpyState:
    """Return a state as a program sees it, with arrays of a device where it has some."""
    if type(state) is OwnedValues:
        return BodyState(state)
    return DeviceState(state) if hasattr(state, "on_device") else NumpyState(state)
