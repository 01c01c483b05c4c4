"""Machine code of loop programs; loads LLVM, so it is imported when something must be compiled."""

from __future__ import annotations

from talweg.execute.llvm import code, emit, jit, vector_math
from talweg.lower.loops import LoopProgram


def module_text(program: LoopProgram) -> str:
    """The LLVM IR of a program."""
    return emit.emit(program, jit.vector_bytes(), vector_math.Library())


def object_file(program: LoopProgram) -> bytes:
    """The object file of a program: of several modules, compiled while others are made."""
    *others, last = code.object_files(
        lambda add: emit.emit_modules(program, jit.vector_bytes(), vector_math.Library(), add)
    )
    return code.joined([last, *others])


def assembly(text: str) -> str:
    """The instructions of a module, to look at."""
    return jit.assembly(text)
