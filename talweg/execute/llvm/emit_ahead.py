"""Hints about memory that is too big for the caches.

Where a row is read a second time, from cache, memory has nothing to do: there the next row is asked
for (`rows_ahead`).  So a pass that waits for memory and one that computes overlap.  Results too big
to stay in cache are written past it, without being read first (`is_streamed`).
"""

from __future__ import annotations

from talweg.core.dtypes import DType
from talweg.lower.index import Axis, Index
from talweg.lower.loops import Buffer, Expr, For, Store, Update, walk

ROW_BYTES = 2048  # of a row that is worth asking for ahead
CACHED_BYTES = 1 << 20  # of a buffer that is in cache anyhow
STREAMED_BYTES = 24 << 20  # of a result that does not stay in cache
ALIGNED = 16  # bytes: how NumPy's arrays lie in memory, at least


def loads_of(loop: For) -> dict[tuple[Buffer, Index], None]:
    """What a loop without loops in it reads, of which every element is its own."""
    values: list[Expr] = []
    for statement in loop.body:
        if isinstance(statement, (Store, Update)):
            values.append(statement.value)
    found = [x.data for x in walk(values) if x.op == "load" and not x.args]
    return {(buffer, index): None for buffer, index in found
            if index.coefficient(loop.axis) == 1}  # fmt: skip


def rows_ahead(body: list, loop: For, row: Axis) -> list[tuple[Buffer, Index]]:
    """What to ask for in a vector loop: what it reads, one row on, if a loop before it read it.

    `body` is the list of statements the loop stands in, `row` the axis of the loop around.
    """
    wanted = loads_of(loop)
    if not wanted:
        return []
    earlier: dict[tuple[Buffer, Index], None] = {}
    place = next(i for i, statement in enumerate(body) if statement is loop)
    for statement in body[:place]:
        if isinstance(statement, For) and statement.kind == "vector":
            own = {statement.axis: Index.of(loop.axis)}
            same = statement.axis.extent == loop.axis.extent
            if same:
                reads = loads_of(statement)
                earlier.update({(b, i.replace(own)): None for b, i in reads})
    found = []
    for buffer, index in wanted:
        step = index.coefficient(row) or 0
        size = buffer.dtype.size
        if (buffer, index) in earlier and step * size >= ROW_BYTES and buffer.nbytes > CACHED_BYTES:
            found.append((buffer, index + step))
    return found


def is_streamed(buffer: Buffer, index: Index, loop: For | None, width: int) -> bool:
    """Whether a store of whole vectors goes past the caches."""
    if buffer.kind != "output" or buffer.nbytes < STREAMED_BYTES or loop is None:
        return False
    unit = units(buffer.dtype)
    if width < unit or width % unit or loop.axis.extent % width or index.constant % unit:
        return False
    strides = [factor for atom, factor in index.terms if atom is not loop.axis]
    return index.coefficient(loop.axis) == 1 and not any(factor % unit for factor in strides)


def units(dtype: DType) -> int:
    """How many elements lie between addresses that are multiples of ALIGNED."""
    return ALIGNED // dtype.size
