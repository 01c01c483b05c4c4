"""Provenance: the place in the user's code where something happened.

An origin is the pair (code object, instruction offset) of the innermost frame outside talweg: two
pointers, no frame kept alive, formatted only when somebody asks.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import threading
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive


ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
RUNNERS = (threading.__file__, contextlib.__file__)  # between talweg and what it is called by
KERAS = f"{os.sep}site-packages{os.sep}keras{os.sep}src{os.sep}"
OPTREE = f"{os.sep}site-packages{os.sep}optree{os.sep}"  # what Keras maps nests with
Origin = tuple[CodeType, int]
getframe = sys._getframe


class Derived(tuple):
    """The origin of an operation that a derivative rule made: where the gradient was asked for.

    `prim` and `forward` are the operation that the rule differentiates, and its origin.
    """

    prim: Any
    forward: Origin | None

    def __new__(cls, origin: Origin, prim: Primitive, forward: Origin | None) -> Derived:
        found = super().__new__(cls, origin)
        found.prim, found.forward = prim, forward
        return found

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is Derived
            and tuple.__eq__(self, other)
            and (self.prim, self.forward) == (other.prim, other.forward)
        )

    def __hash__(self) -> int:
        return hash((self[0], self[1], self.prim, self.forward))


WRAPPERS = ("call", "call_in_graph")  # what exported functions are wrapped in

inner_files: dict[str, bool] = {}  # by file name: whether it belongs to talweg
_wrapper: CodeType | None = None  # the code of what exported functions are wrapped in
_depths: dict[Any, int] = {}  # by primitive: how far out the wrapper was found


def is_inner(filename: str) -> bool:
    """Return whether a source file is talweg's, Keras', or runs modules, threads, contexts."""
    known = inner_files.get(filename)
    if known is None:
        known = filename.startswith((ROOT, "<frozen", *RUNNERS))
        known = known or KERAS in filename or OPTREE in filename
        inner_files[filename] = known
    return known


def user_origin(depth: int = 1) -> Origin | None:
    """Return the innermost frame outside talweg, looking outward from `depth` frames up."""
    return origin_from(sys._getframe(depth))


def origin_from(frame: FrameType | None) -> Origin | None:
    """Return the innermost frame outside talweg, looking outward from `frame`."""
    inner = inner_files
    while frame is not None:
        code = frame.f_code
        known = inner.get(code.co_filename)
        if known is None:
            known = is_inner(code.co_filename)
        if not known:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def note_wrapper(code: CodeType) -> None:
    """Note that exported functions are wrapped in this code (called by `api/export.py`)."""
    global _wrapper
    _wrapper = code


def origin_of_call(prim: object) -> Origin | None:
    """Return the user's line, for a recorder that `dispatch.bind` shows an application of `prim`.

    To look at a frame costs as much as a tenth of a small operation, so the frames of talweg are
    stepped over where the one that stands right below the user's, that of the wrapper of exported
    functions, is found where it was for this primitive before.  It is looked for only so far
    inward that nothing between can be the user's: a function of his that talweg calls.
    """
    frame: FrameType | None = getframe(_depths.get(prim, 4))
    if frame.f_code is _wrapper:  # type: ignore[union-attr]
        frame = frame.f_back  # type: ignore[union-attr]
        code = frame.f_code  # type: ignore[union-attr]
        if not inner_files.get(code.co_filename, True):
            return code, frame.f_lasti  # type: ignore[union-attr]
    depth, frame = 3, getframe(3)
    while frame is not None and is_inner(frame.f_code.co_filename):
        if frame.f_code is _wrapper and depth <= 6 and hasattr(prim, "known"):
            _depths[prim] = depth  # of a primitive, not of one call of a user's function
        depth, frame = depth + 1, frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lasti)


def user_frame(depth: int = 1) -> FrameType | None:
    """Return the innermost frame outside talweg itself, looking outward from `depth` frames up."""
    frame = sys._getframe(depth)
    while frame is not None and is_inner(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_entry(depth: int = 1) -> tuple[Origin | None, str]:
    """Find the user's line as `user_origin`, with the function of talweg called from there."""
    frame, entry = sys._getframe(depth), ""
    while frame is not None and is_inner(frame.f_code.co_filename):
        if frame.f_code.co_name not in WRAPPERS:
            entry = frame.f_code.co_name
        frame = frame.f_back
    return (None if frame is None else (frame.f_code, frame.f_lasti)), entry


def line_of(origin: Origin) -> int:
    """Return the line number an origin stands on."""
    code, offset = origin
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return line
    return code.co_firstlineno


def span_of(origin: Origin) -> tuple[int, int, int, int] | None:
    """Return the expression an origin stands on:
    line, last line, column, last column (in bytes).
    """
    code, offset = origin
    for place, span in enumerate(code.co_positions()):
        if place * 2 == offset:
            known = [number for number in span if number is not None]
            return tuple(known) if len(known) == 4 else None  # type: ignore[return-value]
    return None


LONGEST = 80  # characters of a program's line that a message repeats


def cut(text: str, longest: int = LONGEST) -> str:
    """Return a line of the program, cut where it is too long to be read beside other words."""
    return text if len(text) <= longest else text[: longest - 4].rstrip() + " ..."


def place_text(file: str, line: int) -> str:
    """Return the text of a place: ``train.py:12``, or ``Cell In[4], line 2`` in notebooks."""
    if "ipython-input-" in file or "ipykernel_" in file:
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        name = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(file)
        if name is not None:
            return f"{' '.join(name)}, line {line}"
    return f"{file}:{line}"


def describe(origin: Origin | None) -> str:
    """Return ``file.py:12, in train: loss = ...`` (without the text where that is not at hand)."""
    if origin is None:
        return "(no user code on the stack)"
    code, line = origin[0], line_of(origin)
    source = cut(linecache.getline(code.co_filename, line).strip())
    place = place_text(code.co_filename, line)
    if code.co_name != "<module>" or not place.startswith("Cell "):
        place += f", in {code.co_name}"
    return f"{place}: {source}" if source else place
