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

from talweg.core.dtypes import bfloat16, float32
from talweg.lower.convolution.geometry import Windows
from talweg.lower.convolution.padding import PaddedInput, zeros
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.fusion.tile_results import all_shared
from talweg.lower.ir.index import ZERO, Axis, Index, flat
from talweg.lower.ir.loops import Buffer, Call, For, Kernel, Pointer, Store, load
from talweg.lower.matmul.matrix_tiles import GROUP_BYTES, SIDE, SpanRun, spans
from talweg.passes.specialize.program import Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder

GATHERED_BYTES = 1 << 19  # of what windows read, at a time
MOST = 4  # blocks at a time


def whole(count: int) -> int:
    """Round a number up to whole blocks or steps."""
    return -(-count // SIDE) * SIDE


class TileConvolution(PaddedInput):
    """The builder of the kernels of one `Windows` of a single group of channels."""

    def __init__(self, builder: LoweringBuilder, windows: Windows, source: Buffer, value: Value):
        self.row = whole(windows.reduced)  # numbers of a gathered row
        self.panels = -(-windows.width // SIDE)
        group = max(1, min(self.panels, GROUP_BYTES // (2 * SIDE * self.row)))
        self.columns = spans(windows.width, SIDE * group)
        parts = sum([run.count for run in self.columns])
        super().__init__(builder, windows, source, value, parts)
        self.places = self.rows * math.prod([line.outs for line in windows.lines[1:]])
        most = max(1, min(MOST, GATHERED_BYTES // (2 * SIDE * self.row)))
        blocks = min(most, -(-self.places // SIDE))
        self.runs = spans(self.places, SIDE * blocks)
        self.gathered: Buffer = builder.new(
            "gathered", bfloat16, (blocks * SIDE, self.row), "scratch"
        )
        self.sums: Buffer = builder.new("sums", float32, (blocks * SIDE, group * SIDE), "scratch")
        self.filters: Buffer = builder.new(
            "panels", bfloat16, (self.panels, self.row * SIDE), "temporary"
        )

    def kernels(self, weight: Callable, rank: int, direct: Buffer | None, name: str) -> list:
        """Build the kernels; `weight` is the filter's element, as for `filter_panels.panels_of`.

        direct: the filters, if they lie in memory as rows of results.
        """
        names = (self.value.maker.prim.name,)  # type: ignore[union-attr]
        kernels = self._filters(weight, rank, direct, name)
        loops: list[Any] = []
        for columns in self.columns:
            group = Axis("g", columns.count)
            inner = self._groups(columns, Index.of(group))
            if self.whole:
                loops += wrap_in_loops([group, self.image, self.block], inner, "parallel")
            else:
                loops += wrap_in_loops([group], inner, "serial")
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

    def _filters(self, weight: Callable, rank: int, direct: Buffer | None, name: str) -> list:
        """Build the kernels that pack the filters in the order of the registers."""
        windows, kernels = self.windows, []
        matrix = direct
        if matrix is None:
            shape = (windows.reduced, windows.width)
            packed: Buffer = self.builder.new("filters", bfloat16, shape, "temporary")
            kernels.append(Kernel(f"{name}filters", self._matrix(packed, weight, rank), ("copy",)))
            matrix = packed
        loops: list[Any] = []
        for run in spans(windows.width, SIDE):
            panel = Axis("p", run.count)
            number = Index.of(panel) + run.first // SIDE
            arguments = [
                *map(Index, (0, windows.reduced, run.size)),
                Pointer(matrix, number * SIDE),
                Index(windows.width),
                Pointer(self.filters, number * (self.row * SIDE)),
            ]
            call = Call("tile_columns", arguments, (matrix,), (self.filters,))
            loops += wrap_in_loops([panel], [call], "parallel")
        return [*kernels, Kernel(f"{name}panels", all_shared(loops), ("convolution",))]

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

    # -- blocks

    def _groups(self, columns: SpanRun, group: Index) -> list:
        """Emit all results of the block, for one group of panels."""
        found: list[Any] = []
        for run in self.runs:
            part = Axis("r", run.count)
            first = Index.of(part) * run.size + run.first
            found += wrap_in_loops([part], self._results(run, first, columns, group), "serial")
        return found

    def gathering(self, size: int, first: Index) -> list:
        """Emit the gather (im2col) of `size` results' windows from number `first` on."""
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
        return wrap_in_loops(
            [m], body + zeros(self.gathered, row + windows.reduced, self.rest), "serial"
        )

    @property
    def rest(self) -> int:
        """The numbers that a gathered row lacks to whole steps."""
        return self.row - self.windows.reduced

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
        panel = group * columns.pieces + columns.first // SIDE
        arguments = [
            *map(Index, (self.row // SIDE, run.pieces, columns.pieces, 0)),
            Pointer(self.gathered),
            Pointer(self.filters, panel * (self.row * SIDE)),
            Pointer(self.sums),
        ]
        call = Call("tile_product", arguments, (self.gathered, self.filters), (self.sums,))
        m, n = Axis("m", run.size), Axis("n", columns.size)
        number = load(self.sums, Index.of(m) * (columns.pieces * SIDE) + n)
        channel = group * columns.size + columns.first + n
        index = self.result_index(*self._split(first + m), channel)
        stores = self.builder.results(self.value, index, number)
        return [*self.gathering(run.size, first), call, For(m, [For(n, stores, "vector")])]
