"""Winograd's filter gradients of 3x3 convolutions: sums over tiles of x and of g.

    w̄ = Gᵀ [Σ (A g Aᵀ) ∘ (Bᵀ x B)] G   over the tiles of all images

For each of the (m + 2)² points there is a product of matrices [depth, tiles] [tiles, width], and
these sums are transformed back once, at the end.  A block of tiles after the other is transformed
and multiplied by all threads together, who share the points and panels: so there is one set of
sums, and the order in which they are made is the same for any number of threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.lower.convolution.geometry import Windows
from talweg.lower.convolution.padding import zeros
from talweg.lower.convolution.winograd_nonfinite import plain_filters, redo_if_nonfinite
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
from talweg.lower.convolution.winograd_transforms import TAPS, apply_transpose
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.ir.index import Axis, Index, flat
from talweg.lower.ir.loops import Buffer, Expr, For, Kernel, Repeat, Store, Tile, Update, load
from talweg.passes.specialize.program import Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


class WinogradFilters:
    """The builder of the blocks for one filter gradient."""

    def __init__(
        self,
        builder: LoweringBuilder,
        windows: Windows,
        x: Buffer,
        g: Buffer,
        value: Value,
        blocks: WinogradBlocking,
    ):
        self.builder, self.windows, self.value = builder, windows, value
        self.blocks, self.form = blocks, blocks.form
        self.outer = [
            Axis("n", windows.batch // blocks.images),
            Axis("b", blocks.tile_rows // blocks.rows),
        ]
        block = TileBlock(blocks, *self.outer)
        form, size = self.form, value.dtype.size
        self.inputs = TransformedTiles(
            builder,
            block,
            x,
            grow_to_tiles(windows, form),
            form.spread_input,
            layers_of(windows.depth),
            "temporary",
            value.dtype,
        )
        self.cotangents = TransformedTiles(
            builder,
            block,
            g,
            grow_to_tiles(results_of(windows), form),
            form.spread_results,
            panels_of(windows.width, size),
            "temporary",
            value.dtype,
        )
        self.columns = sum([one.count * one.width for one in self.cotangents.panels])
        self.step = apart(windows.depth * self.columns, size)
        self.sums: Buffer = builder.new(
            "sums", value.dtype, (form.products, self.step), "temporary"
        )
        shape = (TAPS, TAPS, windows.width)
        self.results: Buffer = builder.new("results", value.dtype, shape, "scratch")

    def kernels(self, name: str) -> list:
        """Build the blocks; the last is the kernel that makes the result of the sums."""
        names = (self.value.maker.prim.name,)  # type: ignore[union-attr]
        body: list[Any] = self.inputs.kernels(f"{name}tiles", names)
        body += self.cotangents.kernels(f"{name}cotangents", names)
        alone = all(axis.extent == 1 for axis in self.outer)
        body.append(Kernel(f"{name}products", self._products(None if alone else "add"), names))
        for axis in reversed(self.outer):
            body = body if axis.extent == 1 else [Repeat(axis, body)]
        if not alone:
            row = Axis("w", self.form.products)
            clearing = wrap_in_loops(
                [row], zeros(self.sums, Index.of(row) * self.step, self.step), "parallel"
            )
            body.insert(0, Kernel(f"{name}clear", clearing, names))
        return [*body, Kernel(name, self._finishing(), names)]

    def _products(self, op: str | None) -> list:
        """Emit the products of channels and results at each point, summed over a block's tiles."""
        statements: list[Any] = []
        point = Axis("w", self.form.products)
        (layers,) = self.inputs.panels
        for one in self.cotangents.panels:
            panel, layer = Axis("p", one.count), Axis("l", layers.count)
            body: list[Any] = []
            for run in rows_of(one, layers.width, self.value.dtype.size):
                part = Axis("t", run.count)
                first = Index.of(part) * run.size + run.first
                inner = self._product(one, panel, layer, point, first, run.size, op)
                body += wrap_in_loops([part], inner, "serial")
            statements += wrap_in_loops(
                [point, panel], wrap_in_loops([layer], body, "serial"), "parallel"
            )
        return statements

    def _product(
        self,
        one: TilePanels,
        panel: Axis,
        layer: Axis,
        point: Axis,
        first: Index,
        height: int,
        op: str | None,
    ) -> list:
        """Emit the sums for `height` channels of a layer, from number `first` on, and a panel."""
        m, n, number = Axis("m", height), Axis("n", one.used), Axis("k", self.blocks.tiles)
        (layers,) = self.inputs.panels
        tile = Tile("w", self.value.dtype, (height, one.used))
        at = Index.of(number)
        left = load(
            self.inputs.buffer, self.inputs.place(layers, Index.of(layer), at, point) + first + m
        )
        right = load(
            self.cotangents.buffer, self.cotangents.place(one, Index.of(panel), at, point) + n
        )
        update = Update(tile, (m, n), left * right, "add")
        body = wrap_in_loops([number], [For(m, [For(n, [update], "vector")], "unroll")], "serial")
        channel = Index.of(layer) * layers.width + first + m
        offset = self._place(one, Index.of(panel), channel) + Index.of(point) * self.step + n
        store = Store(self.sums, offset, tile.at(m, n), op)
        return [tile, *body, For(m, [For(n, [store], "vector")], "unroll")]

    def _place(self, one: TilePanels, panel: Index, channel: Index) -> Index:
        """Return the index of a panel's sums for a channel, for point 0."""
        return (panel * one.width + one.first) * self.windows.depth + channel * one.width

    def _finishing(self) -> list:
        """Emit the inverse transform of the sums, and the stores of results."""
        size, channel, width = self.form.size, Axis("c", self.windows.depth), self.windows.width
        body: list[Any] = []
        for one in self.cotangents.panels:
            panel, lane = Axis("p", one.count), Axis("n", one.used)
            start = self._place(one, Index.of(panel), Index.of(channel)) + lane
            slot = Index.of(panel) * one.width + one.first + lane

            def read(i: int, j: Index, start: Index = start) -> Expr:
                return load(self.sums, start + (j + i * size) * self.step)

            def store(i: Index, j: int, value: Expr, slot: Index = slot) -> Store:
                return Store(self.results, (i * TAPS + j) * width + slot, value)

            matrix = self.form.spread_filter
            inner = both_axes(self.builder, apply_transpose, matrix, size, lane, read, store)
            body += wrap_in_loops([panel], inner, "serial")
        again = plain_filters(
            self.windows, self.inputs.source, self.cotangents.source, self.results, channel
        )
        body += redo_if_nonfinite(self.results, again)
        i, j, lane = Axis("x", TAPS), Axis("y", TAPS), Axis("n", width)
        result = load(self.results, flat(tuple(map(Index.of, (i, j, lane))), self.results.shape))
        index = tuple(map(Index.of, (i, j, channel, lane)))
        stores = self.builder.results(self.value, index, result)
        body += wrap_in_loops([i, j], wrap_in_loops([lane], stores, "vector"), "serial")
        return wrap_in_loops([channel], body, "parallel")


def results_of(windows: Windows) -> Windows:
    """Return the windows of one position each that read the results of a convolution."""
    lines = [line._replace(size=line.outs, taps=1, origin=0) for line in windows.lines]
    return windows._replace(lines=tuple(lines), depth=windows.width, width=windows.depth)
