"""Convolutions by matrix registers that read windows from the image itself.

Neighbouring results read neighbouring places, so a row of a register is a place of the image, and
the row of the next result is the next place: nothing is gathered (Georganas et al. 2018, "Anatomy
of high-performance deep learning convolutions on SIMD architectures").  Results are counted by the
places of the copy with zeros round the image, so one row goes on in the next; those in between,
whose windows would lie across its ends, are computed and left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import float16
from talweg.lower.convolution.geometry import Windows
from talweg.lower.convolution.matrix_tiles import MOST, TileConvolution
from talweg.lower.convolution.matrix_tiles_selection import (
    flat_axes,
    places_of,
    sizes_of,
    whole,
)
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.handler import s
from talweg.lower.ir.index import ZERO, Axis, Index, flat
from talweg.lower.ir.loops import Buffer, Call, For, Pointer, When, within
from talweg.lower.ir.registers import SIDE
from talweg.lower.matmul.matrix_tiles import SpanRun
from talweg.passes.specialize.program import Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


class WindowConvolution(TileConvolution):
    """The builder for windows that are read from a copy of the image with zeros round it."""

    def __init__(self, builder: LoweringBuilder, windows: Windows, source: Buffer, value: Value):
        lines = windows.lines
        depth, taps = whole(windows.depth), math.prod([line.taps for line in lines])
        terms = 2 if source.dtype is float16 else 1
        self.first, self.sizes = flat_axes(windows), sizes_of(windows)
        # A row of taps whose places are neighbours is one run of numbers, and runs are the taps
        # of the axis before; those of axes before that are added by calls of their own.
        self.runs_of = len(lines) - (2 if lines[-1].step == 1 else 1)
        self.calls = math.prod([line.taps for line in lines[: self.runs_of]])
        self.steps = taps // self.calls // lines[self.runs_of].taps * depth // SIDE
        super().__init__(builder, windows, source, value, taps * depth, terms * depth)
        self.cut(places_of(windows, self.rows), MOST)

    def rows_beyond(self, rows: int, spans: list[int]) -> int:
        """Return the rows of the copy after the windows' own, which whole registers read."""
        lines, sizes = self.windows.lines, self.sizes
        last = (whole(places_of(self.windows, rows)) - 1) * lines[-1].scale
        last += sum([(line.taps - 1) * line.step * size for line, size in zip(lines, sizes)])
        outs = [rows, *[line.outs for line in lines[1:]]]
        for k in range(self.first):
            last += (outs[k] - 1) * lines[k].scale * sizes[k]
        beyond = last // sizes[0] + 1 - spans[0]
        if self.terms == 2:  # a row that is split ends with zeros to whole registers
            beyond = max(beyond, -(-SIDE // sizes[0]))
        return max(0, beyond)

    def packing(self, weight: Callable, filters: Value, turned: bool, name: str) -> list:
        """Build the kernels that pack the filters in the order of the registers."""
        return [self.pack_taps(filters, turned, name, self.room // self.terms, self.calls)]

    def results(self, columns: SpanRun, group: Index) -> list:
        """Emit all results of the block, for one group of panels."""
        outs = [self.rows, *[line.outs for line in self.windows.lines[1:]]]
        rows, made = [Axis(f"o{k}", outs[k]) for k in range(self.first)], []
        for run in self.runs:
            part = Axis("r", run.count)
            first = Index.of(part) * run.size + run.first
            m = Axis("m", run.size)
            at, inside = self._split(first + m)
            at = [*map(Index.of, rows), *at]
            stores: list[Any] = [self.stores(columns, group, m, at[:-1], at[-1])]
            if inside is not None:
                stores = [When(inside, stores)]
            panel = self.panel(columns, group)
            body = [*self._products(run, columns, panel, first, rows), For(m, stores)]
            made += wrap_in_loops([*rows, part], body, "serial")
        return made

    def _products(
        self, run: SpanRun, columns: SpanRun, panel: Index, first: Index, rows: list
    ) -> list:
        """Emit the sums of some results, from number `first` of those counted together on."""
        lines, read, layers = self.windows.lines, self.read, self.windows.groups
        layer = Index.of(self.layer)
        taps = [Axis(f"k{k}", line.taps) for k, line in enumerate(lines[: self.runs_of])]
        numbers = (*map(Index.of, taps), *[ZERO] * (len(lines) - len(taps)))
        call = flat(numbers[: len(taps)], tuple([axis.extent for axis in taps]))
        line, size = lines[self.runs_of], self.sizes[self.runs_of]
        row = [*map(Index.of, rows), *[ZERO] * (len(lines) - 1 - len(rows))]
        apart = self.terms * line.taps * self.steps * SIDE * SIDE  # numbers of a panel
        arguments = [
            *map(Index, (line.taps, self.steps, run.pieces, columns.pieces)),
            call,
            Pointer(read, self.place(row, first, numbers) + layer * (read.size // layers)),
            Index(lines[-1].scale * self.room),
            Index(line.step * size * self.room),
            Pointer(self.filters, ((layer * self.calls + call) * self.panels + panel) * apart),
            Pointer(self.sums),
        ]
        product = Call(f"{self.prefix}_product", arguments, (read, self.filters), (self.sums,))
        return wrap_in_loops(taps, [product], "serial")

    def _split(self, number: Index) -> tuple[list, Any]:
        """Return where a result is on the axes counted together, and whether it is one."""
        lines, at, tests = self.windows.lines, [], []
        for k in range(self.first, len(lines)):
            one = number // self.sizes[k]
            if k > self.first:
                one = one % lines[k].span
                if lines[k].span != lines[k].outs:
                    tests.append(within(one, 0, lines[k].outs))
            at.append(one)
        return at, s.all(*tests) if tests else None
