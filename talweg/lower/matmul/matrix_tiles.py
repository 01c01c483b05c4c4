"""Products of 16-bit matrices by the processor's matrix registers (AMX), with float32 sums.

An equation that multiplies two matrices in float32 which are casts of bfloat16 ones reads these
themselves: they are put into the order of the registers as they are
(`execute/llvm/runtime/matrix_tiles.py`), y all at once, x a block of rows at a time, and nothing is
stored as float32 but a block of sums, from which everything that follows is computed (Goto and van
de Geijn 2008: a block of x and a group of y's panels stay in the second cache).

The numbers of float16 matrices are split into two of bfloat16 on the way (`tile_split_rows`); four
products take their places, which are exact, as those of float32 are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.core.dtypes import bfloat16, float16, float32
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.fusion.tile_results import all_shared
from talweg.lower.ir.index import ZERO, Axis, Index, flat, unflatten
from talweg.lower.ir.loops import Buffer, Call, For, Kernel, Pointer, load
from talweg.lower.ir.registers import SIDE
from talweg.lower.matmul.operands import Product

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder

PART = 1024  # products in a row
BLOCKS = 4  # of x at a time
GROUP_BYTES = 1 << 20  # of y's panels at a time
SHARED_WORK = 1 << 17  # multiplications from which a product is shared between threads


class SpanRun(NamedTuple):
    """A run of `count` neighbouring spans of `size` rows or columns, from number `first` on."""

    first: int
    count: int
    size: int

    @property
    def pieces(self) -> int:
        """The number of blocks or panels of a span."""
        return -(-self.size // SIDE)


def spans(total: int, most: int) -> list[SpanRun]:
    """Partition into spans of `most`, and the remainder."""
    full, rest = divmod(total, most)
    found = [SpanRun(0, full, most)] if full else []
    return [*found, SpanRun(full * most, 1, rest)] if rest else found


class MatrixTileProduct:
    """The builder of the blocks of one product, or of several."""

    def __init__(self, builder: LoweringBuilder, product: Product):
        self.builder, self.product = builder, product
        self.terms = 2 if product.x.buffer.dtype is float16 else 1  # that a number is split into
        self.prefix = "tile_split" if self.terms == 2 else "tile"
        count, threads = product.count, builder.threads
        work = count * product.rows * product.n * product.k
        few = count == 1 or (threads > 1 and count < 2 * threads)
        self.shared = few and work >= SHARED_WORK
        self.panels = -(-product.n // SIDE)
        self.parts = spans(product.k, PART)
        if len(self.parts) == 2:
            self.parts[:1] = [SpanRun(PART * i, 1, PART) for i in range(self.parts[0].count)]
        else:
            first = self.parts[0]
            self.parts = [SpanRun(first.size * i, 1, first.size) for i in range(first.count)]
        longest = max([part.pieces for part in self.parts])
        group = max(1, min(self.panels, GROUP_BYTES // (2 * SIDE * SIDE * self.terms * longest)))
        blocks = min(BLOCKS, -(-product.rows // SIDE))
        if self.shared:
            while blocks > 1 and self._tasks(blocks, group) < 2 * threads:
                blocks = -(-blocks // 2)
            while group > 1 and self._tasks(blocks, group) < threads:
                group = -(-group // 2)
        self.rows, self.columns = spans(product.rows, SIDE * blocks), spans(product.n, SIDE * group)
        shape = (blocks, SIDE, longest * self.terms * SIDE)
        self.left: Buffer = builder.new("rows", bfloat16, shape, "scratch")
        self.sums: Buffer = builder.new("sums", float32, (blocks * SIDE, group * SIDE), "scratch")
        steps = sum([part.pieces for part in self.parts])
        self.size = self.panels * SIDE * SIDE * self.terms * steps

    def _tasks(self, blocks: int, group: int) -> int:
        rows = -(-self.product.rows // (SIDE * blocks))
        return self.product.count * rows * -(-self.panels // group)

    def blocks_of(self, name: str) -> list:
        """Build the kernel, after one that copies y if threads share the product."""
        product = self.product
        names = [v.maker.prim.name for v in self.builder.current.members]
        right, number, ready = self._ahead(name)
        kernels: list[Any] = []
        before: list[Any] = []
        if not ready:
            copies = self._copies(right, number)
            if self.shared:
                kernels = [Kernel(f"{name}panels", copies, names[:1])]
            else:
                before = copies
        loops: list[Any] = []
        for columns in self.columns:
            for rows in self.rows:
                group, block = Axis("g", columns.count), Axis("b", rows.count)
                body = self._block(right, number, rows, columns, Index.of(block), Index.of(group))
                axes = [*product.batch, group, block] if self.shared else [group, block]
                loops += wrap_in_loops(axes, body, "parallel" if self.shared else "serial")
        if self.shared:
            loops = all_shared(loops)
        else:
            loops = wrap_in_loops(product.batch, [*before, *loops], "parallel")
        kernel = Kernel(name, loops, names)
        kernel.node = product.node
        return [*kernels, kernel]

    # -- the copy of y

    def _ahead(self, name: str) -> tuple[Buffer, Index, bool]:
        """Return the buffer and start of y's panels, and whether they are packed already.

        They are made before the loop around, if the loop does not change y.
        """
        y, product, builder = self.product.y, self.product, self.builder
        start = y.start(product.batch)
        if y.buffer in builder.fixed and y.is_single and not start.terms:
            while builder.outer is not None and y.buffer in builder.outer.fixed:
                builder = builder.outer
            key = ("tiles", y.buffer, start.constant, y.strides, product.k, product.n)
            if key not in builder.ahead:
                panels = builder.new("panels", bfloat16, (self.size,), "temporary")
                copies = all_shared(self._emit_shared_copies(panels, ZERO))
                builder.ahead[key] = panels, Kernel(f"{name}panels", copies, ("matmul",))
            return builder.ahead[key][0], ZERO, True
        axes = y.own(product.batch) if self.shared else []
        sizes = tuple([axis.extent for axis in axes])
        kind = "temporary" if self.shared else "scratch"
        panels = builder.new("panels", bfloat16, (math.prod(sizes), self.size), kind)
        return panels, flat(tuple(map(Index.of, axes)), sizes) * self.size, False

    def _copies(self, right: Buffer, number: Index) -> list:
        if self.shared:
            axes = self.product.y.own(self.product.batch)
            copies = self._emit_shared_copies(right, number)
            return all_shared(
                [nest for copy in copies for nest in wrap_in_loops(axes, [copy], "parallel")]
            )
        return [self._copy(right, number, part, ZERO, self.product.n) for part in self.parts]

    def _emit_shared_copies(self, right: Buffer, number: Index) -> list:
        """Emit the packing of y, a panel at a time."""
        found: list[Any] = []
        for part in self.parts:
            for run in spans(self.product.n, SIDE):
                panel = Axis("p", run.count)
                first = Index.of(panel) + run.first // SIDE
                copy = self._copy(right, number, part, first, run.size)
                found += wrap_in_loops([panel], [copy], "parallel")
        return found

    def _copy(self, right: Buffer, number: Index, part: SpanRun, panel: Index, count: int) -> Call:
        """Emit the call that packs `count` columns of a part of y, from a panel on."""
        y = self.product.y
        by_row, by_column = y.strides
        start = y.start(self.product.batch) + part.first * by_row + panel * (SIDE * by_column)
        arguments = [
            Index(int(y.view.turned)),
            Index(part.size),
            Index(count),
            Pointer(y.buffer, start),
            Index(y.view.stride),
            Pointer(right, number + self._place(part, panel)),
        ]
        return Call(f"{self.prefix}_columns", arguments, (y.buffer,), (right,))

    def _place(self, part: SpanRun, panel: Index) -> Index:
        """Return the index of a panel, within those of one product."""
        before = self.panels * part.first * SIDE * self.terms
        return panel * (part.pieces * SIDE * SIDE * self.terms) + before

    # -- blocks of results

    def _block(
        self,
        right: Buffer,
        number: Index,
        rows: SpanRun,
        columns: SpanRun,
        block: Index,
        group: Index,
    ) -> list:
        """Emit the results of some rows in some columns."""
        product = self.product
        x, by_row = product.x, product.x.strides
        row, column = block * rows.size + rows.first, group * columns.size + columns.first
        panel = group * columns.pieces + columns.first // SIDE
        body: list[Any] = []
        for part in self.parts:
            start = x.start(product.batch) + row * by_row[0] + part.first * by_row[1]
            arguments = [
                Index(int(x.view.turned)),
                Index(rows.size),
                Index(part.size),
                Pointer(x.buffer, start),
                Index(x.view.stride),
                Pointer(self.left),
            ]
            body.append(Call(f"{self.prefix}_rows", arguments, (x.buffer,), (self.left,)))
            arguments = [
                *map(Index, (1, part.pieces, rows.pieces, columns.pieces, int(part.first > 0))),
                Pointer(self.left),
                *map(Index, (part.pieces * SIDE * self.terms, 0)),
                Pointer(right, number + self._place(part, panel)),
                Pointer(self.sums),
            ]
            reads = (self.left, right)
            body.append(Call(f"{self.prefix}_product", arguments, reads, (self.sums,)))
        m, n = Axis("m", rows.size), Axis("n", columns.size)
        offset = product.number() * (product.rows * product.n) + (row + m) * product.n + column + n
        total = load(self.sums, Index.of(m) * (columns.pieces * SIDE) + n)
        stores = self.builder.results(product.value, unflatten(offset, product.value.dims), total)
        return [*body, For(m, [For(n, stores, "vector")])]
