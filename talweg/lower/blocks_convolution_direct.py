"""Convolutions as products of matrices that are never made: a tile of results in registers.

A tile holds some neighbouring results of a row, for a panel of two vectors of filters: 6 x 16
float32 numbers in 12 registers.  For every product it takes 2 loads of the panel and 6 of x, each
of which is the same number in all lanes; what a window reads in one row of x is contiguous.  So
nothing is copied but the filters, once, and images that need zeros round them.
"""

from __future__ import annotations

import math
from typing import Any

from talweg.lower.blocks_convolution_copies import VECTOR_BYTES, Panels, padded_copy, widths
from talweg.lower.blocks_convolution_windows import Windows, divisors, shares
from talweg.lower.handler import s
from talweg.lower.index import ZERO, Axis, Index, flat
from talweg.lower.loops import Buffer, Expr, For, Kernel, Tile, Update, When, load, within
from talweg.lower.nests import wrapped
from talweg.passes.straight import Value

TASKS = 8  # into which work is cut if it can be, so that threads can share it
SCRATCH = 96 << 10  # bytes of an image's copy
TALLEST = {1: 12, 2: 6, 3: 4}  # results of a tile, by the vectors of a panel
UNROLLED = 16  # products of a result up to which there are no loops for them
UNROLLED_TAPS = 12  # taps up to which there is no loop for them
RUN = 4


class Place:
    """Where the windows of a block of rows are: in x, or in a copy with zeros round it."""

    def __init__(self, builder: Any, windows: Windows, source: Buffer, value: Value):
        self.builder, self.windows, self.source, self.value = builder, windows, source, value
        self.rows = self.rows_of_block()
        self.blocks = windows.lines[0].outs // self.rows
        self.block: Any = Axis("b", self.blocks)
        self.image: Any = Axis("n", windows.batch)
        self.copy: Buffer | None = None
        self.skips = False
        if windows.padded:
            spans = [windows.lines[0].covered(self.rows)]
            spans += [line.span for line in windows.lines[1:]]
            shape = (*spans, windows.channels)
            self.copy = builder.new("padded", value.dtype, shape, "scratch")

    def rows_of_block(self) -> int:
        """How many rows a task computes."""
        windows, outs = self.windows, self.windows.lines[0].outs
        first, *others = windows.lines
        row = math.prod([line.span for line in others]) * windows.channels * self.value.dtype.size
        best = 1
        for rows in divisors(outs):
            small = not windows.padded or first.covered(rows) * row <= SCRATCH
            if small and (windows.batch * (outs // rows) >= TASKS or rows <= 4):
                best = rows
        return best

    @property
    def read(self) -> Buffer:
        """What tiles read."""
        return self.source if self.copy is None else self.copy

    def copying(self) -> list:
        """Makes the copy, if there is one."""
        if self.copy is None:
            return []
        start = Index.of(self.image) * self._image_size()
        block = Index.of(self.block)
        channels = self.windows.channels
        return padded_copy(
            self.source, start, self.copy, self.windows, self.rows, block, channels, ZERO,
            zero_rows=not self.skips,
        )  # fmt: skip

    def _image_size(self) -> int:
        return math.prod([line.size for line in self.windows.lines]) * self.windows.channels

    def place(self, rows: list, column: Index, taps: tuple) -> Index:
        """Where a window has its first channel; rows[0] counts from the first of the block."""
        lines = self.windows.lines
        found = ZERO
        for line, number, tap in zip(lines, [*rows, column], taps):
            place = number * line.scale + tap * line.step
            if self.copy is None:
                if line is lines[0]:
                    place = place + Index.of(self.block) * (self.rows * line.scale)
                found = found * line.size + place + line.origin
            else:
                size = line.covered(self.rows) if line is lines[0] else line.span
                found = found * size + place
        found = found * self.windows.channels
        if self.copy is None:
            found = found + Index.of(self.image) * self._image_size()
        return found

    def result_index(self, rows: list, column: Index, channel: Index) -> tuple:
        """Where a result belongs; rows[0] counts from the first of the block."""
        own = [rows[0] + Index.of(self.block) * self.rows, *rows[1:], column]
        places = [i * line.stride + line.first for i, line in zip(own, self.windows.lines)]
        return (Index.of(self.image), *places[len(places) - len(self.value.dims) + 2 :], channel)


class Direct(Place):
    """Builds the kernel of one `Windows`."""

    def __init__(self, builder: Any, windows: Windows, source: Buffer, value: Value):
        super().__init__(builder, windows, source, value)
        lanes = VECTOR_BYTES // value.dtype.size
        tallest = [self._tallest(width) for _, _, width in widths(windows.width, lanes)]
        columns, heights = windows.lines[-1].outs, self._heights()
        together = [self._together(columns, heights, most) for most in tallest]
        long = windows.reduced > UNROLLED
        self.skips = long and max(together) == 1  # taps that are in rows of zeros

    def kernel(self, panels: list[Panels], name: str) -> Kernel:
        """The kernel, which reads filters from panels."""
        axes, loops = [self.image, self.block], []
        alone = self.windows.batch * self.blocks >= TASKS
        bodies = [panels] if alone else [[one] for one in panels]
        for some in bodies:
            body: list[Any] = self.copying()
            own = list(axes)
            group = Axis("g", self.windows.groups)
            inner: list[Any] = []
            for one in some:
                panel = Axis("p", one.count)
                part = self._panel(one, Index.of(group), Index.of(panel))
                if alone:
                    part = wrapped([panel], part, "serial")
                else:
                    own.append(panel)
                inner += part
            body += wrapped([group], inner, "serial")
            loops += wrapped(own, body, "parallel")
        return Kernel(name, loops, (self.value.maker.prim.name,))

    # -- rows

    def _panel(self, panels: Panels, group: Index, panel: Index) -> list:
        """All results of the block for one panel."""
        lines = self.windows.lines
        tallest = self._tallest(panels.width)
        middle = [Axis(f"d{k}", line.outs) for k, line in enumerate(lines[:-1])]
        middle[0] = Axis("d0", self.rows)
        heights = middle[-1].extent
        together = self._together(lines[-1].outs, heights, tallest)
        outer = middle[:-1]
        found: list[Any] = []
        for first, count, rows in _runs(heights, together):
            part = Axis("r", count)
            at = [*map(Index.of, outer), Index.of(part) * rows + first]
            body = self._row(panels, group, panel, at, rows, tallest)
            found += wrapped([part], body, "serial")
        return wrapped(outer, found, "serial")

    def _tallest(self, width: int) -> int:
        """How many results a tile for a panel of that width has at most."""
        most = TALLEST.get(width // (VECTOR_BYTES // self.value.dtype.size), 12)
        if 0 < self.windows.reduced <= UNROLLED:
            return most * 2 // 3  # leave registers for what neighbours share
        return most

    def _heights(self) -> int:
        """How many rows lie below each other in a block."""
        lines = self.windows.lines
        return self.rows if len(lines) == 2 else lines[-2].outs

    def _together(self, columns: int, rows: int, tallest: int) -> int:
        """How many rows are taken together so that tiles are tall."""
        best, most = 1, 0.0
        for count in range(1, min(rows, 2 * tallest // columns + 1) + 1):
            heights = shares(count * columns, tallest)
            slots = sum([max(height, -(-2 * tallest // 3)) for height in heights])
            fill = count * columns / slots
            if fill > most + 0.02:
                best, most = count, fill
        return best

    def _row(
        self, panels: Panels, group: Index, panel: Index, at: list, rows: int, tallest: int
    ) -> list:
        """The tiles of some rows."""
        columns = self.windows.lines[-1].outs
        heights = shares(rows * columns, tallest)
        found: list[Any] = []
        start = 0
        if rows > 1:
            for height in heights:
                found += self._tile(panels, group, panel, at, Index(start), height)
                start += height
            return found
        whole, some = self._inside(at) if self.skips else (None, True)
        if whole is None:
            return self._tiles(panels, group, panel, at, heights, False)
        guarded = self._tiles(panels, group, panel, at, heights, True)
        if not some:
            return guarded
        return [When(whole, self._tiles(panels, group, panel, at, heights, False), guarded)]

    def _tiles(
        self, panels: Panels, group: Index, panel: Index, at: list, heights: list, guarded: bool
    ) -> list:
        """The tiles of a row, in a loop for each height."""
        found: list[Any] = []
        start = 0
        for height in dict.fromkeys(heights):
            count = heights.count(height)
            part = Axis("t", count)
            first = Index.of(part) * height + start
            body = self._tile(panels, group, panel, at, first, height, guarded)
            found += wrapped([part], body, "serial")
            start += count * height
        return found

    def _inside(self, at: list) -> tuple[Expr | None, bool]:
        """Whether all taps are in rows of x (None if certain), and if that can be."""
        conditions, some = [], True
        for line, row in zip(self.windows.lines[:-1], self._first_rows(at)):
            last = line.size - (line.taps - 1) * line.step
            conditions.append(within(row, 0, last))
            some = some and last > 0
        return s.all(*conditions), some

    def _first_rows(self, at: list) -> list:
        """The rows of x that the first taps read."""
        own = [at[0] + Index.of(self.block) * self.rows, *at[1:]]
        return [row * line.scale + line.origin for row, line in zip(own, self.windows.lines)]

    # -- tiles

    def _tile(
        self, panels: Panels, group: Index, panel: Index, at: list, first: Index, height: int,
        guarded: bool = False,
    ) -> list:  # fmt: skip
        """A tile: `height` results from column `first` of row `at` on.

        guarded: taps in rows that are not in x are left out.
        """
        windows, width = self.windows, panels.width
        m, n = Axis("m", height), Axis("n", width)
        # x + -0.0 is x: where there are no loops the first product needs no sum
        short = 0 < windows.reduced <= UNROLLED
        tile = Tile("z", self.value.dtype, (height, width), -0.0 if short else 0)
        if not windows.reduced:
            return [tile, *self._results(panels, group, panel, at, first, tile)]
        taps = [Axis(f"k{k}", line.taps) for k, line in enumerate(windows.lines)]
        run, apart = windows.run
        channel = Axis("j", run)
        numbers = [*map(Index.of, taps[:apart]), *[ZERO] * (len(taps) - apart)]
        others = flat(tuple(numbers[:apart]), tuple([line.taps for line in windows.lines[:apart]]))
        k = Index.of(channel) * (windows.reduced // run) + others
        place = self.place(*self._split(at, first + m), tuple(numbers))
        place = place + group * windows.depth + channel
        own = (group * panels.count + panel) * (windows.reduced * width)
        product = load(self.read, place) * load(panels.buffer, own + k * width + n)
        body: list = [For(m, [For(n, [Update(tile, (m, n), product, "add")], "vector")], "unroll")]
        few = windows.reduced // run <= UNROLLED_TAPS
        if few and not guarded:
            body = wrapped(taps[:apart], body, "unroll")
            body = wrapped([channel], body, "unroll" if windows.reduced <= UNROLLED else "serial")
        else:
            body = wrapped([channel], body, "unroll" if run <= RUN else "serial")
            rows = self._first_rows(at) if guarded else []
            for number in reversed(range(apart)):
                line = windows.lines[number]
                if number < len(rows):
                    row = rows[number] + Index.of(taps[number]) * line.step
                    inside = within(row, 0, line.size)
                    body = body if inside is None else [When(inside, body)]
                body = wrapped([taps[number]], body, "serial")
        return [tile, *body, *self._results(panels, group, panel, at, first, tile)]

    def _split(self, at: list, column: Index) -> tuple[list, Index]:
        """Rows and column of a place that may be in a row after `at`."""
        outs = self.windows.lines[-1].outs
        row = column // outs
        return [*at[:-1], at[-1] + row], column % outs

    def _results(
        self, panels: Panels, group: Index, panel: Index, at: list, first: Index, tile: Tile
    ) -> list:
        """What is done with the numbers of a tile."""
        m, n = Axis("m", tile.dims[0]), Axis("n", panels.used)
        channel = group * self.windows.width + panel * panels.width + panels.first + n
        index = self.result_index(*self._split(at, first + m), channel)
        stores = self.builder.results(self.value, index, tile.at(m, n))
        return [For(m, [For(n, stores, "vector")], "unroll")]


def _runs(rows: int, together: int) -> list[tuple[int, int, int]]:
    """(first row, how many, rows each) that make up all rows."""
    count, rest = divmod(rows, together)
    found = [(0, count, together)] if count else []
    if rest:
        found.append((count * together, 1, rest))
    return found
