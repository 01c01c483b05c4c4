"""Products of matrices as loops: tiles of the result in registers, no library.

y is copied into panels of two vectors of columns, row below row, so that it is read in one stretch
(Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication").  A tile of 6 rows
of a panel stays in registers while k goes by: 2 loads of the panel and 6 of x, each the same number
in all lanes, for 12 products.  Rows are cut in blocks, and k in parts, so that the part of a panel
stays in the first cache and that of a block of x in the second.  What is computed from the result
is computed from the registers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from talweg.lower.blocks_convolution_copies import VECTOR_BYTES
from talweg.lower.blocks_convolution_windows import divisors, shares
from talweg.lower.index import Axis, Index, flat, unflatten
from talweg.lower.loops import Buffer, Expr, For, Kernel, Store, Tile, Update, const, load
from talweg.lower.nests import wrapped
from talweg.lower.products_shape import Product

TALLEST = 6  # rows of a tile of two vectors: 12 registers
PART = 1024  # products in a row: panels longer than the first cache do no harm, aliases do
BLOCK_BYTES = 192 << 10  # of a block of x, in the second cache


class Run(NamedTuple):
    """`count` neighbouring pieces of `size`, from `first` on."""

    first: int
    count: int
    size: int


class Panels(NamedTuple):
    """`count` panels of `width` columns, of which `used` are real, from column `first` on."""

    first: int
    count: int
    width: int
    used: int


def panels_of(n: int, lanes: int) -> list[Panels]:
    """The panels for n columns: two vectors wide, and what is left over."""
    full, rest = divmod(n, 2 * lanes)
    found = [Panels(0, full, 2 * lanes, 2 * lanes)] if full else []
    if rest:
        width = lanes if rest <= lanes else 2 * lanes
        found.append(Panels(full * 2 * lanes, 1, width, rest))
    return found


def runs(heights: list[int]) -> list[Run]:
    """Pieces of those sizes, as runs of equal ones."""
    found, first = [], 0
    for size in dict.fromkeys(heights):
        count = heights.count(size)
        found.append(Run(first, count, size))
        first += count * size
    return found


class Direct:
    """Builds the blocks of one product."""

    def __init__(self, builder: Any, product: Product):
        self.builder, self.product = builder, product
        self.value, self.dtype = product.value, product.value.dtype
        self.panels = panels_of(product.n, VECTOR_BYTES // self.dtype.size)
        self.columns = sum([one.count * one.width for one in self.panels])
        threads = builder.threads
        self.alone = product.count < 2 * threads and not (threads == 1 and product.count > 1)
        self.blocks = self._blocks()
        self.heights = runs(shares(self.height, TALLEST))
        self.parts = self._parts()

    def _blocks(self) -> int:
        """Into how many equal blocks the rows go."""
        product = self.product
        row = min(product.k, PART) * self.dtype.size
        wanted = -(-product.rows * row // BLOCK_BYTES)
        fitting = [d for d in divisors(product.rows) if wanted <= d <= 3 * wanted]
        found = min(fitting, default=1)
        self.height = product.rows // found
        return found

    def _parts(self) -> list[tuple[int, int]]:
        """(first, size) of the parts of k."""
        sizes = shares(self.product.k, PART)
        return [(sum(sizes[:number]), size) for number, size in enumerate(sizes)]

    # -- copies

    def blocks_of(self, name: str) -> list:
        """Everything."""
        builder, product = self.builder, self.product
        kind = "temporary" if self.alone else "scratch"
        axes = product.y.own(product.batch) if self.alone else []
        count = 1
        for axis in axes:
            count *= axis.extent
        shape = (count, product.k * self.columns)
        self.right = builder.new("panels", self.dtype, shape, kind)
        before = self._packing(self.right, axes)
        names = [v.maker.prim.name for v in builder.current.members]
        found: list[Any] = []
        if self.alone:
            found.append(Kernel(f"{name}panels", before, (names[0],)))
            before = []
        kernel = Kernel(name, self._loops(before, axes), names)
        kernel.node = product.node
        return [*found, kernel]

    def _packing(self, target: Buffer, axes: list[Axis]) -> list:
        """Copies y."""
        product, found = self.product, []
        by_row, by_column = product.y.strides
        number = flat(tuple(map(Index.of, axes)), tuple([axis.extent for axis in axes]))
        for one in self.panels:
            panel, row, lane = Axis("p", one.count), Axis("l", product.k), Axis("j", one.used)
            start = product.y.start(product.batch)
            column = Index.of(panel) * one.width + lane + one.first
            value = load(product.y.buffer, start + Index.of(row) * by_row + column * by_column)
            place = self._place(one, number, Index.of(panel), Index.of(row))
            body: list = [For(lane, [Store(target, place + lane, value)], "vector")]
            if one.used < one.width:
                rest = Axis("z", one.width - one.used)
                zero = const(0, self.dtype)
                body.append(For(rest, [Store(target, place + one.used + rest, zero)], "vector"))
            body = wrapped([row], body, "serial")
            kind = "parallel" if self.alone else "serial"
            found += wrapped([*axes, panel], body, kind)
        return found

    def _place(self, one: Panels, number: Index, panel: Index, row: Index) -> Index:
        """Where a row of a panel begins among the copies."""
        k = self.product.k
        first = number * (k * self.columns) + one.first * k
        return first + panel * (k * one.width) + row * one.width

    # -- tiles

    def _loops(self, before: list, axes: list[Axis]) -> list:
        """The loops over blocks of rows and panels."""
        product, found = self.product, []
        number = flat(tuple(map(Index.of, axes)), tuple([axis.extent for axis in axes]))
        for one in self.panels:
            block, panel = Axis("b", self.blocks), Axis("p", one.count)
            body: list[Any] = []
            for part in range(len(self.parts)):
                for run in self.heights:
                    tile = Axis("t", run.count)
                    row = Index.of(block) * self.height + Index.of(tile) * run.size + run.first
                    inner = self._tile(one, number, Index.of(panel), row, run.size, part)
                    body += wrapped([tile], inner, "serial")
            if self.alone:
                found += wrapped([*product.batch, block, panel], body, "parallel")
            else:
                found += wrapped([block, panel], body, "serial")
        return found if self.alone else wrapped(product.batch, [*before, *found], "parallel")

    def _tile(
        self, one: Panels, number: Index, panel: Index, row: Index, height: int, part: int
    ) -> list:
        """Products of a part of k, for `height` rows from `row` on."""
        product = self.product
        m, n = Axis("m", height), Axis("n", one.width)
        tile = Tile("z", self.dtype, (height, one.width))
        first, size = self.parts[part]
        turn = Axis("l", size)
        k = Index.of(turn) + first
        by_row, by_column = product.x.strides
        start = product.x.start(product.batch)
        x = load(product.x.buffer, start + (row + m) * by_row + k * by_column)
        y = load(self.right, self._place(one, number, panel, k) + n)
        body: list = [For(m, [For(n, [Update(tile, (m, n), x * y, "add")], "vector")], "unroll")]
        body = wrapped([turn], body, "serial")
        return [tile, *body, *self._results(one, panel, row, height, part, tile)]

    def _results(
        self, one: Panels, panel: Index, row: Index, height: int, part: int, tile: Tile
    ) -> list:
        """What is done with the numbers of a tile."""
        product, builder = self.product, self.builder
        m, n = Axis("m", height), Axis("n", one.used)
        column = panel * one.width + n + one.first
        place = product.number() * (product.rows * product.n) + (row + m) * product.n + column
        found: Expr = tile.at(m, n)
        if len(self.parts) > 1:
            memory = builder.memory_of(self.value)
            if part > 0:
                found = load(memory, place) + found
            if part < len(self.parts) - 1:
                return [For(m, [For(n, [Store(memory, place, found)], "vector")], "unroll")]
        stores = builder.results(self.value, unflatten(place, self.value.dims), found)
        return [For(m, [For(n, stores, "vector")], "unroll")]
