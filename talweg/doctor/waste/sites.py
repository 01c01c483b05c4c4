"""Sites are instructions of a user's program, with the line and text that they stand in.

An instruction of the user's code is (code object, offset).  While a program is watched, frames of
libraries count as inner ones, so that what Keras does for `model.fit` stands at `model.fit`.
"""

from __future__ import annotations

import ast
import dis
import linecache
import os
import sysconfig
from collections.abc import Iterable
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from talweg.core.provenance import ROOT
from talweg.doctor.findings import Place

WIDTH = 70  # of an expression in a title
LIBRARIES = ("site-packages", "dist-packages")


class InnerFiles(dict[str, bool]):
    """Source file -> whether it is talweg's, Python's or a library's, not the user's."""

    def __init__(self) -> None:
        super().__init__()
        paths = sysconfig.get_paths()
        self.standard = tuple({os.path.join(paths[name], "") for name in ("stdlib", "platstdlib")})

    def __missing__(self, name: str) -> bool:
        library = any(f"{os.sep}{folder}{os.sep}" in name for folder in LIBRARIES)
        standard = name.startswith(self.standard) or name.startswith("<frozen")
        found = self[name] = name.startswith(ROOT) or library or standard
        return found


def user_frames(frame: FrameType | None, inner: InnerFiles, most: int = 6) -> list[FrameType]:
    """Return the frames of the user's code from `frame` outward, innermost first."""
    found = []
    while frame is not None and len(found) < most:
        if not inner[frame.f_code.co_filename]:
            found.append(frame)
        frame = frame.f_back
    return found


class Spot:
    """An instruction of the user's code; `module` is the part of talweg that it called."""

    __slots__ = ("code", "module", "offset")

    def __init__(self, code: CodeType, offset: int, module: str = ""):
        self.code, self.offset, self.module = code, offset, module

    def take(self, other: Any) -> None:
        """Add the counts of another spot of the same expression."""
        for name in type(self).__slots__:
            value = getattr(self, name)
            if type(value) is int:
                setattr(self, name, value + getattr(other, name))

    @property
    def place(self) -> Place:
        """The line."""
        return Place.of((self.code, self.offset))

    @property
    def text(self) -> str:
        """The text of the expression; of the line where that is not known; "" without source."""
        return text_at(self.code, self.offset) or self.place.source.partition("  #")[0]


@lru_cache(4096)
def span_at(code: CodeType, offset: int) -> tuple[int, int, int, int] | None:
    """Return first line, first column, last line, last column of an instruction's expression."""
    for number, (line, last, column, end) in enumerate(code.co_positions()):
        if number * 2 == offset:
            if line is None or last is None or column is None or end is None:
                return None
            return line, column, last, end
    return None


def within(inner: tuple | None, outer: tuple | None) -> bool:
    """Return whether one expression is a part of another."""
    if inner is None or outer is None or inner == outer:
        return False
    return outer[:2] <= inner[:2] and inner[2:] <= outer[2:]


def text_at(code: CodeType, offset: int) -> str:
    """Return the source text of an instruction's expression, on one line."""
    span = span_at(code, offset)
    if span is None:
        return ""
    first, column, last, end = span
    lines = [linecache.getline(code.co_filename, n).encode() for n in range(first, last + 1)]
    if not all(lines):
        return ""
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][column:]
    text = lines[0].decode(errors="replace").partition("  #")[0].rstrip()
    text = text if first == last else f"{text} ..."
    return text if len(text) <= WIDTH else f"{text[:WIDTH]} ..."


@lru_cache(4096)
def is_dropped(code: CodeType, offset: int) -> bool:
    """Return whether the result of a call or operator is thrown away,
    or kept in a name never read.
    """
    instructions = list(dis.get_instructions(code))
    # The offset may lie in the caches behind an instruction, where specialised calls stand.
    following = next((item for item in instructions if item.offset > offset), None)
    if following is None or following.opname == "POP_TOP":
        return following is not None
    if following.opname != "STORE_FAST" or following.argval.startswith("_"):
        return False
    return not any(
        item.argval == following.argval and item.opname != "STORE_FAST"
        for item in instructions
        if "FAST" in item.opname or "CLOSURE" in item.opname
    )


class LocalFlows(ast.NodeVisitor):
    """The names of a function that hold values computed from one of its expressions."""

    def __init__(self, source: tuple[int, int, int, int]):
        self.source = source
        self.names: set[str] = set()
        self.changed = True

    def reaches(self, tree: ast.AST) -> bool:
        """Return whether an expression holds the source, or a name that comes from it."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in self.names:
                return True
            if hasattr(node, "lineno"):
                span = _span_of(node)
                if span == self.source or within(span, self.source):
                    return True
        return False

    def learn(self, target: ast.AST, value: ast.AST) -> None:
        """Note that `target` was set to `value`."""
        if self.reaches(value):
            found = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
            self.changed |= not found <= self.names
            self.names |= found

    def visit_Assign(self, node: ast.Assign) -> None:  # noqa: N802 -- named by ast
        """``target = value``."""
        for target in node.targets:
            self.learn(target, node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:  # noqa: N802 -- named by ast
        """Visit ``target += value``."""
        self.learn(node.target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:  # noqa: N802 -- named by ast
        """Visit ``target: kind = value``."""
        if node.value is not None:
            self.learn(node.target, node.value)


def flows_into(start: Spot, end: Spot) -> bool:
    """Return whether what an expression gave is used in another
    of the same function, by its text.
    """
    if start.code is not end.code:
        return False
    source, sink = span_at(start.code, start.offset), span_at(end.code, end.offset)
    tree = tree_of(start.code.co_filename)
    if tree is None or source is None or sink is None:
        return False
    if within(source, sink):
        return True
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    body = next((node for node in functions if _starts(node, start.code)), tree)
    flows = LocalFlows(source)
    while flows.changed:
        flows.changed = False
        flows.visit(body)
    target = next(
        (node for node in ast.walk(body) if hasattr(node, "lineno") and _span_of(node) == sink),
        None,
    )
    return target is not None and flows.reaches(target)


def _starts(node: Any, code: CodeType) -> bool:
    lines = [node.lineno, *[decorator.lineno for decorator in node.decorator_list]]
    return node.name == code.co_name and code.co_firstlineno in lines


def _span_of(node: Any) -> tuple:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


@lru_cache(64)
def tree_of(file: str) -> ast.AST | None:
    """Return the parsed source of a file; None if it is not at hand."""
    text = "".join(linecache.getlines(file))
    try:
        return ast.parse(text) if text else None
    except SyntaxError:
        return None


def together(spots: dict[tuple, Any]) -> dict[tuple, Any]:
    """Return the spots, those of one expression taken together, by their expressions.

    The interpreter rewrites instructions that run often, and they then stand a little further on.
    """
    found: dict[tuple, Any] = {}
    for spot in list(spots.values()):  # other threads may still go on
        span = span_at(spot.code, spot.offset) or spot.offset
        key = id(spot.code), span, getattr(spot, "prim", None)
        first = found.setdefault(key, spot)
        if first is not spot:
            first.take(spot)
    return found


def by_line(spots: Iterable[Any]) -> list[list[Any]]:
    """Return the spots of each line, the whole expression before its parts."""
    lines: dict[Place, list[Any]] = {}
    for spot in spots:
        lines.setdefault(spot.place, []).append(spot)
    return [sorted(group, key=lambda spot: -len(spot.text)) for group in lines.values()]


def places_of(spots: Iterable[Any], most: int = 3) -> tuple[Place, ...]:
    """Return the lines of spots, each once, in order, not more than a few."""
    return tuple(dict.fromkeys(spot.place for spot in spots))[:most]
