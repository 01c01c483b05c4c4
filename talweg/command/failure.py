"""The report of a failed program for its user: its own lines, the message, and missing names.

Frames of talweg between the program's are left out where the message says what was wrong; an error
that talweg did not expect keeps them.
"""

from __future__ import annotations

import importlib
import re
import sys
import traceback
from types import TracebackType
from typing import Any

from talweg.api.export import V1
from talweg.api.names.known import describe, resolve
from talweg.command.program import UserProgram
from talweg.command.uses import NameUse, read
from talweg.core.provenance import is_inner
from talweg.core.tracebacks import is_expected

_CODE = re.compile(r"\[TW\d+\]\s*$")
_NAME = re.compile(r"tf\.([\w.]+) .*\[TW402\]$")
_MODULE = re.compile(r"^No module named '(?:tensorflow|talweg)\.([\w.]+)'")
SHOWN = 12  # missing names that are listed


def status_of(error: BaseException) -> int:
    """Return the exit status that Python would give for it."""
    if isinstance(error, SystemExit):
        if error.code is None:
            return 0
        return error.code if isinstance(error.code, int) else 1
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def tell(
    error: BaseException, program: UserProgram, whole: bool = False, first: bool = False
) -> None:
    """Print to stderr what Python would print, and what talweg knows besides."""
    if isinstance(error, SystemExit):
        if error.code is not None and not isinstance(error.code, int):
            print(error.code, file=sys.stderr)
        return
    print("".join(lines_of(error, whole)), end="", file=sys.stderr)
    for line in about_missing(error, program, first):
        print(line, file=sys.stderr)


def lines_of(error: BaseException, whole: bool = False) -> list[str]:
    """Return the traceback as Python prints it,
    without what lies around and between the program.
    """
    whole_report = traceback.TracebackException.from_exception(error)
    pending: list[tuple[Any, Any]] = [(whole_report, error)]
    while pending:
        part, own = pending.pop()
        if part is None or own is None:
            continue
        part.stack = select_frames(part.stack, own, whole)
        if is_expected(own) and not whole:  # what talweg met on the way to a composed error
            part.__cause__ = part.__cause__ if has_own_frames(part.__cause__) else None
            part.__context__ = part.__context__ if has_own_frames(part.__context__) else None
        pending += [(part.__cause__, own.__cause__), (part.__context__, own.__context__)]
    return list(whole_report.format())


def select_frames(
    stack: traceback.StackSummary, error: BaseException, whole: bool
) -> traceback.StackSummary:
    """Return the frames that are the program's,
    or all of them if `whole` or if talweg is to blame.
    """
    frames = list(stack)
    while len(frames) > 1 and is_inner(frames[0].filename):
        frames.pop(0)  # how the program was started
    if not whole and frames and (is_expected(error) or not is_inner(frames[-1].filename)):
        own = [frame for frame in frames if not is_inner(frame.filename)]
        frames = own or frames
    if isinstance(error, SyntaxError) and all(is_inner(frame.filename) for frame in frames):
        frames = []
    return traceback.StackSummary.from_list(frames)


def has_own_frames(part: Any) -> bool:
    """Return whether an error before another one happened in the program itself."""
    return part is not None and not is_inner(part.stack[-1].filename if part.stack else "<frozen")


def innermost(trace: TracebackType | None) -> str:
    """Return the file in which an error was raised."""
    file = ""
    while trace is not None:
        file, trace = trace.tb_frame.f_code.co_filename, trace.tb_next
    return file


def own_line(trace: TracebackType | None) -> tuple[str, int] | None:
    """Return the innermost line of a traceback that is not talweg's."""
    found = None
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not is_inner(file) and file != importlib.__file__:
            found = file, trace.tb_lineno
        trace = trace.tb_next
    return found


def missing_name(error: BaseException | None) -> str:
    """Return the name relative to `tf`
    whose absence an error is about; "" if it is about others.
    """
    while error is not None:
        text = str(error)
        pattern = _NAME if isinstance(error, AttributeError) else _MODULE
        match = pattern.match(text)
        if match and isinstance(error, (AttributeError, ImportError)):
            return match[1]
        if isinstance(error, ImportError) and not is_inner(innermost(error.__traceback__)):
            named = re.match(
                r"cannot import name '(\w+)' from '(?:tensorflow|talweg)\.?([\w.]*)'", text
            )
            if named:
                return f"{named[2]}.{named[1]}".lstrip(".")
        error = error.__cause__ or error.__context__
    return ""


def about_missing(error: BaseException, program: UserProgram, first: bool = False) -> list[str]:
    """Describe a missing name: whether TensorFlow has it, who asked for it, other missing names."""
    name = missing_name(error)
    if not name:
        return []
    asker = own_line(error.__traceback__)
    lines = ["", f"talweg: {describe(name)}"]
    if lines[1].removeprefix("talweg: ") in str(error):
        lines = ["", f"talweg: tf.{name}"]
    if asker is not None:
        lines.append(f"  asked for at {asker[0]}:{asker[1]}")
    plain = name.removeprefix(V1)
    others = [use for use in missing_in(program, first) if resolve(use.name).name != plain]
    if others:
        lines.append("  also asked for in this program, and not there:")
        lines += [f"    {use.text}  ({use.file}:{use.line})" for use in others[:SHOWN]]
        if len(others) > SHOWN:
            lines.append(f"    and {len(others) - SHOWN} more: talweg ops --of {program.path}")
    return lines


def missing_in(program: UserProgram, first: bool = False) -> list[NameUse]:
    """Return the names a program uses that are not there; none if it cannot be read."""
    try:
        return read(program.path, program.parts()).missing(first)
    except (SyntaxError, ValueError, OSError):
        return []
