"""What is in statements: the buffers and tiles they touch, the lanes a vector loop should have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from talweg.execute.llvm.emit_memory import root
from talweg.lower.index import Axis, Index
from talweg.lower.loops import Call, Expr, For, Store, Tile, Update, When, elements, walk

IDEMPOTENT = ("maximum", "minimum", "and", "or")


class Facts:
    """Of a statement and all in it."""

    __slots__ = (
        "axes", "effects", "exprs", "fast", "inner", "reads", "tiles_read", "twice", "updates",
        "vectors", "writes",
    )  # fmt: skip

    def __init__(self):
        self.writes: set = set()  # roots of buffers
        self.reads: set = set()
        self.updates: dict[Tile, set] = {}  # with which operations (None: set)
        self.tiles_read: set[Tile] = set()
        self.axes: set[Axis] = set()  # by which tiles are indexed
        self.fast: dict[Tile, tuple[int, For]] = {}  # dim along a vector loop
        self.vectors = False  # vector loops
        self.inner: set[Tile] = set()  # tiles declared
        self.exprs: list[tuple[Expr, ...]] = []  # what is computed, with indices
        self.twice = True  # running it twice does no harm
        self.effects = False  # stores or calls

    def add(self, other: Facts) -> None:
        """Takes in those of a part."""
        self.writes |= other.writes
        self.reads |= other.reads
        for tile, ops in other.updates.items():
            self.updates[tile] = self.updates.get(tile, set()) | ops
        self.tiles_read |= other.tiles_read
        self.axes |= other.axes
        for tile, place in other.fast.items():
            self.fast.setdefault(tile, place)
        self.vectors |= other.vectors
        self.inner |= other.inner
        self.exprs += other.exprs
        self.twice &= other.twice
        self.effects |= other.effects


class Finder:
    """Finds facts, each once."""

    def __init__(self):
        self.known: dict[int, Facts] = {}

    def of(self, statement: Any) -> Facts:
        """The facts of a statement."""
        found = self.known.get(id(statement))
        if found is None:
            found = self.known[id(statement)] = Facts()
            self._find(statement, found)
        return found

    def of_list(self, statements: Iterable[Any]) -> Facts:
        """The facts of several statements."""
        found = Facts()
        for statement in statements:
            found.add(self.of(statement))
        return found

    def _find(self, statement: Any, found: Facts) -> None:
        kind = type(statement)
        if kind is For:
            found.add(self.of_list(statement.body))
            if statement.kind == "vector" and not found.vectors:
                found.vectors = True
                self._fast(statement, statement.body, found)
        elif kind is Store:
            owner = root(statement.buffer)
            found.writes.add(owner)
            found.effects = True
            if statement.op is not None:
                found.reads.add(owner)
                found.twice = False
            self._exprs(found, statement.value, (statement.index,))
        elif kind is Tile:
            found.inner.add(statement)
            self._exprs(found, statement.start, ())
        elif kind is Update:
            found.updates[statement.tile] = {statement.op}
            found.axes |= {axis for index in statement.indices for axis in index.axes()}
            self._exprs(found, statement.value, statement.indices)
        elif kind is When:
            found.add(self.of_list([*statement.body, *statement.otherwise]))
            self._exprs(found, statement.condition, ())
        elif kind is Call:
            found.writes |= {root(buffer) for buffer in statement.writes}
            found.reads |= {root(buffer) for buffer in statement.reads}
            found.effects, found.twice = True, False

    def _exprs(self, found: Facts, value: Expr, indices: tuple[Index, ...]) -> None:
        roots = (value, *[atom.value for index in indices for atom in elements(index)])
        found.exprs.append(roots)
        for expr in walk(roots):
            if expr.op == "load":
                found.reads.add(root(expr.data[0]))
            elif expr.op == "read":
                found.tiles_read.add(expr.data[0])
                found.axes |= {axis for index in expr.data[1] for axis in index.axes()}

    def _fast(self, loop: For, body: list, found: Facts) -> None:
        """Which dims of tiles run along this vector loop."""
        for statement in body:
            if type(statement) is For:
                self._fast(loop, statement.body, found)
            elif type(statement) is Update:
                for dim, index in enumerate(statement.indices):
                    if loop.axis in index.axes():
                        found.fast[statement.tile] = (dim, loop)


def lanes(loop: For, facts: Facts, vector_bytes: int) -> int:
    """How many values of its axis a vector loop takes at once.

    As many as a vector has of the widest dtype among what depends on the axis; indices that are
    only compared or used to look something up do not count.
    """
    widest = 1
    for roots in facts.exprs:
        depends: dict[int, bool] = {}
        for expr in walk(roots[:1]):
            along = any(depends[id(child)] for child in expr.children())
            for index in expr.indices():
                along = along or loop.axis in index.axes()
            along = along or (expr.op == "read" and expr.data[0] in facts.inner)
            depends[id(expr)] = along
        looked_up = {id(part) for expr in walk(roots[:1]) for part in _numbers_in(expr)}
        for expr in walk(roots[:1]):
            if not depends[id(expr)] or expr.op == "index" or id(expr) in looked_up:
                continue
            size = 4 if expr.dtype.name in ("float16", "bfloat16") else expr.dtype.size
            widest = max(widest, size)
    for tile in facts.updates:
        if tile not in facts.inner:
            size = 4 if tile.dtype.name in ("float16", "bfloat16") else tile.dtype.size
            widest = max(widest, size)
    return vector_bytes // widest


def _numbers_in(expr: Expr) -> list[Expr]:
    """What stands in the indices of an expression."""
    return [part for index in expr.indices() for part in walk([e.value for e in elements(index)])]


def fingers(extent: int, width: int) -> list[tuple[int, int]]:
    """Where the vectors of an axis begin and how many lanes they have."""
    found = [(first, width) for first in range(0, extent - extent % width, width)]
    if extent % width:
        found.append((extent - extent % width, extent % width))
    return found
