"""Replicated programs: each device of a mesh runs the program on values of its own.

What a replica has of its own (variables, batches, random streams, results) is an array with a row
for each; the program itself is that of one replica.  Replicas meet in `all_reduce` alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from talweg.execute.stage_dump import Stages
from talweg.execute.xla import engine
from talweg.execute.xla.emitter import Emitter
from talweg.execute.xla.engine import REPLICAS, ReplicaMesh, lax
from talweg.execute.xla.engine import numpy as jnp
from talweg.execute.xla.parts import PartsExecutable
from talweg.execute.xla.program import XlaProgram
from talweg.passes.functionalize import Program
from talweg.passes.specialize.program import Equation, StaticProgram, Value

APART = 1 << 44  # blocks of a random stream between two replicas


class NotReplicatedError(Exception):
    """A refusal: a program has a step that one replica cannot do on its device."""


class ReplicatedExecutable(PartsExecutable):
    """The only part of a program, for all devices; `apart`: per-replica inputs."""

    def __init__(self, static: StaticProgram, stages: Stages, mesh: ReplicaMesh, apart: list):
        self.mesh = mesh
        self.own = {x for x, own in zip(static.inputs, apart) if own}
        self.own |= {before for _, before, _ in static.states}
        self.refused = ""  # why not
        self.digest = ""  # of its text, which other processes must have, too
        super().__init__(static, stages)

    def _prepare(self) -> None:
        """Compile the only part."""
        if len(self.parts) > 1 or self.hosts:
            names = ", ".join(dict.fromkeys([step.prim.name for step in self.hosts]))
            self.refused = f"{names}, which is done in Python"
        else:
            super()._prepare()

    def _emit_callback(self, equation: Equation, arrays: list) -> Any:
        self.refused = f"{equation.prim.name}, which is done in Python"
        found = [jnp.zeros(x.dims, x.dtype.numpy_dtype) for x in equation.outputs]
        return tuple(found) if equation.prim.multiple else found[0]

    def _emitter(self) -> Emitter:
        emitter = super()._emitter()
        emitter.replicas = REPLICAS
        return emitter

    def _kinds(self, values: Sequence[Value]) -> tuple:
        kinds = [(x.dims, x.dtype.numpy_dtype, x in self.own) for x in values]
        return tuple([self.mesh.kind(*kind) for kind in kinds])

    def _executable(self, number: int, arguments: tuple) -> Any:
        found = self.compiled.get((number, self.capacity))
        if found is None:
            arguments = (self._kinds(self.befores), self._kinds(self.rest))
            found, lowered = engine.jit_sharded(self._everywhere(), arguments)
            self._show("hlo", lowered.as_text)
            self._show("optimized_hlo", lambda: lowered.compile().as_text())
            if self.mesh.elsewhere:
                self.digest = hashlib.sha256(lowered.as_text().encode()).hexdigest()
            self.compiled[number, self.capacity] = found
            if self.direct is not None:
                self.direct.let_call(found)
        return found

    def _execute(self, executable: Any, arguments: tuple) -> Any:
        """Run an executable, watched where it has collectives with other processes."""
        watch = self.mesh.watch
        if watch is None:
            return super()._execute(executable, arguments)

        def run() -> Any:
            with engine.wide():
                found = executable(*arguments)
                return engine.wait_for_arrays(found) if self.mesh.settles else found

        return watch(run)

    def _everywhere(self) -> Any:
        """Return the last part as a function of all replicas."""
        mesh = self.mesh
        specs = tuple([mesh.apart if x in self.own else mesh.same for x in self.rest])

        def of_replica(donated: tuple, given: tuple) -> tuple:
            own = [x[0] if value in self.own else x for value, x in zip(self.rest, given)]
            full, (ok, outputs, after) = self._last(tuple([x[0] for x in donated]), tuple(own))
            return full, (ok, tuple([x[None] for x in outputs]), tuple([x[None] for x in after]))

        gives = (mesh.same, (mesh.same, mesh.apart, mesh.apart))
        return mesh.spread(of_replica, (mesh.apart, specs), gives)

    def _end(self, emitter: Emitter) -> None:
        """Agree on failures: one replica's failure is all replicas'."""
        if emitter.failed is not None:
            emitter.failed = lax.pmax(emitter.failed.astype(jnp.int32), REPLICAS) > 0
        if emitter.full is not None:
            emitter.full = lax.pmax(emitter.full.astype(jnp.int32), REPLICAS) > 0


class ReplicatedProgram(XlaProgram):
    """A program compiled for the replicas of a mesh.

    It is made for the first replica's values; `apart` says which arguments each has of its own.
    """

    def __init__(
        self, program: Program, arguments: list, state: Any, mesh: ReplicaMesh, apart: list[bool]
    ):
        self.mesh, self._apart = mesh, apart
        super().__init__(program, arguments, state)
        refused = self.executable.refused
        if refused or self.side_outputs is not None or self.signature.residuals or self._others:
            raise NotReplicatedError(refused or "values that are no arrays")

    def _executable_of(self, static: StaticProgram, stages: Stages) -> ReplicatedExecutable:
        given = [
            own for place, own in enumerate(self._apart) if place not in self.signature.aliases
        ]
        given += [True] * (len(static.inputs) - len(given))  # random streams
        return ReplicatedExecutable(static, stages, self.mesh, given)

    @property
    def written(self) -> list:
        """The variables that the program writes."""
        return self.effects.written

    @property
    def kept(self) -> list[int]:
        """The positions of the arguments that are passed, beside variables."""
        return self.signature.passed

    def run(self, inputs: list, states: list, state: Any) -> tuple[bool, list, list]:
        """Run the program: success, the outputs, new values of variables.

        All that replicas have of their own is an array with rows; memory of `states` is given away.
        """
        drawing = self.effects.drawing(state)
        if drawing is not None:
            inputs = inputs + [self._streams_of(array) for array in drawing.begin()]
        done = False
        try:
            done, outputs, after = self.executable(inputs, states)
        finally:
            if drawing is not None and not done:
                drawing.undo()
        if drawing is not None and done:
            blocks = [outputs.pop() for _ in self.effects.drawn]
            drawing.end([max(map(int, self.mesh.parts(rows))) for rows in blocks[::-1]])
        return done, outputs, after

    def _streams_of(self, array: np.ndarray) -> Any:
        """Return the states of all replicas' random streams, this replica's first."""
        rows = [array.copy() for _ in self.mesh.own]
        for number, row in zip(self.mesh.own, rows):
            row[0] += np.uint64(number * APART)
        return self.mesh.put(rows)
