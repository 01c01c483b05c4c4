"""Sharded programs (SPMD): one program whose values are partitioned over a mesh.

What the devices have of its arguments decides what they have of everything else: XLA's partitioner
finds it, and puts in the collective operations.  Variables stay as they are shared out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from talweg.execute.stage_dump import Stages
from talweg.execute.xla import engine, meshes
from talweg.execute.xla.engine import jax
from talweg.execute.xla.parts import PartsExecutable
from talweg.passes.reasons import Reason, SpecializationError
from talweg.passes.specialize.program import Equation, StaticProgram, Value


class SpreadExecutable(PartsExecutable):
    """The parts of a program on a mesh; `arrays`: the compiled-for ones by input and state."""

    may_be_called = False

    def __init__(self, static: StaticProgram, stages: Stages, mesh: Any, arrays: dict):
        self.mesh = mesh
        self.shardings = {
            value: array.sharding
            for value, array in arrays.items()
            if getattr(array, "sharding", None) is not None and array.sharding.num_devices > 1
        }
        self._everywhere = meshes.sharding(mesh, ())
        super().__init__(static, stages)

    def _kinds(self, values: Sequence[Value]) -> tuple:
        kinds = super()._kinds(values)
        return tuple(
            [
                kind if where is None else kind.update(sharding=where)
                for kind, where in zip(kinds, map(self.shardings.get, values))
            ]
        )

    def _executable(self, number: int, arguments: tuple) -> Any:
        key = (number, self.capacity)
        found = self.compiled.get(key)
        if found is None:
            if number == len(self.parts) - 1:
                after = [self.shardings.get(x, self._everywhere) for x in self.befores]
                gives = (None, (None, None, tuple(after)))
                found = jax.jit(self._last, donate_argnums=(0,), out_shardings=gives)
            else:
                found = jax.jit(self._part(number))
            lowered = found.lower(*arguments)
            self._show("hlo", lowered.as_text)
            self._show("optimized_hlo", lambda: lowered.compile().as_text())
            self.compiled[key] = found
        return found

    def _run(self, number: int, donated: tuple, given: list) -> Any:
        donated = tuple([meshes.bring_to_mesh(x, self.mesh) for x in donated])
        return super()._run(number, donated, [meshes.bring_to_mesh(x, self.mesh) for x in given])

    def _emit_callback(self, equation: Equation, arrays: list) -> Any:
        if equation.prim.effect is not None:  # no order of effects for several devices
            raise SpecializationError(Reason.TOO_LITTLE, equation.prim.name)
        return super()._emit_callback(equation, arrays)


def compile_once(static: StaticProgram, name: str, mesh: Any, arrays: list) -> Any:
    """Compile a program of one primitive on a mesh; None where it needs Python."""
    with engine.wide():
        found = SpreadExecutable(static, Stages(name), mesh, dict(zip(static.inputs, arrays)))
    return found if len(found.parts) == 1 and not found.hosts else None
