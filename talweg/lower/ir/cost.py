"""The cost model of kernels: operations, and bytes that come from memory and go there.

Operations are counted in multiplications of one element, each function at its cost in
`scalars.py`; a part that does not depend on an inner loop is computed outside of it, a shared
one once.  Bytes are those of the distinct elements that a kernel touches, however often: what it
must move if everything it reads again is in cache by then.  Scratch, and what a kernel itself has
written, come from cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from talweg.lower.ir.index import Axis, Index, Quotient, Remainder
from talweg.lower.ir.loops import (
    Buffer,
    Call,
    Expr,
    For,
    Host,
    If,
    Kernel,
    LoopProgram,
    Pointer,
    Repeat,
    Store,
    Tile,
    Update,
    When,
)
from talweg.lower.ir.ranges import distinct
from talweg.lower.ir.scalars import SCALARS
from talweg.lower.ir.visitors import indices, root_of, roots

# products of matrix registers in the time of one of other registers; float16 takes four
TILE_SPEED = {"tile_product": 16.0, "tile_split_product": 4.0}
_FREE = frozenset(("const", "load", "read", "index", "bits"))


class Cost(NamedTuple):
    """A cost: operations, and bytes read from and written to memory."""

    flops: float
    bytes_read: int
    bytes_written: int

    @property
    def bytes_moved(self) -> int:
        """The bytes read and written."""
        return self.bytes_read + self.bytes_written

    @property
    def intensity(self) -> float:
        """The operations for each byte moved."""
        return self.flops / self.bytes_moved if self.bytes_moved else float("inf")

    def plus(self, other: Cost) -> Cost:
        """Return the cost of two parts that run one after the other."""
        return Cost(
            self.flops + other.flops,
            self.bytes_read + other.bytes_read,
            self.bytes_written + other.bytes_written,
        )


NOTHING = Cost(0.0, 0, 0)


def total(program: LoopProgram) -> Cost:
    """Return the cost of a program.

    Of a `while`, and of a `repeat` that may end at any time, one round; of an `if` its dearest
    body.
    """
    return of_blocks(program.blocks)


def of_blocks(blocks: Iterable, around: frozenset[Axis] = frozenset()) -> Cost:
    """Return the cost of sequential blocks, for one value of the axes around them."""
    total = NOTHING
    for block in blocks:
        if type(block) is Kernel:
            total = total.plus(cost(block, around))
        elif type(block) is Host:
            total = total.plus(Cost(0.0, _nbytes(block.inputs), _nbytes(block.outputs)))
        elif type(block) is Repeat:
            times = block.axis.extent if block.flag is None else 1
            once = of_blocks(block.body, around | {block.axis})
            flops, read, written = once
            total = total.plus(Cost(times * flops, times * read, times * written))
        elif type(block) is If:
            bodies = [of_blocks(body, around) for body in block.bodies]
            total = total.plus(max(bodies, key=lambda each: each.flops + each.bytes_moved))
    return total


def cost(kernel: Kernel, around: frozenset[Axis] = frozenset()) -> Cost:
    """Return the cost of a kernel, for one value of the axes of repeats around it.

    A part of a kernel may be given as one: the tiles around that it reads cost nothing.
    """
    counter = _CostCounter(around)
    counter.body(kernel.body, 1)
    return Cost(counter.flops, sum(counter.read.values()), sum(counter.written.values()))


def _nbytes(buffers: Iterable[Buffer]) -> int:
    return sum([buffer.nbytes for buffer in buffers])


class _CostCounter:
    def __init__(self, around: frozenset[Axis]):
        self.around = around
        self.flops = 0.0
        self.read: dict[Buffer, int] = {}  # bytes, by root
        self.written: dict[Buffer, int] = {}
        self.reaches: dict[tuple, list] = {}  # what an index reaches; see `touch`
        self.runs: dict[Any, int] = {}  # axes and tiles: how often a value that needs them changes
        self.changes: dict[int, int] = {}  # expressions in lists around this place: likewise

    def body(self, body: list, times: int) -> None:
        """Count a list of statements that runs `times` times."""
        own_costs: list[int] = []
        for statement in body:
            for expr in roots(statement):
                self.expression(expr, times, own_costs)
            for index in indices(statement):
                self._index_cost(index)
            kind = type(statement)
            if kind is For:
                inner = times * statement.axis.extent
                self.runs[statement.axis] = inner
                self.body(statement.body, inner)
                for thing, changes in self.runs.items():
                    self.runs[thing] = min(changes, times)
            elif kind is Tile:
                self.runs[statement] = times
            elif kind is Update:
                self.runs[statement.tile] = max(times, self.runs.get(statement.tile, 1))
                if statement.op is not None:
                    self.flops += times
            elif kind is Store:
                self.store(statement, times)
            elif kind is When:
                self.either(statement, times)
            elif kind is Call:
                self.call(statement, times)
        for key in own_costs:
            del self.changes[key]

    def either(self, statement: When, times: int) -> None:
        """Count a condition: the costlier arm, and the elements that either touches.

        What is done about a NaN is not counted: it is rare.
        """
        before, most = self.flops, 0.0
        rare = statement.condition.op == "is_nan"
        for body in (statement.otherwise,) if rare else (statement.body, statement.otherwise):
            self.flops = before
            self.body(body, times)
            most = max(most, self.flops)
        self.flops = most

    def expression(self, root: Expr, most: int, own: list[int]) -> None:
        """Count an expression in a list that runs `most` times.

        What a list around this place has is not computed again.
        """
        stack = [(root, False)]
        while stack:
            expr, ready = stack.pop()
            if id(expr) in self.changes:
                continue
            children = expr.children()
            if children and not ready:
                stack.append((expr, True))
                stack += [(child, False) for child in children]
                continue
            times = max([self.changes[id(child)] for child in children], default=1)
            for index in expr.indices():
                times = max(times, self._index_cost(index))
            if expr.op == "read":
                times = max(times, min(most, self.runs.get(expr.data[0], 1)))
            elif expr.op == "load":
                self._load(*expr.data)
            if expr.op not in _FREE:
                scalar = SCALARS.get(expr.op)
                self.flops += times * (scalar.cost if scalar is not None else 1)
            self.changes[id(expr)] = times
            own.append(id(expr))

    def _index_cost(self, index: Index) -> int:
        """Return the cost of an index, by the loops in which it changes."""
        times = 1
        for atom, _ in index.terms:
            if type(atom) in (Quotient, Remainder):
                times = max(times, self._index_cost(atom.index))
            else:
                times = max(times, self.runs.get(atom, 1))
        return times

    # -- memory

    def _load(self, buffer: Buffer, index: Index) -> None:
        root = root_of(buffer)
        if root.kind != "scratch" and root not in self.written:
            self.touch(self.read, "read", buffer, index)

    def store(self, store: Store, times: int) -> None:
        if store.op is not None:
            self.flops += times
            self._load(store.buffer, store.index)
        if root_of(store.buffer).kind != "scratch":
            self.touch(self.written, "written", store.buffer, store.index)

    def call(self, call: Call, times: int) -> None:
        if call.routine == "gemm":
            sizes = [_most(argument) for argument in call.arguments[2:5]]
            self.flops += times * 2.0 * sizes[0] * sizes[1] * sizes[2]
        elif call.routine in TILE_SPEED:
            sizes = [_most(argument) for argument in call.arguments[:4]]
            work = math.prod(sizes) * 32.0**3
            self.flops += times * 2.0 * work / TILE_SPEED[call.routine]
        for found, buffers in ((self.read, call.reads), (self.written, call.writes)):
            for buffer in map(root_of, buffers):
                if buffer.kind != "scratch":
                    found[buffer] = buffer.nbytes

    def touch(self, reached: dict, word: str, buffer: Buffer, index: Index) -> None:
        """Count the elements that an index reaches, shared ones once.

        Indices that differ by a constant reach the same, moved along.
        """
        root = root_of(buffer)
        key = (word, buffer, frozenset(index.terms))
        seen = self.reaches.get(key)
        if seen is None:
            count = distinct(index, buffer.size, self.around)
            self.reaches[key] = [index.constant, index.constant, count]
            more = count
        else:
            low, high, count = seen
            seen[:2] = min(low, index.constant), max(high, index.constant)
            more = min(seen[1] - seen[0] - (high - low), count)
        held = reached.get(root, 0) + more * buffer.dtype.size
        reached[root] = min(held, root.nbytes)


def _most(argument: Index) -> int:
    """Return the largest value of a size given to a routine; 1 if unknown."""
    if type(argument) in (Pointer, Expr):
        return 1
    largest = Index.of(argument).largest
    return 1 if largest is None else largest
