"""Products of matrices as loops over register tiles (Goto's algorithm).

y is copied into panels of two vectors of columns, row below row, so that it is read in one stretch
(Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication").  A tile of 6 rows
of a panel, or 12 where there are 32 registers, stays in registers while k goes by: 2 loads of the
panel and 6 of x, each the same number in all lanes, for 12 products.  Rows are cut in blocks, and a
long k in parts, so that a block of x and a panel stay in the second cache.  What is computed from
the result is computed from the registers.

Where the panels stay in the second cache, too, all of them go by a tile's rows before the next rows
do: what is computed with the result is then read as it lies (with AVX-512, in GFLOP/s, 1024 rows
x 192 x 768: 145, now 162; with the derivative of GELU 4.8 ms, now 3.4).

Threads share the blocks and panels of a product, after having made the copies together; or, where
there are many products, these, and each copies for itself.  A y that is the same in all products
is copied once, before them; one that a loop around does not change, before the loop
(`_Builder.ahead`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.lower.convolution.geometry import divisors, shares
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.fusion.tile_results import all_shared, tile_results
from talweg.lower.ir.index import Axis, Index, flat, unflatten
from talweg.lower.ir.loops import Buffer, Expr, For, Kernel, Store, Tile, Update, const, load
from talweg.lower.ir.registers import registers
from talweg.lower.matmul.operands import MatrixOperand, Product

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder

PART = 1024  # products in a row; that a panel is longer than the first cache does no harm
CHUNK = 8  # rows that are copied together
FAR = 256  # columns of a transposed x from which its rows are copied, too
SHARED_WORK = 1 << 17  # multiplications from which a product is shared between threads
PANEL_BYTES = {64: 1 << 20}  # of all panels, by vectors: they stay in a second cache of 2 MB
SHORT = 512  # products in a row, with which a tile's rows of x stay in the first cache
BLOCK_BYTES = 192 << 10  # of a block of x, in the second cache


class TileRun(NamedTuple):
    """A run of `count` neighbouring pieces of `size`, from `first` on."""

    first: int
    count: int
    size: int


class OperandPanels(NamedTuple):
    """A run of `count` panels of `width` columns, `used` of them real, from column `first` on."""

    first: int
    count: int
    width: int
    used: int


class DepthPart(NamedTuple):
    """A part of k: `size` neighbouring numbers, from `first` on."""

    first: Index
    size: int
    begins: bool
    ends: bool


class Copy(NamedTuple):
    """A packed copy of an operand; the present matrix is from `start` on."""

    buffer: Buffer
    start: Index
    body: list  # what makes it


def panels_of(n: int, lanes: int) -> list[OperandPanels]:
    """Return the panels for n columns: two vectors wide, and the remainder."""
    full, rest = divmod(n, 2 * lanes)
    found = [OperandPanels(0, full, 2 * lanes, 2 * lanes)] if full else []
    if rest:
        width = lanes if rest <= lanes else 2 * lanes
        found.append(OperandPanels(full * 2 * lanes, 1, width, rest))
    return found


def runs(heights: list[int]) -> list[TileRun]:
    """Group pieces of those sizes into runs of equal ones."""
    found, first = [], 0
    for size in dict.fromkeys(heights):
        count = heights.count(size)
        found.append(TileRun(first, count, size))
        first += count * size
    return found


class TiledProduct:
    """The builder of the blocks of one product, or of several that threads share."""

    def __init__(self, builder: LoweringBuilder, product: Product):
        self.builder, self.product = builder, product
        self.value, self.dtype = product.value, product.value.dtype
        self.panels = panels_of(product.n, registers().lanes(self.dtype.size))
        self.columns = sum([one.count * one.width for one in self.panels])
        count, threads = product.count, builder.threads
        work = count * product.rows * product.n * product.k
        few = count == 1 or (threads > 1 and count < 2 * threads)
        self.shared = few and work >= SHARED_WORK  # each product by all threads
        self.one_y = count > 1 and product.y.is_single and work >= SHARED_WORK  # of all products
        self.blocks = self._blocks()
        self.height = product.rows // self.blocks
        self.heights = runs(shares(self.height, registers().rows(2)))
        self.parts = self._parts()
        near = product.k * self.columns * self.dtype.size <= PANEL_BYTES.get(
            registers().vector_bytes, 0
        )
        self.rows_first = near and product.k <= SHORT and product.k <= product.n
        self.right: Any = None  # the copy of y
        self.left: Copy | None = None  # that of x, if there is one
        self.copies_x = product.x.view.turned and product.k >= FAR

    def _blocks(self) -> int:
        """Return the number of row blocks that fit in cache and that threads can share."""
        product, threads = self.product, self.builder.threads
        row = min(product.k, PART) * self.dtype.size
        least = -(-product.rows * row // BLOCK_BYTES)
        panels = sum([one.count for one in self.panels])
        if self.shared and product.count * panels < 2 * threads:
            least = max(least, min(2 * threads, product.rows // (2 * registers().rows(2))))
        fitting = [d for d in divisors(product.rows) if least <= d <= 3 * least]
        return min(fitting, default=1)

    def _parts(self) -> list[DepthPart]:
        """Return the parts of k."""
        sizes, last = shares(self.product.k, PART), -(-self.product.k // PART) - 1
        firsts = [Index(sum(sizes[:number])) for number in range(len(sizes))]
        return [
            DepthPart(first, size, number == 0, number == last)
            for number, (first, size) in enumerate(zip(firsts, sizes))
        ]

    # -- copies

    def blocks_of(self, name: str) -> list:
        """Build the kernel, after those that copy operands if threads share the products."""
        names = [v.maker.prim.name for v in self.builder.current.members]
        before, within = self._copies(name)
        blocks: list[Any] = []
        if before:
            blocks.append(Kernel(f"{name}panels", before, names[:1]))
        kernel = Kernel(name, self._loops(within), names)
        kernel.node = self.product.node
        return [*blocks, kernel]

    def _copies(self, name: str) -> tuple[list, list]:
        """Emit the copies of the operands: those made before all products, and within each."""
        before: list[Any] = []
        within: list[Any] = []
        self.right = self._ahead(name)
        if self.right is None:
            size = self.product.k * self.columns
            shared = self.shared or self.one_y
            self.right = self._pack_operand(self.product.y, size, self._packing, shared)
            (before if shared else within).extend(self.right.body)
        if self.copies_x:
            size = self.product.rows * self.product.k
            self.left = self._pack_operand(self.product.x, size, self._rows_packing, self.shared)
            (before if self.shared else within).extend(self.left.body)
        return before, within

    def _ahead(self, name: str) -> Copy | None:
        """Return the copy of y that is made before the loop around, if y is invariant there."""
        y, product, builder = self.product.y, self.product, self.builder
        start = y.start(product.batch)
        if y.buffer not in builder.fixed or not y.is_single or start.terms:
            return None
        while builder.outer is not None and y.buffer in builder.outer.fixed:
            builder = builder.outer
        ahead = builder.ahead
        key = (y.buffer, y.view.casts, start.constant, y.strides, product.k, product.n)
        if key not in ahead:
            copy = self._pack_operand(y, product.k * self.columns, self._packing, True)
            ahead[key] = copy, Kernel(f"{name}panels", copy.body, ("matmul",))
        return ahead[key][0]

    def _pack_operand(
        self, operand: MatrixOperand, size: int, packing: Callable, shared: bool
    ) -> Copy:
        """Make a copy of an operand: of all matrices by all threads, or of one by each."""
        axes = operand.own(self.product.batch) if shared else []
        sizes = tuple([axis.extent for axis in axes])
        number = flat(tuple(map(Index.of, axes)), sizes)
        kind, loop = ("temporary", "parallel") if shared else ("scratch", "serial")
        buffer = self.builder.new("panels", self.dtype, (math.prod(sizes), size), kind)
        copy = Copy(buffer, number * size, [])
        for inner, body in packing(copy):
            copy.body.extend(wrap_in_loops([*axes, *inner], body, loop))
        return copy

    def _packing(self, copy: Copy) -> list:
        """Return the packing of y: (outer axes, statements for each of their values)."""
        loops: list[Any] = []
        for one in self.panels:
            for chunk, rows, k in self._chunks(self.product.k, self.product.y.view.turned):
                panel = Axis("p", one.count)
                place = self._place(copy, one, Index.of(panel), k)
                body = self._pack_row(copy, one, Index.of(panel), k, place)
                body = wrap_in_loops([rows], body, "serial")
                if chunk is None:
                    loops.append(([panel], body))
                else:
                    loops.append(([chunk], wrap_in_loops([panel], body, "serial")))
        return loops

    def _pack_row(
        self, copy: Copy, one: OperandPanels, panel: Index, k: Index, place: Index
    ) -> list:
        """Emit the statements that copy a panel's row k of y to a position."""
        y, lane = self.product.y, Axis("j", one.used)
        by_row, by_column = y.strides
        column = panel * one.width + lane + one.first
        start = y.start(self.product.batch)
        value = y.element(start + k * by_row + column * by_column)
        body: list[Any] = [For(lane, [Store(copy.buffer, place + lane, value)], "vector")]
        if one.used < one.width:
            rest = Axis("z", one.width - one.used)
            store = Store(copy.buffer, place + one.used + rest, const(0, self.dtype))
            body.append(For(rest, [store], "vector"))
        return body

    @staticmethod
    def _chunks(k: int, whole: bool) -> list[tuple[Axis | None, Axis, Index]]:
        """Split k into small chunks, so that memory is read in its order."""
        if whole:
            row = Axis("l", k)
            return [(None, row, Index.of(row))]
        found: list[tuple[Axis | None, Axis, Index]] = []
        for run in runs(shares(k, CHUNK)):
            chunk, row = Axis("c", run.count), Axis("l", run.size)
            found.append((chunk, row, Index.of(chunk) * run.size + row + run.first))
        return found

    def _place(self, copy: Copy, one: OperandPanels, panel: Index, row: Index) -> Index:
        """Return the index of a packed panel's row."""
        k = self.product.k
        return copy.start + one.first * k + panel * (k * one.width) + row * one.width

    def _rows_packing(self, copy: Copy) -> list:
        """Return the packing of x, in which a tile's reads are neighbours."""
        product, loops = self.product, []
        by_row, by_column = product.x.strides
        start = product.x.start(product.batch)
        for chunk, columns, k in self._chunks(product.k, False):
            inner: list[Any] = []
            for run in self.heights:
                block, tiles, lane = (
                    Axis("b", self.blocks),
                    Axis("t", run.count),
                    Axis("m", run.size),
                )
                row = Index.of(block) * self.height + Index.of(tiles) * run.size + run.first
                value = load(product.x.buffer, start + (row + lane) * by_row + k * by_column)
                offset = copy.start + row * product.k + k * run.size + lane
                body: list = [For(lane, [Store(copy.buffer, offset, value)], "vector")]
                inner += wrap_in_loops([block, tiles, columns], body, "serial")
            loops.append(([chunk], inner))
        return loops

    # -- tiles

    def _loops(self, before: list) -> list:
        """Emit the loops over blocks of rows and panels."""
        product, loops = self.product, []
        if self.rows_first:
            return self._by_rows(before)
        for one in self.panels:
            block, panel = Axis("b", self.blocks), Axis("p", one.count)
            body: list[Any] = []
            for part in self.parts:
                for run in self.heights:
                    tile = Axis("t", run.count)
                    row = Index.of(block) * self.height + Index.of(tile) * run.size + run.first
                    inner = self._tile(one, Index.of(panel), row, run.size, part)
                    body += wrap_in_loops([tile], inner, "serial")
            axes = [*product.batch, block, panel] if self.shared else [block, panel]
            loops += wrap_in_loops(axes, body, "parallel" if self.shared else "serial")
        if self.shared:
            return all_shared(loops)
        return wrap_in_loops(product.batch, [*before, *loops], "parallel")

    def _by_rows(self, before: list) -> list:
        """Emit the loops with all panels for a tile's rows before the next rows.

        What is read beside the product, and written, then comes in long stretches, which memory
        gives without being waited for; the panels come from the second cache, which is as good.
        """
        product, nests = self.product, []
        for run in self.heights:
            block, tile = Axis("b", self.blocks), Axis("t", run.count)
            row = Index.of(block) * self.height + Index.of(tile) * run.size + run.first
            body: list[Any] = []
            for one in self.panels:
                panel = Axis("p", one.count)
                inner = self._tile(one, Index.of(panel), row, run.size, self.parts[0])
                body += wrap_in_loops([panel], inner, "serial")
            axes = [*product.batch, block, tile] if self.shared else [block, tile]
            nests += wrap_in_loops(axes, body, "parallel" if self.shared else "serial")
        if self.shared:
            return all_shared(nests)
        return wrap_in_loops(product.batch, [*before, *nests], "parallel")

    def _tile(
        self, one: OperandPanels, panel: Index, row: Index, height: int, part: DepthPart
    ) -> list:
        """Emit the products of a part of k, for `height` rows from `row` on."""
        m, n = Axis("m", height), Axis("n", one.width)
        tile = Tile("z", self.dtype, (height, one.width))
        turn = Axis("l", part.size)
        k = Index.of(turn) + part.first
        x = self._element(row, m, k, height)
        y = load(self.right.buffer, self._place(self.right, one, panel, k) + n)
        body: list = [For(m, [For(n, [Update(tile, (m, n), x * y, "add")], "vector")], "unroll")]
        body = wrap_in_loops([turn], body, "serial")
        return [tile, *body, *self._results(one, panel, row, part, tile)]

    def _element(self, row: Index, m: Axis, k: Index, height: int) -> Expr:
        """Return x in column k, in row number m of the tile whose first is `row`."""
        product, copy = self.product, self.left
        if copy is not None:
            return load(copy.buffer, copy.start + row * product.k + k * height + m)
        by_row, by_column = product.x.strides
        start = product.x.start(product.batch)
        return load(product.x.buffer, start + (row + m) * by_row + k * by_column)

    def _results(
        self, one: OperandPanels, panel: Index, row: Index, part: DepthPart, tile: Tile
    ) -> list:
        """Emit the epilogue of a tile: the statements that store its numbers."""
        product, builder = self.product, self.builder

        def results(m: Axis, n: Axis, total: Expr) -> list:
            column = panel * one.width + n + one.first
            index = product.number() * (product.rows * product.n) + (row + m) * product.n + column
            if not (part.begins and part.ends):
                memory = builder.memory_of(self.value)
                if not part.begins:
                    total = load(memory, index) + total
                if not part.ends:
                    return [Store(memory, index, total)]
            return builder.results(self.value, unflatten(index, self.value.dims), total)

        return tile_results(builder, tile, one.used, results)
