"""Filter gradients of bfloat16 convolutions by the processor's matrix registers (AMX).

w̄ = (what windows read)^T g: a product of the transpose of what `matrix_tiles.py` gathers and of g,
summed over blocks of places, each of which is added to float32 sums of its thread.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from talweg.core.dtypes import bfloat16, float32
from talweg.lower.convolution.filter_gradients import chunks_of, total_of
from talweg.lower.convolution.geometry import Windows, divisors
from talweg.lower.convolution.matrix_tiles import GATHERED_BYTES
from talweg.lower.convolution.matrix_tiles_selection import LONGEST, whole
from talweg.lower.convolution.padding import PaddedInput
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.ir.index import ZERO, Axis, Index, flat
from talweg.lower.ir.loops import Buffer, Call, Kernel, Pointer, Store, load
from talweg.lower.ir.registers import SIDE
from talweg.passes.specialize.program import Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder

SUMS = 16 << 20  # bytes of all sums


def chunks_at_most(threads: int, parts: int, size: int) -> int:
    """Return in how many chunks images are summed: two tasks for a thread, if there are several."""
    wanted = -(-2 * threads // parts) if threads > 1 else 1
    return max(1, min(wanted, SUMS // (4 * size)))


class TileFilterGradient(PaddedInput):
    """The builder of the kernels, for one group of channels."""

    def __init__(
        self, builder: LoweringBuilder, windows: Windows, x: Buffer, g: Buffer, value: Value
    ):
        run, apart = windows.run
        self.taps = [Axis(f"k{k}", line.taps) for k, line in enumerate(windows.lines[:apart])]
        self.split = windows.reduced > LONGEST
        self.k = run if self.split else windows.reduced  # rows of w̄ at a time
        others = math.prod([line.outs for line in windows.lines[1:]])
        most = max(1, GATHERED_BYTES // (2 * self.k * others))
        super().__init__(builder, windows, x, value, most=most)
        self.g, own = g, self.rows * others
        self.images = 1
        if self.blocks == 1:
            fitting = [n for n in divisors(windows.batch) if n * own * self.k * 2 <= GATHERED_BYTES]
            self.images = max(fitting, default=1)
        self.own, self.places = own, self.images * own
        count = len(self.taps_apart) if self.split else 1
        self.size = count * whole(self.k) * whole(windows.width)
        most = chunks_at_most(builder.threads, count if self.split else 1, self.size)
        self.chunks = chunks_of(windows.batch // self.images, 1, most)[0]
        new = builder.new
        self.gathered: Buffer = new("gathered", bfloat16, (self.places, self.k), "scratch")
        shape = (whole(self.k), whole(self.places))
        self.left: Buffer = new("rows", bfloat16, shape, "scratch")
        shape = (whole(self.places), whole(windows.width))
        self.right: Buffer = new("columns", bfloat16, shape, "scratch")
        self.sums: Buffer = new("sums", float32, (self.chunks, self.size), "temporary")

    @property
    def taps_apart(self) -> range:
        """The numbers of the taps that are no part of a run."""
        return range(math.prod([axis.extent for axis in self.taps]))

    def kernels(self, name: str) -> list[Kernel]:
        """Build the kernels of partial sums, and the one that adds those of all chunks."""
        names = (self.value.maker.prim.name,)  # type: ignore[union-attr]
        chunk, split = Axis("u", self.chunks), self.taps if self.split else []
        block_axis = Axis("n", self.windows.batch // self.images // self.chunks)
        step, inside = Axis("b", self.blocks), Axis("i", self.images)
        first = (Index.of(chunk) * block_axis.extent + block_axis) * self.images
        self.image, self.block = first + inside, Index.of(step)
        body = wrap_in_loops([inside], [*self.copying(), *self._gathering(inside)], "serial")
        offset = (first * self.blocks + step) * self.own * self.windows.width
        number = flat(tuple(map(Index.of, split)), tuple([axis.extent for axis in split]))
        target = Index.of(chunk) * self.size + number * (self.size // self._count)
        body += self._products(offset, target, Index.of(block_axis) * self.blocks + step)
        loops = wrap_in_loops([block_axis, step], body, "serial")
        kernel = Kernel(name, wrap_in_loops([chunk, *split], loops, "parallel"), names)
        return [kernel, *self._totals(name)]

    @property
    def _count(self) -> int:
        return len(self.taps_apart) if self.split else 1

    def _gathering(self, inside: Axis) -> list:
        """Emit the gather of one image's windows in the block, a row for each position."""
        windows, m, lane = self.windows, Axis("m", self.own), Axis("j", self.windows.run[0])
        numbers = (*map(Index.of, self.taps), *[ZERO] * (len(windows.lines) - len(self.taps)))
        outs = [line.outs for line in windows.lines]
        column, rest = Index.of(m) % outs[-1], Index.of(m) // outs[-1]
        rows: list[Index] = []
        for size in reversed(outs[1:-1]):
            rows.insert(0, rest % size)
            rest = rest // size
        sizes = tuple([axis.extent for axis in self.taps])
        tap = ZERO if self.split else flat(numbers[: len(self.taps)], sizes)
        row = (Index.of(inside) * self.own + m) * self.k + tap * lane.extent + lane
        value = load(self.read, self.place([rest, *rows], column, numbers) + lane)
        body = wrap_in_loops([lane], [Store(self.gathered, row, value)], "vector")
        return wrap_in_loops([m, *([] if self.split else self.taps)], body, "serial")

    def _products(self, offset: Index, target: Index, step: Index) -> list:
        """Emit one block's part of the sums from `target` on; the first sets them."""
        width, k, places = self.windows.width, self.k, self.places
        left = [
            *map(Index, (1, k, places)),
            Pointer(self.gathered),
            Index(k),
            Pointer(self.left),
        ]
        right = [
            *map(Index, (0, places, width)),
            Pointer(self.g, offset),
            Index(width),
            Pointer(self.right),
        ]
        product = [
            *map(Index, (1, whole(places) // SIDE, whole(k) // SIDE, whole(width) // SIDE)),
            step,
            Pointer(self.left),
            *map(Index, (whole(places), 0)),
            Pointer(self.right),
            Pointer(self.sums, target),
        ]
        return [
            Call("tile_rows", left, (self.gathered,), (self.left,)),
            Call("tile_columns", right, (self.g,), (self.right,)),
            Call("tile_product", product, (self.left, self.right), (self.sums,)),
        ]

    def _totals(self, name: str) -> list[Kernel]:
        """Build the kernel that adds the sums of all chunks, at their positions of w̄."""
        run, width = self.k, self.windows.width

        def place(index: tuple) -> Index:
            row = flat(index[:-1], self.value.dims[:-1])
            tap, row = (row // run, row % run) if self.split else (ZERO, row)
            return (tap * whole(run) + row) * whole(width) + index[-1]

        return [total_of(self.builder, self.value, self.sums, f"{name}total", place, self.size)]
