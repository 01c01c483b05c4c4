"""Prefetching and streaming stores, for memory that exceeds the caches.

Where a row is read a second time, from cache, memory has nothing to do: there the next row is asked
for (`rows_ahead`).  So a pass that waits for memory and one that computes overlap.  Rows that data
names, as a look-up's, lie anywhere: they are asked for some turns before (`find_named_rows`).
Results too big to stay in cache are written past it, without being read first (`is_streamed`).
"""

from __future__ import annotations

from typing import NamedTuple

from talweg.core.dtypes import DType, int64
from talweg.execute.llvm.runtime.result_memory import ALIGNMENT
from talweg.lower.buffer_assignment import STREAMED_BYTES
from talweg.lower.ir.index import ZERO, Axis, Element, Index
from talweg.lower.ir.loops import Buffer, Expr, For, Store, Update, const, number, walk
from talweg.lower.ir.visitors import all_statements

ROW_BYTES = 2048  # of a row that is worth asking for ahead
CACHED_BYTES = 1 << 20  # of a buffer that is in cache anyhow
NAMED_BYTES = 4096  # of rows that data names, asked for before they are needed
MOST_TURNS = 32  # before
LONGEST = 1024  # bytes of such a row that are asked for: the rest is read in order
LINE = 64
NARROWEST = 16  # bytes of a vector that is written past the caches


def loads_of(loop: For) -> dict[tuple[Buffer, Index], None]:
    """Return the loads of an innermost loop that read another element in each turn."""
    values: list[Expr] = []
    for statement in loop.body:
        if isinstance(statement, (Store, Update)):
            values.append(statement.value)
    found = [x.data for x in walk(values) if x.op == "load" and not x.args]
    return {(buffer, index): None for buffer, index in found if index.coefficient(loop.axis) == 1}


def rows_ahead(body: list, loop: For, row: Axis) -> list[tuple[Buffer, Index]]:
    """Return the rows to prefetch in a vector loop, one turn of the outer loop ahead.

    `body` is the list of statements the loop stands in, `row` the axis of the loop around.
    """
    position = next(i for i, statement in enumerate(body) if statement is loop)
    alike = [
        statement
        for statement in body[:position]
        if isinstance(statement, For) and statement.kind == "vector"
        if statement.axis.extent == loop.axis.extent
    ]
    if not alike:  # as nearly everywhere: before anything is walked over
        return []
    earlier: dict[tuple[Buffer, Index], None] = {}
    for statement in alike:
        loads_here = {statement.axis: Index.of(loop.axis)}
        earlier.update({(b, i.replace(loads_here)): None for b, i in loads_of(statement)})
    rows = []
    for buffer, index in loads_of(loop):
        step = index.coefficient(row) or 0
        size = buffer.dtype.size
        if (buffer, index) in earlier and step * size >= ROW_BYTES and buffer.nbytes > CACHED_BYTES:
            rows.append((buffer, index + step))
    return rows


class PrefetchRow(NamedTuple):
    """A row to prefetch: its address and its number of elements."""

    buffer: Buffer
    start: Index
    size: int
    written: bool

    def lines(self) -> list[int]:
        """Return elements in all of its cache lines."""
        bytes_ = min(self.size * self.buffer.dtype.size, LONGEST)
        places = [*range(0, bytes_, LINE), bytes_ - self.buffer.dtype.size]
        return [place // self.buffer.dtype.size for place in places]


def find_named_rows(loop: For, orders: list[list[Expr]]) -> list[PrefetchRow]:
    """Return the rows, at positions computed from data, that a later turn of a loop needs.

    `orders` are the lists of what its statements compute.
    """
    reads = [x.data for order in orders for x in order if x.op == "load"]
    places = {key: False for key in reads if _is_named(key[1])}
    inside = list(all_statements(loop.body))
    stores = [part for part in inside if type(part) is Store]
    places |= {(part.buffer, part.index): True for part in stores if _is_named(part.index)}
    if not places:
        return []
    inner = {part.axis for part in inside if type(part) is For}
    overwritten = {part.buffer for part in stores if part.op is None}
    rows: dict[tuple[Buffer, Index], PrefetchRow] = {}
    for (buffer, index), written in places.items():
        if buffer.kind == "scratch" or buffer.nbytes <= CACHED_BYTES:
            continue
        if buffer in overwritten and is_past_caches(buffer):
            continue
        own = [atom for atom, _ in index.terms if type(atom) is Element]
        depends = [loop.axis in atom.value.axes() for atom in own]
        if not any(depends) or any(atom.value.axes() & inner for atom in own):
            continue
        size = _extent(index, inner)
        start = _later(index, loop.axis, size * buffer.dtype.size, inner)
        if start is not None:
            old = rows.get((buffer, start))
            written |= old is not None and old.written
            rows[buffer, start] = PrefetchRow(buffer, start, size, written)
    return list(rows.values())


def _is_named(index: Index) -> bool:
    """Return whether a position is computed from data."""
    return any([type(atom) is Element for atom, _ in index.terms])


def _extent(index: Index, inner: set[Axis]) -> int:
    """Return the number of consecutive elements that the loops within run over."""
    size = 1
    for atom, factor in index.terms:
        if atom in inner and factor == 1:
            size = max(size, atom.extent)
    return size


def _later(index: Index, axis: Axis, bytes_: int, inner: set[Axis]) -> Index | None:
    """Return the address of a row some turns later, clamped to the last turn."""
    turns = max(1, min(NAMED_BYTES // bytes_, MOST_TURNS))
    if axis.extent <= 2 * turns:
        return None
    later = [number(Index.of(axis) + turns), const(axis.extent - 1, int64)]
    turn = Index.of(Element(Expr("minimum", tuple(later), int64)))
    return index.replace({axis: turn, **dict.fromkeys(inner, ZERO)})


def is_past_caches(buffer: Buffer) -> bool:
    """Return whether a buffer is a result that exceeds the caches."""
    return buffer.kind == "output" and buffer.nbytes >= STREAMED_BYTES


def is_streamed(buffer: Buffer, index: Index, loop: For | None, width: int) -> bool:
    """Return whether a store of whole vectors bypasses the caches."""
    if not is_past_caches(buffer) or loop is None:
        return False
    unit = alignment(buffer.dtype, width) // buffer.dtype.size
    if width * buffer.dtype.size < NARROWEST:
        return False
    if width % unit or loop.axis.extent % width or index.constant % unit:
        return False
    strides = [factor for atom, factor in index.terms if atom is not loop.axis]
    run = loop.axis.extent
    if run * buffer.dtype.size < LINE and run not in strides:
        return False  # the rest of the line is written later, by a second trip to memory
    return index.coefficient(loop.axis) == 1 and not any(factor % unit for factor in strides)


def alignment(dtype: DType, width: int) -> int:
    """Return the alignment in bytes of whole vectors of a large result.

    Of vectors that are written past the caches a core puts together what is in one line: two halves
    take half as long as four quarters.  Vectors of other widths (12 elements) begin at multiples of
    the power of two in them.
    """
    size = width * dtype.size
    return min(ALIGNMENT, size & -size)
