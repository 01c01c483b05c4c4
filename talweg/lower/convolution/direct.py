"""Direct convolution: an implicit matrix product with a tile of results in registers.

A tile holds some neighbouring results of a row, for a panel of two vectors of filters: 6 x 16
float32 numbers in 12 registers.  For every product it takes 2 loads of the panel and 6 of x, each
of which is the same number in all lanes; what a window reads in one row of x is contiguous.  So
nothing is copied but the filters, once, and images that need zeros round them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.lower.convolution.filter_panels import FilterPanels, widths
from talweg.lower.convolution.geometry import Windows, shares
from talweg.lower.convolution.padding import TASKS, PaddedInput, rows_of_block
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.fusion.tile_results import all_shared, tile_results
from talweg.lower.handler import s
from talweg.lower.ir.index import ZERO, Axis, Index, flat
from talweg.lower.ir.loops import Buffer, Expr, For, Kernel, Tile, Update, When, load, within
from talweg.lower.ir.registers import registers
from talweg.passes.specialize.program import Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder

LARGE = 256 << 10  # bytes of filters that do not stay in the second cache beside other things
UNROLLED = 16  # products of a result up to which there are no loops for them
RUN = 4  # products next to each other that are too few for a loop, or for a tile of filters


class DirectConvolution(PaddedInput):
    """The builder of the kernels of one `Windows`."""

    def __init__(self, builder: LoweringBuilder, windows: Windows, source: Buffer, value: Value):
        parts = _parts(windows, value.dtype.size)
        super().__init__(builder, windows, source, value, parts, dtype=value.dtype)
        lanes = registers().lanes(value.dtype.size)
        tallest = [self._tallest(width) for _, _, width in widths(windows.width, lanes)]
        columns, heights = windows.lines[-1].outs, self._heights()
        together = [self._together(columns, heights, most) for most in tallest]
        long = windows.reduced > UNROLLED
        self.skips = long and max(together) == 1  # taps that are in rows of zeros

    def kernels(self, panels: list[FilterPanels], name: str) -> list[Kernel]:
        """Build the kernels, which read filters from panels."""
        names = (self.value.maker.prim.name,)  # type: ignore[union-attr]
        group = Axis("g", self.windows.groups)
        if not self.whole:
            body = self._of_block(panels)
            return [Kernel(name, wrap_in_loops([self.image, self.block], body, "parallel"), names)]
        loops: list[Any] = []
        for one in panels:
            panel = Axis("p", one.count)
            inner = self._panel(one, Index.of(group), Index.of(panel))
            loops += wrap_in_loops([group, panel, self.image, self.block], inner, "parallel")
        kernels = [Kernel(name, all_shared(loops), names)]
        if self.copy is not None:
            copying = wrap_in_loops([self.image], self.copying(), "parallel")
            kernels.insert(0, Kernel(f"{name}padded", copying, names))
        return kernels

    def of_image(self, panels: list[FilterPanels], image: Axis) -> list:
        """Emit all results of an image, for a loop over `image` that others share."""
        self.image = image
        return wrap_in_loops([self.block], self._of_block(panels), "serial")

    def _of_block(self, panels: list[FilterPanels]) -> list:
        group = Axis("g", self.windows.groups)
        body = self.copying()
        for one in panels:
            panel = Axis("p", one.count)
            inner = self._panel(one, Index.of(group), Index.of(panel))
            body += wrap_in_loops([group, panel], inner, "serial")
        return body

    # -- rows

    def _panel(self, panels: FilterPanels, group: Index, panel: Index) -> list:
        """Emit all results of the block for one panel."""
        lines = self.windows.lines
        tallest = self._tallest(panels.width)
        middle = [Axis(f"d{k}", line.outs) for k, line in enumerate(lines[:-1])]
        middle[0] = Axis("d0", self.rows)
        heights = middle[-1].extent
        together = self._together(lines[-1].outs, heights, tallest)
        outer = middle[:-1]
        loops: list[Any] = []
        for first, count, rows in _runs(heights, together):
            part = Axis("r", count)
            at = [*map(Index.of, outer), Index.of(part) * rows + first]
            body = self._row(panels, group, panel, at, rows, tallest)
            loops += wrap_in_loops([part], body, "serial")
        return wrap_in_loops(outer, loops, "serial")

    def _tallest(self, width: int) -> int:
        """Return the height of the tallest tile for a panel of that width."""
        most = registers().rows(width // registers().lanes(self.value.dtype.size))
        if 0 < self.windows.reduced <= UNROLLED:
            return most * 2 // 3  # leave registers for what neighbours share
        return most

    def _heights(self) -> int:
        """Return the heights of the tiles of a block."""
        lines = self.windows.lines
        return self.rows if len(lines) == 2 else lines[-2].outs

    def _together(self, columns: int, rows: int, tallest: int) -> int:
        """Return the number of rows that form one line, so that tiles are tall."""
        best, most = 1, 0.0
        for count in range(1, min(rows, 2 * tallest // columns + 1) + 1):
            heights = shares(count * columns, tallest)
            slots = sum([max(height, -(-2 * tallest // 3)) for height in heights])
            fill = count * columns / slots
            if fill > most + 0.02:
                best, most = count, fill
        return best

    def _row(
        self, panels: FilterPanels, group: Index, panel: Index, at: list, rows: int, tallest: int
    ) -> list:
        """Emit the tiles of some rows."""
        columns = self.windows.lines[-1].outs
        heights = shares(rows * columns, tallest)
        loops: list[Any] = []
        start = 0
        if rows > 1:
            for height in heights:
                loops += self._tile(panels, group, panel, at, Index(start), height)
                start += height
            return loops
        all_inside, some = self._inside(at) if self.skips else (None, True)
        if all_inside is None:
            return self._tiles(panels, group, panel, at, heights, False)
        guarded = self._tiles(panels, group, panel, at, heights, True)
        if not some:
            return guarded
        return [When(all_inside, self._tiles(panels, group, panel, at, heights, False), guarded)]

    def _tiles(
        self,
        panels: FilterPanels,
        group: Index,
        panel: Index,
        at: list,
        heights: list,
        guarded: bool,
    ) -> list:
        """Emit the tiles of a row, in a loop for each height."""
        tiles: list[Any] = []
        start = 0
        for height in dict.fromkeys(heights):
            count = heights.count(height)
            part = Axis("t", count)
            first = Index.of(part) * height + start
            body = self._tile(panels, group, panel, at, first, height, guarded)
            tiles += wrap_in_loops([part], body, "serial")
            start += count * height
        return tiles

    def _inside(self, at: list) -> tuple[Expr | None, bool]:
        """Return whether all taps are in rows of x (None if certain), and if that is possible."""
        conditions, some = [], True
        for line, row in zip(self.windows.lines[:-1], self._first_rows(at)):
            last = line.size - (line.taps - 1) * line.step
            conditions.append(within(row, 0, last))
            some = some and last > 0
        return s.all(*conditions), some

    def _first_rows(self, at: list) -> list:
        """Return the rows of x that the first taps read."""
        own = [at[0] + Index.of(self.block) * self.rows, *at[1:]]
        return [row * line.scale + line.origin for row, line in zip(own, self.windows.lines)]

    # -- tiles

    def _tile(
        self,
        panels: FilterPanels,
        group: Index,
        panel: Index,
        at: list,
        first: Index,
        height: int,
        guarded: bool = False,
    ) -> list:
        """Emit a tile: `height` results from column `first` of row `at` on.

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
        k = others * run + channel
        if windows.interleaved:
            k = Index.of(channel) * (windows.reduced // run) + others
        offset = self.place(*self._split(at, first + m), tuple(numbers))
        offset = offset + group * windows.depth + channel
        panel_start = (group * panels.count + panel) * (windows.reduced * width)
        product = load(self.read, offset) * load(panels.buffer, panel_start + k * width + n)
        body: list = [For(m, [For(n, [Update(tile, (m, n), product, "add")], "vector")], "unroll")]
        if windows.interleaved and not guarded:
            body = wrap_in_loops(taps[:apart], body, "unroll")
            body = wrap_in_loops(
                [channel], body, "unroll" if windows.reduced <= UNROLLED else "serial"
            )
        else:
            body = wrap_in_loops([channel], body, "unroll" if run <= RUN else "serial")
            rows = self._first_rows(at) if guarded else []
            for number in reversed(range(apart)):
                line = windows.lines[number]
                if number < len(rows):
                    row = rows[number] + Index.of(taps[number]) * line.step
                    inside = within(row, 0, line.size)
                    body = body if inside is None else [When(inside, body)]
                body = wrap_in_loops([taps[number]], body, "serial")
        return [tile, *body, *self._results(panels, group, panel, at, first, tile)]

    def _split(self, at: list, column: Index) -> tuple[list, Index]:
        """Return rows and column of a position that may be in a row after `at`."""
        outs = self.windows.lines[-1].outs
        row = column // outs
        return [*at[:-1], at[-1] + row], column % outs

    def _results(
        self, panels: FilterPanels, group: Index, panel: Index, at: list, first: Index, tile: Tile
    ) -> list:
        """Emit the epilogue of a tile: the statements that store its numbers."""
        before = group * self.windows.width + panel * panels.width + panels.first

        def results(m: Axis, n: Axis, found: Expr) -> list:
            index = self.result_index(*self._split(at, first + m), before + n)
            return self.builder.results(self.value, index, found)

        return tile_results(self.builder, tile, panels.used, results)


def _runs(rows: int, together: int) -> list[tuple[int, int, int]]:
    """Partition all rows into runs: (first row, count, rows each)."""
    count, rest = divmod(rows, together)
    found = [(0, count, together)] if count else []
    if rest:
        found.append((count * together, 1, rest))
    return found


def _parts(windows: Windows, size: int) -> int:
    """Return the number of tasks of a block of rows: its panels, or one.

    Panels, if there are few blocks, or if filters do not stay in the second cache from block to
    block: then each panel is used for all blocks, one after the other.
    """
    filters = windows.groups * windows.width * windows.reduced * size
    blocks = windows.lines[0].outs // rows_of_block(windows, size)
    if filters <= LARGE and windows.batch * blocks >= TASKS:
        return 1
    panels = sum([count for _, count, _ in widths(windows.width, registers().lanes(size))])
    return windows.groups * panels
