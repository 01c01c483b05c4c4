"""Filter gradients by matrix registers, in which a row of an image is turned once for all taps.

w̄[tap] = Σ x[row + tap]^T g[row] over rows of results: what the windows of a row read is the same
for each tap of that row of the filter, and for the next row of results a row further on.  So every
row of the image is turned once, numbers of neighbouring results next to each other, and a product
takes the rows of a block one after the other.  Where rows are short, those of several images are
put together; where there are many channels, some are taken at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.core.dtypes import bfloat16, float16, float32
from talweg.lower.convolution.filter_gradients import chunks_of, total_of
from talweg.lower.convolution.geometry import Windows
from talweg.lower.convolution.matrix_tiles_filters import chunks_at_most
from talweg.lower.convolution.matrix_tiles_selection import RowBlock, whole
from talweg.lower.convolution.padding import PaddedInput
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.ir.index import ZERO, Axis, Index, flat
from talweg.lower.ir.loops import Buffer, Call, Kernel, Pointer, Store, load
from talweg.lower.ir.registers import SIDE
from talweg.passes.specialize.program import Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


class RowFilterGradient(PaddedInput):
    """The builder of the kernels."""

    def __init__(
        self,
        builder: LoweringBuilder,
        windows: Windows,
        x: Buffer,
        g: Buffer,
        value: Value,
        block: RowBlock,
    ):
        self.parts = windows.channels // block.channels
        self.group = windows.depth // block.channels  # parts of a group of channels
        super().__init__(builder, windows, x, value, self.parts, rows=block.rows)
        self.g, self.cut = g, block
        terms = 2 if x.dtype is float16 else 1  # that a number is split into
        self.prefix = "tile_split" if terms == 2 else "tile"
        self.steps = block.places(windows) // SIDE
        self.k, self.numbers = terms * block.places(windows), block.numbers(windows)
        self.right_panels = whole(windows.width) // SIDE
        self.tap = self.numbers * whole(windows.width)  # sums of a row of taps
        self.size = self.parts * windows.lines[0].taps * self.tap
        most = chunks_at_most(builder.threads, self.parts, self.size)
        self.chunks = chunks_of(windows.batch // block.images, 1, most)[0]
        new = builder.new
        covered = windows.lines[0].cover(block.rows)
        shape = (covered, self.numbers, self.k)
        self.left: Buffer = new("rows", bfloat16, shape, "scratch")
        shape = (self.right_panels, block.rows, self.k, SIDE)
        self.right: Buffer = new("columns", bfloat16, shape, "scratch")
        self.sums: Buffer = new("sums", float32, (self.chunks, self.size), "temporary")
        places = block.images * windows.lines[-1].outs
        if block.gathers(windows):
            shape = (covered, places, windows.lines[-1].taps * block.channels)
            self.gathered: Buffer = new("gathered", x.dtype, shape, "scratch")
        if block.images > 1:
            shape = (block.rows, places, windows.width)
            self.outer: Buffer = new("gradients", x.dtype, shape, "scratch")

    def kernels(self, name: str) -> list[Kernel]:
        """Build the kernels of partial sums, and the one that adds those of all chunks."""
        names = (self.value.maker.prim.name,)  # type: ignore[union-attr]
        images, kernels = self.cut.images, []
        if self.whole and self.copy is not None:
            copying = wrap_in_loops([self.image], self.copying(), "parallel")
            kernels.append(Kernel(f"{name}padded", copying, names))
        chunk, part = Axis("u", self.chunks), Axis("c", self.parts)
        group = Axis("n", self.windows.batch // images // self.chunks)
        step, inside = Axis("b", self.blocks), Axis("i", images)
        first = (Index.of(chunk) * group.extent + group) * images
        self.image, self.block = first + inside if images > 1 else first, Index.of(step)
        body = [] if self.whole else self.copying()
        body += [*self._gathering(inside, part), *self._gathering_gradients(inside, part)]
        body = wrap_in_loops([inside], body, "serial")
        body += [*self._turning(part), *self._packing(part)]
        target = (Index.of(chunk) * self.parts + part) * (self.size // self.parts)
        body += self._products(target, Index.of(group) * self.blocks + step)
        loops = wrap_in_loops([group, step], body, "serial")
        kernels.append(Kernel(name, wrap_in_loops([chunk, part], loops, "parallel"), names))
        return [*kernels, self._total(name)]

    def _gathering(self, inside: Axis, part: Axis) -> list:
        """Emit the copy of one image's rows next to those of others."""
        windows, cut = self.windows, self.cut
        if not cut.gathers(windows):
            return []
        line = windows.lines[-1]
        row, m = Axis("h", self.left.shape[0]), Axis("m", line.outs)
        tap, lane = Axis("k", line.taps), Axis("j", cut.channels)
        channel = Index.of(lane) + Index.of(part) * cut.channels
        if line.step == 1 and cut.channels == windows.channels:  # taps are neighbours
            tap, lane = Axis("k", 1), Axis("j", line.taps * cut.channels)
            channel = Index.of(lane)
        source = self._read_row(Index.of(row), Index.of(m), Index.of(tap)) + channel
        result = Index.of(inside) * line.outs + m
        sizes = (0, cut.images * line.outs, tap.extent)
        number = flat((Index.of(row), result, Index.of(tap)), sizes) * lane.extent + lane
        store = Store(self.gathered, number, load(self.read, source))
        body = wrap_in_loops([lane], [store], "vector")
        return wrap_in_loops([row, m, tap], body, "serial")

    def _gathering_gradients(self, inside: Axis, part: Axis) -> list:
        """Emit the copy of one image's rows of g next to those of others, if there are several."""
        if self.cut.images == 1:
            return []
        windows, row = self.windows, Axis("h", self.cut.rows)
        m, lane = Axis("m", windows.lines[-1].outs), Axis("j", windows.width)
        if windows.groups == 1:
            m, lane = Axis("m", 1), Axis("j", windows.lines[-1].outs * windows.width)
        start = ((Index.of(row) * self.cut.images + inside) * m.extent + m) * lane.extent
        source = self._start(self.image, Index.of(row), part)
        value = load(self.g, source + Index.of(m) * (windows.groups * windows.width) + lane)
        body = wrap_in_loops([lane], [Store(self.outer, start + lane, value)], "vector")
        return wrap_in_loops([row, m], body, "serial")

    def _read_row(self, row: Index, column: Index, tap: Index) -> Index:
        """Return where a window of a row of the image is; rows count from the block's first."""
        size = self.windows.lines[-1].size if self.copy is None else self.copy.shape[2]
        return self.place([ZERO], column, (ZERO, tap)) + row * (size * self.windows.channels)

    def _start(self, image: Index, row: Index, part: Axis) -> Index:
        """Return where a row of g is, for the group of a part of the channels."""
        lines, width = self.windows.lines, self.windows.width
        number = image * lines[0].outs + Index.of(self.block) * self.rows + row
        start = number * (lines[1].outs * self.windows.groups * width)
        return start + Index.of(part) // self.group * width

    def _turning(self, part: Axis) -> list:
        """Emit the calls that turn rows of the image."""
        windows, row = self.windows, Axis("h", self.left.shape[0])
        line = windows.lines[-1]
        count, places = line.taps * self.cut.channels, self.cut.images * line.outs
        if self.cut.gathers(windows):
            source, step = self.gathered, count
            start = Index.of(row) * (places * count)
        else:
            source, step = self.read, line.scale * windows.channels
            start = self._read_row(Index.of(row), ZERO, ZERO)
        tap, own = Axis("k", 1), count
        if self.cut.apart(windows):
            tap, own = Axis("k", line.taps), self.cut.channels
            start = self._read_row(Index.of(row), ZERO, Index.of(tap))
        target = Index.of(row) * self.numbers + Index.of(tap) * self.cut.tap(windows)
        arguments = [
            *map(Index, (1, own, places)),
            Pointer(source, start),
            Index(step),
            Pointer(self.left, target * self.k),
        ]
        call = Call(f"{self.prefix}_rows", arguments, (source,), (self.left,))
        return wrap_in_loops([row, tap], [call], "serial")

    def _packing(self, part: Axis) -> list:
        """Emit the calls that put rows of g into the order of the registers."""
        width, row, calls = self.windows.width, Axis("h", self.cut.rows), []
        places = self.cut.images * self.windows.lines[-1].outs
        for first in range(0, width, SIDE):
            if self.cut.images > 1:
                source, start, step = self.outer, Index.of(row) * (places * width), width
            else:
                source, step = self.g, width * self.windows.groups
                start = self._start(self.image, Index.of(row), part)
            arguments = [
                *map(Index, (0, places, min(SIDE, width - first))),
                Pointer(source, start + first),
                Index(step),
                Pointer(
                    self.right, (Index.of(row) + first // SIDE * self.cut.rows) * (self.k * SIDE)
                ),
            ]
            call = Call(f"{self.prefix}_columns", arguments, (source,), (self.right,))
            calls += wrap_in_loops([row], [call], "serial")
        return calls

    def _products(self, target: Index, step: Index) -> list:
        """Emit one block's part of the sums from `target` on; the first sets them."""
        line = self.windows.lines[0]
        tap, row = Axis("k", line.taps), self.numbers * self.k
        arguments = [
            *map(Index, (self.rows, self.steps, self.numbers // SIDE, self.right_panels)),
            step,
            Pointer(self.left, Index.of(tap) * (line.step * row)),
            *map(Index, (self.k, line.scale * row)),
            Pointer(self.right),
            Pointer(self.sums, target + Index.of(tap) * self.tap),
        ]
        call = Call(f"{self.prefix}_product", arguments, (self.left, self.right), (self.sums,))
        return wrap_in_loops([tap], [call], "serial")

    def _total(self, name: str) -> Kernel:
        """Build the kernel that adds the sums of all chunks, at their positions of w̄."""
        channels, taps = self.cut.channels, [line.taps for line in self.windows.lines]

        def place(index: tuple) -> Index:
            rows = index[:-2] if len(index) == 4 else (ZERO, *index[:-2])
            part, channel = index[-2] // channels, index[-2] % channels
            result = index[-1]
            if self.windows.groups > 1:
                part = part + result // self.windows.width * self.group
                result = result % self.windows.width
            row = (
                (part * taps[0] + rows[0]) * self.numbers
                + rows[1] * self.cut.tap(self.windows)
                + channel
            )
            return row * whole(self.windows.width) + result

        return total_of(self.builder, self.value, self.sums, f"{name}total", place, self.size)
