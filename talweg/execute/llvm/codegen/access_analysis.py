"""Access analysis of statements: the buffers and tiles they touch, the cost of loops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from talweg.core.dtypes import DType
from talweg.execute.llvm.codegen.memory import root
from talweg.lower.ir.index import Axis, Index, axes_of
from talweg.lower.ir.loops import Call, Expr, For, Store, Tile, Update, When, elements, walk
from talweg.lower.ir.scalars import SCALARS

_COST = {name: scalar.cost for name, scalar in SCALARS.items()}
_COST |= {"const": 0, "index": 0, "read": 0, "load": 1, "cast": 1, "bits": 0, "select": 1}
_FREE = frozenset(("const", "index"))  # as wide as what they are used with


class AccessFacts:
    """The accesses of a statement and all in it."""

    __slots__ = (
        "axes",
        "draws",
        "effects",
        "fast",
        "inner",
        "orders",
        "reads",
        "statements",
        "tiles_read",
        "twice",
        "updates",
        "vectors",
        "writes",
    )

    def __init__(self):
        self.writes: set = set()  # roots of buffers
        self.reads: set = set()
        self.updates: dict[Tile, set] = {}  # with which operations (None: set)
        self.tiles_read: set[Tile] = set()
        self.axes: set[Axis] = set()  # by which tiles are indexed
        self.fast: dict[Tile, tuple[int, For]] = {}  # the dim along a vector loop
        self.vectors = False  # vector loops are in it
        self.inner: set[Tile] = set()  # tiles declared
        self.draws = False  # random words: where vectors begin at blocks, neighbours share them
        self.orders: list[list[Expr]] = []  # what is computed, operands first
        self.twice = True  # storing twice does no harm
        self.effects = False  # stores or calls
        self.statements = 0  # stores and updates

    def add(self, other: AccessFacts) -> None:
        """Add the accesses of a part."""
        self.writes |= other.writes
        self.reads |= other.reads
        for tile, ops in other.updates.items():
            self.updates[tile] = self.updates[tile] | ops if tile in self.updates else ops
        self.tiles_read |= other.tiles_read
        self.axes |= other.axes
        for tile, axis in other.fast.items():
            self.fast.setdefault(tile, axis)
        self.vectors |= other.vectors
        self.inner |= other.inner
        self.orders += other.orders
        self.twice &= other.twice
        self.effects |= other.effects
        self.draws |= other.draws
        self.statements += other.statements


class AccessAnalysis:
    """The cached analysis of statements."""

    def __init__(self):
        self.known: dict[int, AccessFacts] = {}
        self.orders: dict[tuple, list[Expr]] = {}

    def order(self, roots: tuple[Expr, ...]) -> list[Expr]:
        """Return all expressions below `roots`, operands first."""
        found = self.orders.get(roots)
        if found is None:
            found = self.orders[roots] = walk(roots)
        return found

    def of(self, statement: Any) -> AccessFacts:
        """Return the facts of a statement."""
        found = self.known.get(id(statement))
        if found is None:
            found = self.known[id(statement)] = AccessFacts()
            self._find(statement, found)
        return found

    def of_list(self, statements: Iterable[Any]) -> AccessFacts:
        """Return the facts of several statements."""
        found = AccessFacts()
        for statement in statements:
            found.add(self.of(statement))
        return found

    def _find(self, statement: Any, facts: AccessFacts) -> None:
        kind = type(statement)
        if kind is For:
            for part in statement.body:
                facts.add(self.of(part))
            if statement.kind == "vector" and not facts.vectors:
                facts.vectors = True
                self._fast(statement, statement.body, facts)
        elif kind is Store:
            owner = root(statement.buffer)
            facts.writes.add(owner)
            facts.effects = True
            facts.statements += 1
            if statement.op is not None:
                facts.reads.add(owner)
                facts.twice = False
            self._exprs(facts, statement.value, (statement.index,))
        elif kind is Tile:
            facts.inner.add(statement)
            self._exprs(facts, statement.start, ())
        elif kind is Update:
            facts.updates[statement.tile] = {statement.op}
            facts.statements += 1
            self._axes(facts, statement.indices)
            self._exprs(facts, statement.value, statement.indices)
        elif kind is When:
            facts.add(self.of_list([*statement.body, *statement.otherwise]))
            self._exprs(facts, statement.condition, ())
        elif kind is Call:
            facts.writes |= {root(buffer) for buffer in statement.writes}
            facts.reads |= {root(buffer) for buffer in statement.reads}
            facts.effects, facts.twice = True, False

    def _axes(self, found: AccessFacts, indices: tuple[Index, ...]) -> None:
        for index in indices:
            found.axes |= index.axes()

    def _exprs(self, found: AccessFacts, value: Expr, indices: tuple[Index, ...]) -> None:
        order = self.order(roots_of(value, indices))
        found.orders.append(order)
        for expr in order:
            op = expr.op
            if op == "load":
                found.reads.add(root(expr.data[0]))
            elif op == "read":
                found.tiles_read.add(expr.data[0])
                self._axes(found, expr.data[1])
            elif op == "philox32" or op == "philox64":
                found.draws = True

    def _fast(self, loop: For, body: list, found: AccessFacts) -> None:
        """Find the dims of tiles that run along this vector loop."""
        for statement in body:
            if type(statement) is For:
                self._fast(loop, statement.body, found)
            elif type(statement) is Update:
                for dim, index in enumerate(statement.indices):
                    if loop.axis in index.axes():
                        found.fast[statement.tile] = (dim, loop)


def roots_of(value: Expr, indices: tuple[Index, ...]) -> tuple[Expr, ...]:
    """Return an expression, and those of its indices."""
    found = (value,)
    for index in indices:
        for atom, _ in index.terms:
            if type(atom) is not Axis:
                return (value, *[atom.value for index in indices for atom in elements(index)])
    return found


def _along(index: Index, axis: Axis) -> bool:
    """Return whether an index depends on an axis."""
    for atom, _ in index.terms:
        if atom is axis or (type(atom) is not Axis and axis in axes_of(atom)):
            return True
    return False


def _numbers_in(index: Index) -> list[Expr]:
    """Return the numbers in an index."""
    if all([type(atom) is Axis for atom, _ in index.terms]):
        return []
    return walk([atom.value for atom in elements(index)])


def _size(dtype: DType) -> int:
    return 4 if dtype.name in ("float16", "bfloat16") else dtype.size


def shape(loop: For, facts: AccessFacts, vector_bytes: int) -> tuple[int, float]:
    """Return the lanes of a vector loop, and the cost of its body.

    As many as a vector has of the widest dtype among what depends on the axis; indices that are
    only compared or used to look something up do not count.  The cost is without what does not
    depend on the axis.
    """
    widest, cost = 1, float(facts.statements)
    for tile in facts.updates:
        if tile not in facts.inner:
            widest = max(widest, _size(tile.dtype))
    for order in facts.orders:
        depends: dict[int, bool] = {}
        looked_up = set()
        for expr in order:
            op = expr.op
            along = False
            for arg in expr.args:
                along = along or depends[id(arg)]
            if op == "load" or op == "index":
                index = expr.data[1] if op == "load" else expr.data
                along = along or _along(index, loop.axis)
                for atom, _ in index.terms:
                    if type(atom) is not Axis:
                        looked_up |= {
                            id(part) for one in elements(index) for part in walk([one.value])
                        }
            elif op == "read":
                along = expr.data[0] in facts.inner
                along = along or any(_along(index, loop.axis) for index in expr.data[1])
            depends[id(expr)] = along
        for expr in order:
            if depends[id(expr)]:
                cost += _COST[expr.op]
                if expr.op not in _FREE and id(expr) not in looked_up:
                    widest = max(widest, _size(expr.dtype))
    return vector_bytes // widest, cost


def chunks(extent: int, width: int, start: int = 0) -> list[tuple[int, int]]:
    """Split an axis from number `start` on into vectors: the start and lanes of each."""
    whole = extent - extent % width
    found = [(first, width) for first in range(start * width, whole, width)]
    if whole != extent:
        found.append((whole, extent - whole))
    return found
