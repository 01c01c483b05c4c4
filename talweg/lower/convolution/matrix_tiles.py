"""Convolutions of bfloat16 by the processor's matrix registers (AMX), with float32 sums.

What the windows of some results read is gathered, a row for each result (Chellapilla et al. 2006,
"High performance convolutional neural networks for document processing"), in a buffer that stays in
the second cache; from there it goes through the registers with panels of filters, as the blocks of
a product do (`lower/matmul/matrix_tiles.py`).  Nothing else is stored but the copy with zeros round
the rows of an image, and that as bfloat16.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import bfloat16, float16, float32
from talweg.lower.convolution.geometry import Windows
from talweg.lower.convolution.matrix_tiles_selection import whole
from talweg.lower.convolution.padding import PaddedInput, zeros
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.fusion.tile_results import all_shared
from talweg.lower.ir.index import ZERO, Axis, Index, flat
from talweg.lower.ir.loops import Buffer, Call, For, Kernel, Pointer, Store, load
from talweg.lower.ir.registers import SIDE
from talweg.lower.matmul.matrix_tiles import GROUP_BYTES, SpanRun, spans
from talweg.passes.specialize.program import Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder

GATHERED_BYTES = 1 << 19  # of what windows read, at a time
MOST = 4  # blocks at a time


class TileConvolution(PaddedInput):
    """The builder of the kernels of one `Windows`."""

    def __init__(
        self,
        builder: LoweringBuilder,
        windows: Windows,
        source: Buffer,
        value: Value,
        row: int,
        room: int | None = None,
    ):
        self.terms = 2 if source.dtype is float16 else 1  # that a number is split into
        self.prefix = "tile_split" if self.terms == 2 else "tile"
        self.row = row  # numbers of the filters that make up a result, and zeros
        self.panels = -(-windows.width // SIDE)
        self.group = max(1, min(self.panels, GROUP_BYTES // (2 * self.terms * SIDE * row)))
        self.columns = spans(windows.width, SIDE * self.group)
        parts = sum([run.count for run in self.columns])
        super().__init__(builder, windows, source, value, parts, dtype=bfloat16, room=room)
        shape = (windows.groups, self.panels, self.terms * row * SIDE)
        self.filters: Buffer = builder.new("panels", bfloat16, shape, "temporary")
        self.layer = Axis("l", windows.groups)  # the group of channels

    def cut(self, places: int, most: int) -> None:
        """Cut the results of a block into those of at most `most` blocks of the registers."""
        blocks = min(most, -(-places // SIDE))
        self.runs = spans(places, SIDE * blocks)
        shape = (blocks * SIDE, self.group * SIDE)
        self.sums: Buffer = self.builder.new("sums", float32, shape, "scratch")

    def kernels(self, weight: Callable, filters: Value, turned: bool, name: str) -> list:
        """Build the kernels; `weight` is the filter's element, as for `filter_panels.panels_of`.

        turned: a matrix of the filters, of one tap, lies in memory as its transpose.
        """
        names = (self.value.maker.prim.name,)  # type: ignore[union-attr]
        kernels = self.packing(weight, filters, turned, name)
        loops: list[Any] = []
        for columns in self.columns:
            group = Axis("g", columns.count)
            inner = self.results(columns, Index.of(group))
            if self.whole:
                axes = [self.layer, group, self.image, self.block]
                loops += wrap_in_loops(axes, inner, "parallel")
            else:
                loops += wrap_in_loops([self.layer, group], inner, "serial")
        if not self.whole:
            body = [*self.copying(), *loops]
            return [
                *kernels,
                Kernel(name, wrap_in_loops([self.image, self.block], body, "parallel"), names),
            ]
        if self.copy is not None:
            copying = wrap_in_loops([self.image], self.copying(), "parallel")
            kernels.append(Kernel(f"{name}padded", copying, names))
        return [*kernels, Kernel(name, all_shared(loops), names)]

    # -- filters

    def packing(self, weight: Callable, filters: Value, turned: bool, name: str) -> list:
        """Build the kernels that pack the filters in the order of the registers."""
        raise NotImplementedError

    def pack(self, name: str, emit: Callable[[SpanRun, Index], list]) -> Kernel:
        """Build the kernel of the loops over panels; `emit(span, number)`: the packing of one."""
        loops: list[Any] = []
        for run in spans(self.windows.width, SIDE):
            panel = Axis("p", run.count)
            number = Index.of(panel) + run.first // SIDE
            loops += wrap_in_loops([panel], emit(run, number), "parallel")
        return Kernel(f"{name}panels", all_shared(loops), ("convolution",))

    def pack_taps(self, filters: Value, turned: bool, name: str, room: int, parts: int) -> Kernel:
        """Build the kernel that packs the filters tap by tap, `room` numbers of each.

        parts: into how many the taps are cut; panels of one part are neighbours.
        """
        windows, rank = self.windows, len(filters.dims) - 2
        taps = [Axis(f"t{k}", line.taps) for k, line in enumerate(windows.lines)]
        numbers, count = tuple(map(Index.of, taps)), math.prod([axis.extent for axis in taps])
        pairs = zip(numbers[-rank:], windows.lines[-rank:])
        own = tuple([i * line.tap_stride + line.tap_first for i, line in pairs])
        step = filters.dims[-1]
        matrix = flat(own, filters.dims[:-2]) * (filters.dims[-2] * step)
        matrix = matrix + Index.of(self.layer) * (step // windows.groups)
        tap = flat(numbers, tuple([axis.extent for axis in taps]))
        inner = count // parts
        source = self.builder.buffer_of(filters)

        def emit(run: SpanRun, number: Index) -> list:
            part = Index.of(self.layer) * parts + tap // inner
            target = (part * self.panels + number) * inner + tap % inner
            arguments = [
                *map(Index, (int(turned), windows.depth, run.size)),
                Pointer(source, matrix + number * (SIDE * (step if turned else 1))),
                Index(step),
                Pointer(self.filters, target * (self.terms * room * SIDE)),
            ]
            call = Call(f"{self.prefix}_columns", arguments, (source,), (self.filters,))
            return wrap_in_loops([self.layer, *taps], [call], "parallel")

        return self.pack(name, emit)

    # -- blocks

    def results(self, columns: SpanRun, group: Index) -> list:
        """Emit all results of the block, for one group of panels."""
        raise NotImplementedError

    def panel(self, columns: SpanRun, group: Index) -> Index:
        """Return the number of a group's first panel."""
        return group * columns.pieces + columns.first // SIDE

    def stores(self, columns: SpanRun, group: Index, m: Axis, rows: list, column: Index) -> For:
        """Emit the stores of a result's channels, and what is computed from them."""
        n = Axis("n", columns.size)
        number = load(self.sums, Index.of(m) * (columns.pieces * SIDE) + n)
        channel = Index.of(self.layer) * self.windows.width + group * columns.size
        channel = channel + columns.first + n
        index = self.result_index(rows, column, channel)
        return For(n, self.builder.results(self.value, index, number), "vector")


class GatheredConvolution(TileConvolution):
    """The builder for windows whose elements are gathered (im2col), a row for each result."""

    def __init__(self, builder: LoweringBuilder, windows: Windows, source: Buffer, value: Value):
        super().__init__(builder, windows, source, value, whole(windows.reduced))
        places = self.rows * math.prod([line.outs for line in windows.lines[1:]])
        self.cut(places, max(1, min(MOST, GATHERED_BYTES // (2 * SIDE * self.row))))
        shape = (self.sums.shape[0], self.row)
        self.gathered: Buffer = builder.new("gathered", bfloat16, shape, "scratch")

    def packing(self, weight: Callable, filters: Value, turned: bool, name: str) -> list:
        """Build the kernels that pack the filters in the order of the registers."""
        windows, depth = self.windows, self.windows.depth
        if depth == whole(depth):
            return [self.pack_taps(filters, turned, name, depth, 1)]
        kernels: list[Any] = []
        matrix = self.builder.buffer_of(filters)
        if turned:
            shape = (windows.reduced, windows.width)
            matrix = self.builder.new("filters", bfloat16, shape, "temporary")
            body = self._matrix(matrix, weight, len(filters.dims) - 2)
            kernels.append(Kernel(f"{name}filters", body, ("copy",)))

        def emit(run: SpanRun, number: Index) -> list:
            arguments = [
                *map(Index, (0, windows.reduced, run.size)),
                Pointer(matrix, number * SIDE),
                Index(windows.width),
                Pointer(self.filters, number * (self.row * SIDE)),
            ]
            return [Call("tile_columns", arguments, (matrix,), (self.filters,))]

        return [*kernels, self.pack(name, emit)]

    def _matrix(self, target: Buffer, weight: Callable, rank: int) -> list:
        """Return the filters as a matrix: a row for each tap and channel."""
        windows = self.windows
        taps = [Axis(f"t{k}", line.taps) for k, line in enumerate(windows.lines)]
        channel, result = Axis("c", windows.depth), Axis("n", windows.width)
        numbers = tuple(map(Index.of, taps))
        pairs = zip(numbers[-rank:], windows.lines[-rank:])
        own = tuple([i * line.tap_stride + line.tap_first for i, line in pairs])
        value = weight(own, Index.of(channel), ZERO, Index.of(result), None)
        sizes = tuple([line.taps for line in windows.lines])
        row = flat(numbers, sizes) * windows.depth + channel
        store = Store(target, row * windows.width + result, value)
        return wrap_in_loops(
            [*taps, channel], wrap_in_loops([result], [store], "vector"), "parallel"
        )

    def results(self, columns: SpanRun, group: Index) -> list:
        """Emit all results of the block, for one group of panels."""
        made: list[Any] = []
        for run in self.runs:
            part = Axis("r", run.count)
            first = Index.of(part) * run.size + run.first
            made += wrap_in_loops([part], self._results(run, first, columns, group), "serial")
        return made

    def _gathering(self, size: int, first: Index) -> list:
        """Emit the gather of `size` results' windows from number `first` on."""
        windows, m = self.windows, Axis("m", size)
        run, apart = windows.run
        taps = [Axis(f"k{k}", line.taps) for k, line in enumerate(windows.lines[:apart])]
        numbers = (*map(Index.of, taps), *[ZERO] * (len(windows.lines) - apart))
        lane = Axis("j", run)
        row = Index.of(m) * self.row
        k = flat(numbers[:apart], tuple([axis.extent for axis in taps])) * run + lane
        value = load(self.read, self.place(*self._split(first + m), numbers) + lane)
        body = wrap_in_loops([lane], [Store(self.gathered, row + k, value)], "vector")
        body = wrap_in_loops(taps, body, "serial")
        rest = self.row - windows.reduced
        return wrap_in_loops(
            [m], body + zeros(self.gathered, row + windows.reduced, rest), "serial"
        )

    def _split(self, number: Index) -> tuple[list, Index]:
        """Return rows and column of a result of the block."""
        outs = [line.outs for line in self.windows.lines]
        column, number = number % outs[-1], number // outs[-1]
        rows: list[Index] = []
        for size in reversed(outs[1:-1]):
            rows.insert(0, number % size)
            number = number // size
        return [number, *rows], column

    def _results(self, run: SpanRun, first: Index, columns: SpanRun, group: Index) -> list:
        """Emit some results: gathered, multiplied, and their epilogue."""
        arguments = [
            *map(Index, (1, self.row // SIDE, run.pieces, columns.pieces, 0)),
            Pointer(self.gathered),
            *map(Index, (self.row, 0)),
            Pointer(self.filters, self.panel(columns, group) * (self.row * SIDE)),
            Pointer(self.sums),
        ]
        call = Call("tile_product", arguments, (self.gathered, self.filters), (self.sums,))
        m = Axis("m", run.size)
        stores = self.stores(columns, group, m, *self._split(first + m))
        return [*self._gathering(run.size, first), call, For(m, [stores])]
