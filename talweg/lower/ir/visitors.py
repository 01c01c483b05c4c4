"""Visitors of loop programs: the parts of each kind of statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from talweg.core.errors import InternalError
from talweg.lower.ir.index import Index
from talweg.lower.ir.loops import (
    Buffer,
    Call,
    Expr,
    For,
    Pointer,
    Store,
    Tile,
    Update,
    When,
    elements,
)


def bodies(statement: object) -> tuple[list, ...]:
    """Return the lists of statements in a statement."""
    if type(statement) is For:
        return (statement.body,)
    return (statement.body, statement.otherwise) if type(statement) is When else ()


def all_statements(body: list) -> Iterator[Any]:
    """Return the statements of a list and nested ones, in the order of the text."""
    for statement in body:
        yield statement
        for inner in bodies(statement):
            yield from all_statements(inner)


def indices(statement: object) -> tuple[Index, ...]:
    """Return the direct indices of a statement."""
    if type(statement) is Store:
        return (statement.index,)
    if type(statement) is Update:
        return statement.indices
    if type(statement) is Call:
        found = [a.index if type(a) is Pointer else a for a in statement.arguments]
        return tuple([Index.of(a) for a in found if type(a) is not Expr])
    return ()


def values(statement: Any) -> tuple[Expr, ...]:
    """Return the direct expressions of a statement, those in its indices apart."""
    kind = type(statement)
    if kind is Store or kind is Update:
        return (statement.value,)
    if kind is Tile:
        return (statement.start,)
    if kind is When:
        return (statement.condition,)
    if kind is Call:
        return tuple([a for a in statement.arguments if type(a) is Expr])
    return ()


def roots(statement: object) -> list[Expr]:
    """Return all direct expressions of a statement, those of its indices first."""
    found = [atom.value for index in indices(statement) for atom in elements(index)]
    found += values(statement)
    return found


def root_of(buffer: Buffer) -> Buffer:
    """Return the buffer whose memory a buffer lies in."""
    while buffer.part is not None:
        buffer = buffer.part
    return buffer


def buffers_written(statement: Any) -> Iterable[Any]:
    """Return the buffers and the tile that a statement itself writes to."""
    if type(statement) is Store:
        return (statement.buffer,)
    if type(statement) is Update:
        return (statement.tile,)
    return statement.writes if type(statement) is Call else ()


def refuse(place: str, what: str) -> InternalError:
    """Return the error for a program that breaks a rule, for the caller to raise."""
    return InternalError(None, None, f"{place}: {what}")


def brief(statement: Any) -> str:
    """Print a statement in short, for messages: the target, and the op."""
    kind = type(statement)
    if kind is For:
        axis = statement.axis
        return f"for {axis.name} in {axis.extent} {statement.kind}"
    if kind is Tile:
        return f"tile {statement.name}: {statement.dtype.name}{list(statement.dims)}"
    if kind is Store:
        target = f"{statement.buffer}[{statement.index!r}]"
        return f"{target} {statement.op or ''}= {_brief(statement.value)}"
    if kind is Update:
        target = f"{statement.tile}[{', '.join(map(repr, statement.indices))}]"
        return f"{target} {statement.op or ''}= {_brief(statement.value)}"
    if kind is When:
        return f"when {_brief(statement.condition)}"
    return f"call {statement.routine}" if kind is Call else f"<{kind.__name__}>"


def _brief(expr: Expr) -> str:
    if expr.args:
        return f"{expr.op}({', '.join([f'{arg.op}: {arg.dtype.name}' for arg in expr.args])})"
    return repr(expr)
