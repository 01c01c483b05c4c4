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
    """The lists of statements in a statement."""
    if type(statement) is For:
        return (statement.body,)
    return (statement.body, statement.otherwise) if type(statement) is When else ()


def all_statements(body: list) -> Iterator[Any]:
    """The statements of a list and of those within, in the order of the text."""
    for statement in body:
        yield statement
        for inner in bodies(statement):
            yield from all_statements(inner)


def indices(statement: object) -> tuple[Index, ...]:
    """The indices that stand in a statement itself."""
    if type(statement) is Store:
        return (statement.index,)
    if type(statement) is Update:
        return statement.indices
    if type(statement) is Call:
        found = [a.index if type(a) is Pointer else a for a in statement.arguments]
        return tuple([Index.of(a) for a in found if type(a) is not Expr])
    return ()


def values(statement: Any) -> tuple[Expr, ...]:
    """The expressions that stand in a statement itself, those in its indices apart."""
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
    """All expressions that stand in a statement itself, those that its indices need first."""
    found = [atom.value for index in indices(statement) for atom in elements(index)]
    found += values(statement)
    return found


def root_of(buffer: Buffer) -> Buffer:
    """The buffer whose memory a buffer lies in."""
    while buffer.part is not None:
        buffer = buffer.part
    return buffer


def buffers_written(statement: Any) -> Iterable[Any]:
    """The buffers and the tile that a statement itself writes to."""
    if type(statement) is Store:
        return (statement.buffer,)
    if type(statement) is Update:
        return (statement.tile,)
    return statement.writes if type(statement) is Call else ()


def refuse(place: str, what: str) -> InternalError:
    """The error for a program that breaks a rule; the caller raises it."""
    return InternalError(None, None, f"{place}: {what}")


def brief(statement: Any) -> str:
    """A statement in short, for messages: where it writes to, and by what."""
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
