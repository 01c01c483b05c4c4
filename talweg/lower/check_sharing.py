"""Checks that what is shared has one value.

An expression may stand in several statements.  It may be computed once, where it is first needed,
for its list and the lists within; so nothing that it reads may be written between its uses.  Who
wants the value from before a write keeps it in a tile.
"""

from __future__ import annotations

from typing import Any

from talweg.lower.loops import Buffer, For, Kernel, walk
from talweg.lower.statements import (
    all_statements,
    bodies,
    brief,
    refuse,
    root_of,
    roots,
    written,
)


def check_sharing(kernel: Kernel) -> None:
    """InternalError where a shared load, or read of a tile, would have two values."""
    _Checker(f"kernel {kernel.name}").body(kernel.body)


class _Checker:
    def __init__(self, place: str):
        self.place = place
        self.time = 0
        self.changed: dict[Any, int] = {}  # buffers and tiles: when they were last written
        self.known: dict[int, int] = {}  # loads and reads by id: when they were first needed

    def body(self, body: list) -> None:
        own = []
        for statement in body:
            self.time += 1
            for expr in walk(roots(statement)):
                if expr.op not in ("load", "read"):
                    continue
                thing = _owner(expr.data[0])
                before = self.known.get(id(expr))
                if before is None:
                    self.known[id(expr)] = self.time
                    own.append(id(expr))
                elif self.changed.get(thing, -1) >= before:
                    message = f"a shared part reads {thing}, which was written since its first use"
                    raise refuse(f"{self.place}: {brief(statement)}", message)
            self._write(statement)
            for inner in bodies(statement):
                self.body(inner)
        for key in own:
            del self.known[key]

    def _write(self, statement: Any) -> None:
        """Take note of what a statement writes: a loop all that is written in it."""
        inner = all_statements(statement.body) if type(statement) is For else (statement,)
        for each in inner:
            for thing in written(each):
                self.changed[_owner(thing)] = self.time


def _owner(thing: Any) -> Any:
    return root_of(thing) if isinstance(thing, Buffer) else thing
