"""Compilation of a program by a backend, LLVM or XLA, or a refusal, which says why not.

Both are loaded on demand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core import settings
from talweg.core.errors import FailedPreconditionError, invalid, lacks_memory
from talweg.core.lazy import LazyModule
from talweg.execute import stage_dump
from talweg.passes import faults
from talweg.passes.functionalize import Program
from talweg.passes.specialize.program import SpecializationError

if TYPE_CHECKING:
    from talweg.execute import compiled
    from talweg.execute.xla import program as xla_program
else:
    compiled = LazyModule("talweg.execute.compiled")
    xla_program = LazyModule("talweg.execute.xla.program")

REFUSED: Any = "interpret"  # what a program is compiled to that the interpreter runs


def compile_program(program: Program, arguments: list, state: dict, anew: bool = True) -> Any:
    """Compile the program for these arguments: it, REFUSED, or None if it is not cached.

    anew: whether it is made if it is not found on disk.
    """
    if not program.steps:
        return REFUSED
    try:
        with faults.part("the compiled program", compiled.MissingError, SpecializationError):
            return compiled.Compiled(program, arguments, state, anew=anew)
    except ImportError as error:
        if not faults.is_missing_llvm(error) and not lacks_memory(error):
            raise
        return refuse(program, error)
    except compiled.MissingError:
        return None
    except SpecializationError as error:
        return refuse(program, error)


def compile_by_xla(program: Program, arguments: list, state: dict) -> Any:
    """Compile the program by XLA, or REFUSED; FailedPreconditionError without JAX."""
    if not program.steps:
        return REFUSED
    honest = (SpecializationError, FailedPreconditionError)
    try:
        with faults.part("the program through XLA", *honest):
            return xla_program.XlaProgram(program, arguments, state)
    except SpecializationError as error:
        return refuse(program, error)


def refuse(program: Program, why: Exception) -> Any:
    """Report why the interpreter runs a program."""
    program.heavy = True
    program.notes.append(f"interpreted: {why}")
    stage_dump.dump_refusal(program.name, why)
    return REFUSED


def stages_of(program: Program, arguments: list, state: Any) -> dict[str, str]:
    """Return the texts of all compilation stages for these arguments, without a run.

    InvalidArgumentError if it cannot be compiled.
    """
    seen = stage_dump.Stages(program.name, kept=True)
    through_xla = settings.executor.get() == "xla"
    try:
        if through_xla:
            xla_program.XlaProgram(program, arguments, state, seen)
        else:
            compiled.Compiled(program, arguments, state, seen)
    except SpecializationError as error:
        raise invalid("TW402", f"{program.name} cannot be compiled: {error}") from None
    return seen.texts


def serialize_hlo(program: Program, arguments: list, state: Any) -> bytes:
    """Return the serialized HLO module for these arguments, without a run.

    InvalidArgumentError if there is none; FailedPreconditionError without JAX.
    """
    try:
        return xla_program.XlaProgram(program, arguments, state).serialize()
    except SpecializationError as error:
        raise invalid("TW402", f"{program.name} cannot be compiled: {error}") from None
