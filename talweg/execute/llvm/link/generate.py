"""Generation of machine code; it loads LLVM, so it is imported on demand."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from talweg.execute.llvm.codegen import program as emit
from talweg.execute.llvm.link import code, jit
from talweg.execute.llvm.vector_math import library
from talweg.lower.ir.loops import LoopProgram


def module_text(program: LoopProgram) -> str:
    """Return the LLVM IR of a program."""
    return emit.emit(program, jit.vector_bytes(), library.VectorMathLibrary(jit.rounds_bfloat16()))


def compile_module(
    program: LoopProgram, symbols: Mapping[str, int]
) -> tuple[code.LoadedCode, bytes]:
    """Compile a program: its code in memory, and its object file; `symbols`: its callees."""
    with contextlib.suppress(*code.DAMAGED):  # of a module that was on disk
        found = object_file(program)
        return code.LoadedCode(found, symbols, kept=True), found
    found = object_file(program, anew=True)
    return code.LoadedCode(found, symbols), found


def object_file(program: LoopProgram, anew: bool = False) -> bytes:
    """Return a program's object file: of several modules, compiled while others are emitted.

    anew: do not look for them on disk.
    """
    *others, last = code.object_files(
        lambda add: emit.emit_modules(
            program, jit.vector_bytes(), library.VectorMathLibrary(jit.rounds_bfloat16()), add
        ),
        anew=anew,
    )
    return code.join_objects([last, *others])


def assembly(text: str) -> str:
    """Return the instructions of a module, for display."""
    return jit.assembly(text)
