"""Machine code of loop programs; loads LLVM, so it is imported when something must be compiled."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from talweg.execute.llvm.codegen import program as emit
from talweg.execute.llvm.link import code, jit
from talweg.execute.llvm.vector_math import library
from talweg.lower.ir.loops import LoopProgram


def module_text(program: LoopProgram) -> str:
    """The LLVM IR of a program."""
    return emit.emit(program, jit.vector_bytes(), library.VectorMathLibrary())


def compile_module(
    program: LoopProgram, symbols: Mapping[str, int]
) -> tuple[code.LoadedCode, bytes]:
    """The code of a program, in memory, and its object file; `symbols`: what it calls."""
    with contextlib.suppress(*code.DAMAGED):  # of a module that was on disk
        found = object_file(program)
        return code.LoadedCode(found, symbols, kept=True), found
    found = object_file(program, anew=True)
    return code.LoadedCode(found, symbols), found


def object_file(program: LoopProgram, anew: bool = False) -> bytes:
    """The object file of a program: of several modules, compiled while others are made.

    anew: do not look for them on disk.
    """
    *others, last = code.object_files(
        lambda add: emit.emit_modules(
            program, jit.vector_bytes(), library.VectorMathLibrary(), add
        ),
        anew=anew,
    )
    return code.join_objects([last, *others])


def assembly(text: str) -> str:
    """The instructions of a module, to look at."""
    return jit.assembly(text)
