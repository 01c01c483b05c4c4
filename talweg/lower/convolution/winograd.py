"""Winograd's convolution of 3x3 filters: tiles are transformed, multiplied, transformed back.

The results are cut in tiles of m x m; at the edges tiles reach over the end, into zeros.  For each
of the (m + 2)² points there is a product of matrices [tiles, depth] [depth, width], summed over the
channels; the transforms before and after it are sums along the axes of a tile, all channels side by
side (`winograd_transforms.py`).

A task takes a block of tiles through all three steps, so that what is between them stays in its
cache; with few blocks all threads make each step together.  The filters are transformed once, into
panels as the tiles of registers read them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.lower.convolution.geometry import Windows
from talweg.lower.convolution.winograd_nonfinite import plain, redo_if_nonfinite
from talweg.lower.convolution.winograd_selection import WinogradBlocking, grow_to_tiles
from talweg.lower.convolution.winograd_tiles import (
    TileBlock,
    TilePanels,
    TransformedTiles,
    apart,
    both_axes,
    layers_of,
    panels_of,
    rows_of,
)
from talweg.lower.convolution.winograd_transforms import (
    TAPS,
    WinogradTransform,
    apply_transpose,
    spread,
)
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.ir.index import ZERO, Axis, Index, flat
from talweg.lower.ir.loops import Buffer, Expr, For, Kernel, Store, Tile, Update, When, load, within
from talweg.passes.specialize.program import Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder

CHUNK = 16  # channels of a panel of filters that are transformed at once


class Filters:
    """The transformed filters: for each point its panels [depth, width], one after the other."""

    def __init__(
        self, builder: LoweringBuilder, windows: Windows, form: WinogradTransform, dtype: Any
    ):
        self.builder, self.windows, self.form, self.dtype = builder, windows, form, dtype
        self.panels = panels_of(windows.width, dtype.size)
        self.columns = sum([one.count * one.width for one in self.panels])
        self.step = apart(windows.depth * self.columns, dtype.size)
        shape = (form.products, self.step)
        self.buffer: Buffer = builder.new("filters", dtype, shape, "temporary")

    def place(self, one: TilePanels, panel: Index, point: Axis | Index, channel: Index) -> Index:
        """Return the index of a panel's filters for a point and a channel."""
        depth = self.windows.depth
        found = Index.of(point) * self.step + one.first * depth + panel * (depth * one.width)
        return found + Index.of(channel) * one.width

    def kernel(self, weight: Callable, name: str) -> Kernel:
        """Build the kernel of the transform; `weight` as for `Winograd`.

        A row of points at a time: few places are written by turns.
        """
        loops: list[Any] = []
        size, depth, matrix = self.form.size, self.windows.depth, self.form.spread_filter
        count = max([n for n in range(1, CHUNK + 1) if depth % n == 0])
        for one in self.panels:
            panel, lane = Axis("p", one.count), Axis("n", one.width)
            chunk, part = Axis("h", depth // count), Axis("c", count)
            channel = Index.of(chunk) * count + part
            result = Index.of(panel) * one.width + lane + one.first
            guard = within(result, 0, self.windows.width)
            shape = (size, TAPS, count, one.width)
            between = self.builder.new("columns", self.dtype, shape, "scratch")
            column, row = Axis("j", TAPS), Axis("i", size)
            values = [
                weight(self.taps(i, Index.of(column)), channel, ZERO, result, guard)
                for i in range(TAPS)
            ]

            def place(
                i: Axis | int,
                j: Axis | int,
                part: Axis = part,
                lane: Axis = lane,
                shape: tuple = shape,
            ) -> Index:
                return flat(tuple(map(Index.of, (i, j, part, lane))), shape)

            body: list[Any] = []
            if values[0].data[1].coefficient(lane) != 1:  # channels are neighbours
                values, body = self._arrange(weight, column, part, channel, lane, result, guard)
            first = [
                Store(between, place(i, column), value)
                for i, value in enumerate(spread(matrix, values))
            ]
            body += wrap_in_loops([column, part], [For(lane, first, "vector")], "serial")
            start = self.place(one, Index.of(panel), Index.of(row) * size, channel) + lane
            values = [load(between, place(row, j)) for j in range(TAPS)]
            second = [
                Store(self.buffer, start + j * self.step, value)
                for j, value in enumerate(spread(matrix, values))
            ]
            body += wrap_in_loops([row, part], [For(lane, second, "vector")], "serial")
            loops += wrap_in_loops([chunk], wrap_in_loops([panel], body, "serial"), "parallel")
        return Kernel(f"{name}filters", loops, ("convolution",))

    def _arrange(
        self, weight: Callable, column: Axis, part: Axis, channel: Index, lane: Axis, *rest: object
    ) -> tuple[list, list]:
        """Return the filters at (0..2, column), and loops that store results as neighbours.

        They are read with channels as neighbours: one store whose lanes lie apart, instead of one
        for each row of points.
        """
        tap, shape = Axis("a", TAPS), (TAPS, TAPS, part.extent, lane.extent)
        turned = self.builder.new("turned", self.dtype, shape, "scratch")

        def place(i: Axis | int) -> Index:
            return flat(tuple(map(Index.of, (i, column, part, lane))), shape)

        value = weight(self.taps(Index.of(tap), Index.of(column)), channel, ZERO, *rest)
        loop = For(part, [Store(turned, place(tap), value)], "vector")
        body = wrap_in_loops([tap, column, lane], [loop], "serial")
        return [load(turned, place(i)) for i in range(TAPS)], body

    def taps(self, *numbers: Any) -> tuple:
        """Return the positions of the taps in the filter."""
        return tuple(
            [
                Index.of(line.tap_first) + number * line.tap_stride
                for line, number in zip(self.windows.lines, numbers)
            ]
        )


class Winograd:
    """The builder of the kernels of one `Windows`.

    `weight(taps, channel, group, result, guard)` is an element of the filters.
    """

    def __init__(
        self,
        builder: LoweringBuilder,
        windows: Windows,
        source: Buffer,
        weight: Callable,
        value: Value,
        blocks: WinogradBlocking,
    ):
        self.builder, self.windows, self.value = builder, windows, value
        self.weight, self.blocks, self.form = weight, blocks, blocks.form
        self.outer = [
            Axis("n", windows.batch // blocks.images),
            Axis("b", blocks.tile_rows // blocks.rows),
        ]
        self.block = TileBlock(blocks, *self.outer)
        self.filters = Filters(builder, windows, self.form, value.dtype)
        kind = "temporary" if blocks.shared else "scratch"
        self.tiles = TransformedTiles(
            builder,
            self.block,
            source,
            grow_to_tiles(windows, self.form),
            self.form.spread_input,
            layers_of(windows.depth),
            kind,
            value.dtype,
        )
        self.step = apart(blocks.tiles * self.filters.columns, value.dtype.size)
        shape = (self.form.products, self.step)
        self.made: Buffer = builder.new("products", value.dtype, shape, kind)
        shape = (self.form.results, self.form.results, windows.width)
        self.results: Buffer = builder.new("results", value.dtype, shape, "scratch")

    def kernels(self, name: str) -> list[Kernel]:
        """Build the kernels, the last of which stores the results."""
        names = (self.value.maker.prim.name,)  # type: ignore[union-attr]
        found = [self.filters.kernel(self.weight, name)]
        if self.blocks.shared:
            found += self.tiles.kernels(f"{name}tiles", names)
            found.append(Kernel(f"{name}products", self._products("parallel"), names))
            return [*found, Kernel(name, self._finishing("parallel"), names)]
        body = self.tiles.copying() + self.tiles.transforming()
        body += self._products("serial") + self._finishing("serial")
        return [*found, Kernel(name, wrap_in_loops(self.outer, body, "parallel"), names)]

    # -- products

    def _products(self, kind: str) -> list:
        """Emit the products of tiles and filters, a matrix product for each point."""
        found: list[Any] = []
        point = Axis("w", self.form.products)
        for one in self.filters.panels:
            panel = Axis("p", one.count)
            body: list[Any] = []
            for run in rows_of(one, self.blocks.tiles, self.value.dtype.size):
                part = Axis("t", run.count)
                first = Index.of(part) * run.size + run.first
                tile = self._product(one, Index.of(panel), point, first, run.size)
                body += wrap_in_loops([part], tile, "serial")
            found += wrap_in_loops([point, panel], body, kind)
        return found

    def _product(
        self, one: TilePanels, panel: Index, point: Axis, first: Index, height: int
    ) -> list:
        """Emit the products of `height` tiles, from number `first` on, with a panel."""
        m, n = Axis("m", height), Axis("n", one.width)
        (layers,) = self.tiles.panels
        layer, lane = Axis("l", layers.count), Axis("k", layers.width)
        tile = Tile("z", self.value.dtype, (height, one.width))
        left = load(
            self.tiles.buffer, self.tiles.place(layers, Index.of(layer), first + m, point) + lane
        )
        channel = Index.of(layer) * layers.width + lane
        right = load(self.filters.buffer, self.filters.place(one, panel, point, channel) + n)
        update = Update(tile, (m, n), left * right, "add")
        body: list[Any] = [For(m, [For(n, [update], "vector")], "unroll")]
        body = wrap_in_loops([layer, lane], body, "serial")
        offset = Index.of(point) * self.step + self._place(one, panel, first + m) + n
        store = Store(self.made, offset, tile.at(m, n))
        return [tile, *body, For(m, [For(n, [store], "vector")], "unroll")]

    def _place(self, one: TilePanels, panel: Index, tile: Index) -> Index:
        """Return the index at which a panel of a transformed tile begins, for point 0."""
        return (panel * one.width + one.first) * self.blocks.tiles + tile * one.width

    # -- results

    def _finishing(self, kind: str) -> list:
        """Emit the inverse transform, and the stores of results within the image."""
        size = self.form.size
        body: list[Any] = []
        for one in self.filters.panels:
            panel, lane = Axis("p", one.count), Axis("n", one.used)
            start = self._place(one, Index.of(panel), self.block.tile()) + lane
            slot = Index.of(panel) * one.width + one.first + lane

            def read(i: int, j: Index, start: Index = start) -> Expr:
                return load(self.made, start + (j + i * size) * self.step)

            def store(i: Index, j: int, value: Expr, slot: Index = slot) -> Store:
                number = i * self.form.results + j
                return Store(self.results, number * self.windows.width + slot, value)

            matrix = self.form.spread_results
            inner = both_axes(self.builder, apply_transpose, matrix, size, lane, read, store)
            body += wrap_in_loops([panel], inner, "serial")
        body += redo_if_nonfinite(self.results, self._again()) + self._handing_over()
        return wrap_in_loops(self.block.axes, body, kind)

    def _again(self) -> list:
        """Emit the results of a tile by direct convolution."""
        i, j = [Axis(name, self.form.results) for name in "xy"]
        first, second = [Axis(name, TAPS) for name in "ab"]
        channel, lane = Axis("k", self.windows.depth), Axis("n", self.windows.width)
        place = self.tiles.read(Index.of(i) + first, Index.of(j) + second) + channel
        taps = self.filters.taps(Index.of(first), Index.of(second))
        weight = self.weight(taps, Index.of(channel), ZERO, Index.of(lane), None)
        product = self.tiles.element(place) * weight
        return plain(self.results, [i, j, lane, first, second, channel], product)

    def _handing_over(self) -> list:
        """Emit the stores of a tile's results within the image."""
        results, block = self.form.results, self.block
        i, j, lane = Axis("x", results), Axis("y", results), Axis("n", self.windows.width)
        row = block.row_number() * results + i
        column = Index.of(block.column) * results + j
        offset = flat((Index.of(i), Index.of(j), Index.of(lane)), self.results.shape)
        index = (block.image_number(), row, column, Index.of(lane))
        stores = self.builder.results(self.value, index, load(self.results, offset))
        body = wrap_in_loops([lane], stores, "vector")
        rows, columns = self.windows.lines
        for axis, at, line in ((j, column, columns), (i, row, rows)):
            inside = within(at, 0, line.outs)
            body = body if inside is None else [When(inside, body)]
            body = wrap_in_loops([axis], body, "serial")
        return body
