"""Padded inputs: windows read x itself, or a copy with zeros round it.

Work is cut into blocks of rows of results.  If a block's part of x is small each thread makes its
own copy of it, just before it is read; or all of x is copied once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import DType, bfloat16, float16
from talweg.lower.convolution.geometry import Windows, divisors
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.handler import s
from talweg.lower.ir.index import ZERO, Axis, Index, flat
from talweg.lower.ir.loops import (
    Buffer,
    Call,
    Expr,
    For,
    Pointer,
    Store,
    When,
    const,
    load,
    within,
)
from talweg.passes.specialize.program import Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder

TASKS = 8  # into which work is cut if it can be, so that threads can share it
SCRATCH = 96 << 10  # bytes of an image's copy


class PaddedInput:
    """The padded copy that the windows of a block of rows read.

    parts: into how many other tasks the work on a block is cut; these share a copy of all of x.
    most: rows of a block, or `rows`; dtype: that of the copy, which is made where x has another
    one, too; room: numbers of a place in a copy that is always made: the channels, and zeros.
    """

    def __init__(
        self,
        builder: LoweringBuilder,
        windows: Windows,
        source: Buffer,
        value: Value,
        parts: int = 1,
        most: int | None = None,
        dtype: DType | None = None,
        room: int | None = None,
        rows: int | None = None,
    ):
        dtype = source.dtype if dtype is None else dtype
        copies = windows.padded or (bool(windows.reduced) and dtype is not source.dtype)
        copies = copies or room is not None
        self.layers = windows.groups if room is not None else 1  # of the copy, one behind the other
        self.room = windows.channels if room is None else room
        self.builder, self.windows, self.source, self.value = builder, windows, source, value
        self.whole = whole = parts > 1
        size = dtype.size * self.room * self.layers // max(1, windows.channels)
        self.rows = rows or rows_of_block(windows, size, parts, most, copies)
        self.blocks = windows.lines[0].outs // self.rows
        self.block: Any = Axis("b", self.blocks)
        self.image: Any = Axis("n", windows.batch)
        self.copy: Buffer | None = None
        self.skips = False
        if copies:
            own = windows.lines[0].outs if whole else self.rows
            spans = [windows.lines[0].cover(own), *[line.span for line in windows.lines[1:]]]
            if room is not None:
                spans[0] += self.rows_beyond(own, spans)
            shape = (self.layers * (windows.batch if whole else 1), *spans, self.room)
            self.copy = builder.new("padded", dtype, shape, "temporary" if whole else "scratch")

    def rows_beyond(self, rows: int, spans: list[int]) -> int:
        """Return the rows after those of the windows which are read, for nothing."""
        return 0

    @property
    def read(self) -> Buffer:
        """The buffer that tiles read."""
        return self.source if self.copy is None else self.copy

    def copying(self) -> list:
        """Emit the copy, if there is one: that of a block, or of an image."""
        if self.copy is None:
            return []
        size = math.prod([line.size for line in self.windows.lines]) * self.windows.channels
        start = Index.of(self.image) * size
        rows, block, part = self.rows, Index.of(self.block), ZERO
        if self.whole:
            rows, block, part = self.windows.lines[0].outs, ZERO, Index.of(self.image)
        channels = self.windows.channels
        return copy_padded(
            self.source,
            start,
            self.copy,
            self.windows,
            rows,
            block,
            channels // self.layers,
            part,
            zero_rows=not self.skips,
            kind="parallel" if self.whole else "serial",
            room=self.room,
            apart=self.copy.shape[1],
        )

    def place(self, rows: list, column: Index, taps: tuple) -> Index:
        """Return the index of a window's first channel; rows[0] counts from the block's first."""
        lines = self.windows.lines
        own = self.copy is not None and not self.whole  # a copy of the block
        found = ZERO if own else Index.of(self.image)
        if not own:
            rows = [rows[0] + Index.of(self.block) * self.rows, *rows[1:]]
        for position, (line, number, tap) in enumerate(zip(lines, [*rows, column], taps)):
            place = number * line.scale + tap * line.step
            if self.copy is None:
                found = found * line.size + place + line.origin
            else:
                found = found * self.copy.shape[1 + position] + place
        return found * (self.windows.channels if self.copy is None else self.room)

    def result_index(self, rows: list, column: Index, channel: Index) -> tuple:
        """Return the index of a result; rows[0] counts from the first of the block."""
        own = [rows[0] + Index.of(self.block) * self.rows, *rows[1:], column]
        places = [i * line.stride + line.first for i, line in zip(own, self.windows.lines)]
        return (Index.of(self.image), *places[len(places) - len(self.value.dims) + 2 :], channel)


def rows_of_block(
    windows: Windows,
    size: int,
    parts: int = 1,
    most: int | None = None,
    copies: bool | None = None,
) -> int:
    """Return the rows that a task computes: all, or fewer for a small copy and many tasks.

    copies: whether it copies what it reads; by default if that is padded.
    """
    copies = windows.padded if copies is None else copies
    first, *others = windows.lines
    row = math.prod([line.span for line in others]) * windows.channels * size
    best = 1
    for rows in divisors(first.outs):
        small = parts > 1 or not copies or first.cover(rows) * row <= SCRATCH
        tasks = parts * windows.batch * (first.outs // rows)
        if most is not None and rows > most:
            break
        if small and (tasks >= TASKS or rows <= 4):
            best = rows
    return best


def copy_padded(
    source: Buffer,
    start: Index,
    target: Buffer,
    windows: Windows,
    rows: int,
    block: Index,
    width: int,
    part: Index,
    zero_rows: bool = True,
    kind: str = "serial",
    room: int | None = None,
    apart: int | None = None,
) -> list:
    """Emit the copy that `rows` rows of results from row `block` * rows on read, zero-padded.

    `start` is where the image begins in `source`.  The copy, from the first place read on, is
    image number `part` of `target` [channels / width, images, *spans, width].
    zero_rows: whether rows outside of the image are made, too; kind: of the loops over rows.
    room: numbers of a place, if they are more than `width`; apart: rows from an image to the next,
    if there are some between.  float16 numbers that become bfloat16 ones are split into two terms,
    and rows end with zeros to whole registers.
    """
    lines = windows.lines
    spans = [lines[0].cover(rows), *[line.span for line in lines[1:]]]
    axes = [Axis(f"h{k}", span) for k, span in enumerate(spans[:-1])]
    at = [Index.of(axis) + line.origin for axis, line in zip(axes, lines)]
    at[0] = at[0] + block * (rows * lines[0].scale)
    inside = s.all(*[within(i, 0, line.size) for i, line in zip(at, lines)])
    columns, channels = lines[-1], windows.channels
    layers = channels // width
    room = width if room is None else room
    sizes = (0, apart or spans[0], *spans[1:-1])
    row = flat((part, *map(Index.of, axes)), sizes) * (spans[-1] * room)
    layer = target.size // layers  # from one to the next
    low = min(max(-columns.origin, 0), spans[-1])
    high = max(min(spans[-1], columns.size - columns.origin), low)
    sizes = tuple([line.size for line in lines])
    offset = flat((*at, Index(columns.origin + low)), sizes) * channels + start
    first = row + low * room

    def zero(after: int, count: int) -> list:
        parts = Axis("l", layers)
        body = zeros(target, row + Index.of(parts) * layer + after * room, count * room)
        return wrap_in_loops([parts], body, "serial")

    if is_split(source, target):
        kind = "serial"  # the next row is put where the zeros of one are
    body = _copy_places(source, offset, target, first, high - low, width, channels, layer, room)
    body += zero(0, low) if low else []
    body += zero(high, spans[-1] - high) if high < spans[-1] else []
    if high == low:
        body = zero(0, spans[-1])
    elif inside is not None:
        body = [When(inside, body, zero(0, spans[-1]) if zero_rows else [])]
    return wrap_in_loops(axes, body, kind)


def is_split(source: Buffer, target: Buffer) -> bool:
    """Return whether a copy splits numbers into two terms."""
    return source.dtype is float16 and target.dtype is bfloat16


def _copy_places(
    source: Buffer,
    offset: Index,
    target: Buffer,
    first: Index,
    count: int,
    width: int,
    channels: int,
    layer: int,
    room: int,
) -> list:
    """Emit the copy of neighbouring places; layers of `width` channels are `layer` apart."""

    def element(index: Index) -> Expr:
        return s.cast(load(source, index), target.dtype)

    number = Axis("l", channels // width)
    if is_split(source, target):
        arguments = [
            *map(Index, (0, count, width)),
            Pointer(source, offset + Index.of(number) * width),
            Index(channels),
            Pointer(target, first + Index.of(number) * layer),
        ]
        call = Call("tile_split_rows", arguments, (source,), (target,))
        return wrap_in_loops([number], [call], "serial")
    if room == width == channels:
        copied = Axis("r", count * channels)
        return [For(copied, [Store(target, first + copied, element(offset + copied))], "vector")]
    column, lane = Axis("q", count), Axis("c", width)
    value = element(offset + Index.of(column) * channels + Index.of(number) * width + lane)
    here = first + Index.of(number) * layer + Index.of(column) * room
    copy = For(lane, [Store(target, here + lane, value)], "vector")
    absent = zeros(target, here + width, room - width)
    return wrap_in_loops([column, number], [copy, *absent], "serial")


def zeros(target: Buffer, start: Index, count: int) -> list:
    """Emit stores of `count` zeros."""
    if not count:
        return []
    axis = Axis("z", count)
    value = const(0, target.dtype)
    return [For(axis, [Store(target, Index.of(start) + axis, value)], "vector")]
