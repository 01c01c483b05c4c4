"""Where in the user's code something happened.

An origin is the pair (code object, instruction offset) of the innermost frame outside talweg: two
pointers, no frame kept alive, formatted only when somebody asks.
"""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
Origin = tuple[CodeType, int]

_inner_files: dict[str, bool] = {}


def is_inner(filename: str) -> bool:
    """Whether a source file belongs to talweg itself (or to the import machinery)."""
    known = _inner_files.get(filename)
    if known is None:
        known = filename.startswith(ROOT) or filename.startswith("<frozen")
        _inner_files[filename] = known
    return known


def user_origin(depth: int = 1) -> Origin | None:
    """The innermost frame outside talweg, looking outward from `depth` frames up."""
    frame = sys._getframe(depth)
    inner = _inner_files
    while frame is not None:
        code = frame.f_code
        known = inner.get(code.co_filename)
        if known is None:
            known = is_inner(code.co_filename)
        if not known:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def line_of(origin: Origin) -> int:
    """The line number an origin stands on."""
    code, offset = origin
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return line
    return code.co_firstlineno


def describe(origin: Origin | None) -> str:
    """``file.py:12, in train: loss = ...`` (without the text where that is not at hand)."""
    if origin is None:
        return "(no user code on the stack)"
    code, line = origin[0], line_of(origin)
    source = linecache.getline(code.co_filename, line).strip()
    place = f"{code.co_filename}:{line}, in {code.co_name}"
    return f"{place}: {source}" if source else place
