"""Compilation of a program: passes, lowering, machine code.

Imported only when something must be lowered: it takes 20 ms to load.
"""

from __future__ import annotations

import gc
import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from talweg.core import settings
from talweg.core.aval import Aval
from talweg.core.dtypes import of_numpy
from talweg.core.lazy import LazyModule
from talweg.execute import interpret
from talweg.execute.llvm.link.jit import matrix_tiles, vector_bytes
from talweg.execute.llvm.runtime.executable import Executable
from talweg.execute.llvm.runtime.thread_pool import thread_count
from talweg.execute.manifest import Manifest, executable_of
from talweg.execute.stage_dump import Stages
from talweg.graph.node import Node
from talweg.lower.build import build
from talweg.lower.ir.loops import Host, LoopProgram
from talweg.lower.ir.printer import to_text
from talweg.lower.ir.verifier import check
from talweg.lower.lowered import Lowered
from talweg.passes.fallback.profitability import is_profitable
from talweg.passes.fallback.regions import RegionInterpreter
from talweg.passes.faults import part
from talweg.passes.functionalize import Program
from talweg.passes.optimize.pipeline import optimize
from talweg.passes.reasons import Reason
from talweg.passes.specialize import printer
from talweg.passes.specialize.program import SpecializationError, StaticProgram, Value
from talweg.passes.specialize.specializer import specialize

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive
    from talweg.execute.llvm.link import generate
else:
    generate = LazyModule("talweg.execute.llvm.link.generate")


def compile_program(
    program: Program, avals: list, state: dict, same: dict, stages: Stages
) -> Manifest:
    """Compile a program for arguments of these kinds; `same`: those that are variables' values.

    Its loops name its code on disk: two processes may lower one program differently.
    """
    with collector_at_rest(), stages.to_be_sent():
        clock = [time.perf_counter()]
        static = make_static_program(program, avals, state, same, stages)
        clock.append(time.perf_counter())
        with part("lower"):
            lowered = build(static, "program", thread_count(), vector_bytes(), matrix_tiles())
            static.forget()
        if settings.check.get():
            check(lowered.program)
        clock.append(time.perf_counter())
        show_loops(stages, lowered)
        with part("machine code"):
            executable = executable_of(lowered, name_of(lowered.program))
        clock.append(time.perf_counter())
    if stages.wanted:
        show(stages, lowered, clock)
    drawn = (static.streams, static.drawn)
    return Manifest(lowered, executable, *drawn, static.exports, static.hosts)


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Suspend Python's garbage collection in the block.

    Compiling makes many objects and leaves no circles; looking for some takes a tenth of its time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def name_of(program: LoopProgram) -> str:
    """Return a unique name of a computation."""
    return hashlib.sha256(to_text(program).encode(errors="surrogatepass")).hexdigest()


def alone(prim: Primitive, arrays: list, params: dict, threads: int | None = None) -> Any:
    """Compile one operation; False if its NumPy kernel would be called from the code.

    Where it does not hold for all values (`requires`), the last of its outputs, which has no place
    in the operation's, says whether it did (`guarded`): if not, the NumPy kernel says why.

    SpecializationError where it has no compiled form.

    threads: on how many it runs; as many as usual where it is not given.
    """
    static = StaticProgram()
    with part("specialize", SpecializationError):
        for array in arrays:
            static.inputs.append(Value(array.shape, of_numpy(array.dtype)))
        result = static.apply(prim, static.inputs, params)
        static.outputs = list(result) if prim.multiple else [result]
    optimize(static)
    with part("lower"):
        lowered = build(
            static, prim.name, threads or thread_count(), vector_bytes(), matrix_tiles()
        )
        static.forget()
    if any(isinstance(block, Host) for block in lowered.program.blocks):
        return False
    with part("machine code"):
        key = name_of(lowered.program)
        executable = Executable(lowered.program, lowered.inputs, [], lowered.outputs, threads, key)
    executable.guarded = lowered.guard
    return executable


def show_loops(stages: Stages, lowered: Lowered) -> None:
    """Dump the fusion groups and loops, for observers."""
    reasons = [f"{value}: {text}\n" for value, text in lowered.reasons]
    stages.add("nests.txt", lambda: "".join(reasons), 3)
    stages.add("loops.txt", lambda: to_text(lowered.program), 4)


def show(stages: Stages, lowered: Lowered, clock: list[float]) -> None:
    """Dump the machine code of a program, for observers."""
    if stages.kept or stages.level >= 5:
        llvm = generate.module_text(lowered.program)
        stages.add("llvm.ll", lambda: llvm, 5)
        stages.add("assembly.s", lambda: generate.assembly(llvm), 6)
    parts = ("straightened", "lowered", "machine code")
    seconds = {part: b - a for part, a, b in zip(parts, clock, clock[1:])}
    stages.finish(seconds, len(lowered.program.blocks))


def make_static_program(
    program: Program, avals: list, state: dict, same: dict, stages: Stages, without: tuple = ()
) -> StaticProgram:
    """Specialize and optimize a program for present variables; `without` these passes."""
    states = {}
    for variable in program.starts:
        if type(variable) is Node:  # a random stream
            continue
        array = state.get(variable, interpret.MISSING)
        if array is interpret.MISSING:
            raise SpecializationError(Reason.VARIABLE_UNSET, variable.name)
        states[variable] = Aval(array.shape, of_numpy(array.dtype))
    with part("specialize", SpecializationError):
        static = specialize(program, avals, states, same)
    if static.hosts is not None:
        said = [f"{name}: {why}" for name, why in static.hosts.reasons.items()]
        reasons = "; ".join(said) or "results that are no arrays"
        if not is_profitable(static, at_all=settings.executor.get() in ("llvm", "xla")):
            static.forget()
            raise SpecializationError(Reason.TOO_LITTLE, reasons)
        note = f"called from inside the compiled program: {reasons}"
        program.notes = [each for each in program.notes if each != note] + [note]
        stages.say(f"{program.name} is compiled but for {reasons}")
    if stages.kept:
        stages.add("static-0.txt", lambda: printer.to_text(static), 9)
        optimize(
            static,
            lambda name: stages.add(f"static-{name}.txt", lambda: printer.to_text(static), 9),
            without,
        )
    else:
        optimize(static, without=without)
    return static


RegionInterpreter.run = staticmethod(interpret.run)
