"""Depthwise convolutions, of one or two channels a group: the lanes of vectors are groups.

A tile has the results of a few neighbouring places for a vector or two of groups; the filter's
taps for these stay in registers, or in the first cache, while a row goes by.  16-bit images are
converted as they are copied for a block of rows, so nothing is stored as float32 but that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.lower.convolution.filter_gradients import chunks_of, total_of
from talweg.lower.convolution.geometry import Windows, shares
from talweg.lower.convolution.padding import TASKS, PaddedInput, zeros
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.handler import s
from talweg.lower.ir.index import Axis, Index, flat
from talweg.lower.ir.loops import Buffer, For, Kernel, Store, Tile, Update, load
from talweg.lower.ir.registers import registers
from talweg.passes.specialize.program import Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder

HEIGHT = 4  # results of a tile
TAPS = 12  # sums of a tile of filters
SUMS = 1 << 20  # bytes of all chunks' sums


class Depthwise(PaddedInput):
    """The builder of the kernel of one `Windows` of many small groups."""

    def __init__(self, builder: LoweringBuilder, windows: Windows, source: Buffer, value: Value):
        super().__init__(builder, windows, source, value, dtype=value.dtype)

    def kernel(self, weight: Callable, name: str) -> Kernel:
        """Build the kernel; `weight(taps, channel, group, result)` is the filter's element."""
        lines = self.windows.lines
        rows = [Axis(f"d{k}", line.outs) for k, line in enumerate(lines[:-1])]
        rows[0] = Axis("d0", self.rows)
        body: list[Any] = self.copying()
        for first, count, width in blocks_of(
            self.windows.groups, 2 * registers().lanes(self.value.dtype.size)
        ):
            block = Axis("c", count)
            group = Index.of(block) * width + first
            own: list[Any] = []
            for result in range(self.windows.width):
                own += self._row(list(map(Index.of, rows)), group, width, result, weight)
            body += wrap_in_loops([block, *rows], own, "serial")
        return Kernel(
            name,
            wrap_in_loops([self.image, self.block], body, "parallel"),
            (self.value.maker.prim.name,),
        )

    def _row(self, at: list, group: Index, width: int, result: int, weight: Callable) -> list:
        found: list[Any] = []
        start = 0
        heights = shares(self.windows.lines[-1].outs, HEIGHT)
        for height in dict.fromkeys(heights):
            count = heights.count(height)
            part = Axis("t", count)
            first = Index.of(part) * height + start
            body = self._tile(at, first, height, group, width, result, weight)
            found += wrap_in_loops([part], body, "serial")
            start += count * height
        return found

    def _tile(
        self,
        at: list,
        first: Index,
        height: int,
        group: Index,
        width: int,
        result: int,
        weight: Callable,
    ) -> list:
        windows = self.windows
        m, n = Axis("m", height), Axis("n", width)
        tile = Tile("z", self.value.dtype, (height, width))
        taps = [Axis(f"k{k}", line.taps) for k, line in enumerate(windows.lines)]
        body: list[Any] = [tile]
        if windows.reduced:
            numbers = tuple(map(Index.of, taps))
            offset = self.place(at, first + m, numbers) + (group + n) * windows.depth
            inner: list = []
            for channel in range(windows.depth):
                product = load(self.read, offset + channel)
                product = product * weight(numbers, Index(channel), group + n, Index(result))
                inner.append(For(n, [Update(tile, (m, n), product, "add")], "vector"))
            body += wrap_in_loops(
                taps,
                [For(m, inner, "unroll")],
                "unroll" if windows.reduced <= 2 * TAPS else "serial",
            )
        m, n = Axis("m", height), Axis("n", width)
        index = self.result_index(at, first + m, (group + n) * windows.width + result)
        stores = self.builder.results(self.value, index, tile.at(m, n))
        return [*body, For(m, [For(n, stores, "vector")], "unroll")]


def blocks_of(channels: int, wide: int) -> list[tuple[int, int, int]]:
    """Return blocks of at most `wide` groups as (first, count, width)."""
    full, rest = divmod(channels, wide)
    found = [(0, full, wide)] if full else []
    return [*found, (full * wide, 1, rest)] if rest else found


class DepthwiseFilters(PaddedInput):
    """The builder of the filter gradient's kernels for many small groups."""

    def __init__(
        self, builder: LoweringBuilder, windows: Windows, x: Buffer, g: Buffer, value: Value
    ):
        super().__init__(builder, windows, x, value, dtype=value.dtype)
        self.g = g
        most = max(1, min(2 * TASKS, SUMS // max(value.size * value.dtype.size, 1)))
        self.chunks = chunks_of(windows.batch, self.blocks, most)
        images, blocks = self.chunks
        self.chunk, self.part = Axis("u", images), Axis("v", blocks)
        self.number = Axis("n", windows.batch // images)
        self.step = Axis("b", self.blocks // blocks)
        self.image = Index.of(self.chunk) * self.number.extent + self.number
        self.block = Index.of(self.part) * self.step.extent + self.step
        self.own_sums = (Index.of(self.chunk) * blocks + self.part) * value.size
        shape = (math.prod(self.chunks), *value.dims)
        self.sums: Buffer = builder.new("sums", value.dtype, shape, "temporary")

    def kernels(self, name: str) -> list[Kernel]:
        """Build the kernel of partial sums, and the one that adds those of all chunks."""
        value, windows = self.value, self.windows
        body: list[Any] = self.copying()
        for first, count, width in blocks_of(windows.groups, registers().lanes(value.dtype.size)):
            block = Axis("c", count)
            group = Index.of(block) * width + first
            own: list[Any] = []
            for channel in range(windows.depth):
                for result in range(windows.width):
                    own += self._taps(group, width, channel, result)
            body += wrap_in_loops([block], own, "serial")
        body = wrap_in_loops([self.number, self.step], body, "serial")
        body = zeros(self.sums, self.own_sums, value.size) + body
        names = (value.maker.prim.name,)  # type: ignore[union-attr]
        summing = Kernel(name, wrap_in_loops([self.chunk, self.part], body, "parallel"), names)
        return [summing, total_of(self.builder, value, self.sums, f"{name}total")]

    def _taps(self, group: Index, width: int, channel: int, result: int) -> list:
        """Tile the taps: by whole rows, if they are few."""
        sizes = [line.taps for line in self.windows.lines]
        together = 1
        merged = 0
        while merged < len(sizes) and together * sizes[-1 - merged] <= TAPS:
            merged += 1
            together *= sizes[-merged]
        if not merged:
            merged, together = 1, sizes[-1]
        outer = [Axis(f"k{k}", size) for k, size in enumerate(sizes[: len(sizes) - merged])]
        loops: list[Any] = []
        start = 0
        for count in shares(together, TAPS):
            loops += self._tile(outer, sizes, start, count, group, width, channel, result)
            start += count
        return wrap_in_loops(outer, loops, "serial")

    def _tile(
        self,
        outer: list,
        sizes: list,
        first: int,
        count: int,
        group: Index,
        width: int,
        channel: int,
        result: int,
    ) -> list:
        """Emit the sums of `count` taps of a block of channels over a block's positions."""
        value, windows = self.value, self.windows
        m, n = Axis("m", count), Axis("n", width)
        tile = Tile("w", value.dtype, (count, width))
        number = Index.of(m) + first
        taps: list[Index] = []
        for position, size in enumerate(reversed(sizes[len(outer) :])):
            last = position == len(sizes) - len(outer) - 1
            taps.insert(0, number if last else number % size)
            number = number // size
        taps = [*map(Index.of, outer), *taps]
        rows = [Axis(f"d{k}", line.outs) for k, line in enumerate(windows.lines)]
        rows[0] = Axis("d0", self.rows)
        at = list(map(Index.of, rows))
        offset = self.place(at[:-1], at[-1], tuple(taps)) + (group + n) * windows.depth + channel
        x = load(self.read, offset)
        outs = tuple([line.outs for line in windows.lines])
        there = flat((self.image, at[0] + self.block * self.rows, *at[1:]), (0, *outs))
        filters = (group + n) * windows.width + result
        product = x * s.cast(load(self.g, there * value.dims[-1] + filters), value.dtype)
        body: list = [For(m, [For(n, [Update(tile, (m, n), product, "add")], "vector")], "unroll")]
        body = wrap_in_loops(rows, body, "serial")
        offset = flat((*taps, Index(channel)), (*sizes, windows.depth)) * value.dims[-1] + filters
        store = Store(self.sums, self.own_sums + offset, tile.at(m, n), "add")
        return [tile, *body, For(m, [For(n, [store], "vector")], "unroll")]
