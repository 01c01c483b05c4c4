"""Compiler faults: internal errors of a pass, of lowering, or of code generation.

A fault is no refusal (`reasons.py`): it is an InternalError that names the part of the compiler it
happened in.  With `TALWEG_EXECUTOR=llvm`, or the setting `strict`, it is raised; otherwise the
program goes on with the interpreter, and the fault is reported once, through the logger `talweg`.
"""

from __future__ import annotations

import logging
from typing import Any

from talweg.core import settings
from talweg.core.errors import InternalError, ResourceExhaustedError, compose, lacks_memory

SENT_IN = (
    "run it again with TALWEG_EXECUTOR=llvm and TALWEG_DUMP=a_folder, and report it with this "
    "text and the folder; meanwhile, TALWEG_EXECUTOR=interpret does without the compiler"
)
REPORTED = 64  # faults of which it is remembered that they were reported

_reported: set[str] = set()


class CompilerFaultError(InternalError):
    """An internal error: a part of the compiler broke one of its invariants."""


class part:  # noqa: N801 -- a context manager, without contextlib's frames in the traceback
    """A part of the compiler: errors inside are faults, except the `honest` ones.

    No memory, and no LLVM for this platform, are nobody's fault.
    """

    __slots__ = ("honest", "name")

    def __init__(self, name: str, *honest: type[Exception]):
        self.name = name
        self.honest = (CompilerFaultError, MemoryError, ResourceExhaustedError, *honest)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if not isinstance(error, Exception) or isinstance(error, self.honest):
            return
        if not is_missing_llvm(error) and not lacks_memory(error):
            raise fault(self.name, error) from error


class side_part(part):  # noqa: N801
    """An optional part of the compiler: a fault inside is raised or reported."""

    __slots__ = ("program",)

    def __init__(self, name: str, program: str):
        super().__init__(name)
        self.program = program

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> Any:
        try:
            super().__exit__(kind, error, traceback)
        except CompilerFaultError as found:
            if is_raised():
                raise
            report(self.program, found, "compiled without that")
            return True


def is_missing_llvm(error: Exception) -> bool:
    """Return whether llvmlite is not installed, or cannot be loaded."""
    return isinstance(error, ImportError) and (error.name or "").split(".")[0] == "llvmlite"


def fault(name: str, error: Exception) -> CompilerFaultError:
    """Wrap an error in a part of the compiler as a fault."""
    kind = type(error).__name__
    text = compose("TW404", f"the compiler failed in {name!r}: {kind}: {error}", hint=SENT_IN)
    return CompilerFaultError(None, None, text)


def is_raised() -> bool:
    """Return whether a fault ends the call, instead of falling back to the interpreter."""
    return settings.executor.get() in ("llvm", "xla") or settings.strict.get()


def report(program: str, error: Exception, instead: str = "interpreted") -> None:
    """Report a fault, once, that a fallback makes up for."""
    text = str(error)
    if text in _reported:
        return
    if len(_reported) >= REPORTED:
        _reported.clear()
    _reported.add(text)
    logging.getLogger("talweg").error(
        "%s is %s, with right results, by a fault of talweg's compiler: %s",
        program,
        instead,
        text,
        exc_info=error,
    )
