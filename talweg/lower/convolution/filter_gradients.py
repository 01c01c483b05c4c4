"""Filter gradients of convolutions: sums over positions, a tile of the filter in registers.

    w̄[k, m] = Σ x[place + k] g[place, m]   over all images and places

A tile holds 6 neighbouring k (channels of a tap) for a panel of two vectors of m.  Places are taken
in blocks, whose part of x (layers of 16 channels) and of g (a panel) are copied so that they lie
together: read where they are, every 256 bytes say, they would fill a few sets of the first cache.

Images are dealt out in chunks to which belong sums of their own, so that threads do not
meet; a last pass adds those up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.lower.convolution.direct import RUN
from talweg.lower.convolution.filter_panels import widths
from talweg.lower.convolution.geometry import Windows, divisors, shares
from talweg.lower.convolution.padding import TASKS, copy_padded, zeros
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.handler import s
from talweg.lower.ir.index import Axis, Index, flat
from talweg.lower.ir.loops import Buffer, Expr, For, Kernel, Store, Tile, Update, When, load, within
from talweg.lower.ir.registers import registers
from talweg.lower.ir.rewrite import substitute
from talweg.passes.specialize.program import Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


CACHE = 40 << 10  # bytes of a block's copies that tiles read
SUMS = 4 << 20  # bytes of all chunks' sums
COPIED = 48  # products of a place from which on it is worth it to copy g
WIDEST = 24  # channels of x that are one layer as they are
TURNS = (7, 8, 6, 5, 4)  # places of a row at once
LAYERS = (16, 24, 12, 20, 18, 8, 10, 14)  # channels that lie together, best first


class FilterBlock(NamedTuple):
    """The block that is packed at once: `images` images, `rows` rows of results of each."""

    images: int
    rows: int


class GradientPanel(NamedTuple):
    """A panel of g: `width` channels from `channel` on, number `axis` of its kind in the group."""

    axis: Axis
    group: Index
    channel: Index
    width: int
    copy: Buffer | None  # [panels, places, width]


class FilterGradient:
    """The builder of the filter gradient's kernels."""

    def __init__(
        self, builder: LoweringBuilder, windows: Windows, x: Buffer, g: Buffer, value: Value
    ):
        self.builder, self.windows, self.value = builder, windows, value
        self.x, self.g = x, g
        self.lanes = registers().lanes(value.dtype.size)
        fitting = [n for n in LAYERS if windows.depth % n == 0]
        self.layer = windows.channels if windows.groups == 1 else windows.depth
        if fitting and windows.depth > WIDEST:
            self.layer = fitting[0]
        first = windows.lines[0]
        rows = self._rows()
        self.chunks = chunks_of(windows.batch, first.outs // rows, self._most())
        images = 1
        if rows == first.outs:
            images_of_chunk = windows.batch // self.chunks[0]
            images = max(
                [n for n in divisors(images_of_chunk) if n == 1 or self._bytes(rows, n) <= CACHE]
            )
        self.block = FilterBlock(images, rows)
        self._axes()
        spans = [first.cover(rows), *[line.span for line in windows.lines[1:]]]
        self.spans = tuple(spans)
        dtype = value.dtype
        shape = (windows.channels // self.layer, images, *spans, self.layer)
        self.copy: Buffer = builder.new("padded", dtype, shape, "scratch")
        self.places = images * rows * math.prod([line.outs for line in windows.lines[1:]])
        shape = (math.prod(self.chunks), *value.dims)
        self.sums: Buffer = builder.new("sums", dtype, shape, "temporary")

    def _bytes(self, rows: int, images: int) -> int:
        """Return the bytes of the packed operands that a tile reads."""
        first, *others = self.windows.lines
        span = first.cover(rows) * math.prod([line.span for line in others]) * self.layer
        outs = rows * math.prod([line.outs for line in others]) * 2 * self.lanes
        return (span + outs) * images * self.value.dtype.size

    @property
    def neighbours(self) -> bool:
        """Whether the channels of a column are followed by those of the next tap."""
        return self.windows.lines[-1].step == 1 and self.layer == self.windows.channels

    @property
    def run(self) -> tuple[int, int]:
        """The numbers of the filter in a run, and the number of (last) tap axes it covers."""
        run, merged = min(self.layer, self.windows.depth), 0
        lines = self.windows.lines
        while merged < len(lines) and (run < RUN or (self.neighbours and not merged)):
            merged += 1
            run *= lines[-merged].taps
        return run, merged

    def _rows(self) -> int:
        """Return the number of rows that fit into the cache."""
        outs = self.windows.lines[0].outs
        return max([rows for rows in divisors(outs) if rows == 1 or self._bytes(rows, 1) <= CACHE])

    def _most(self) -> int:
        size = self.value.size * self.value.dtype.size
        return max(1, min(2 * TASKS, SUMS // max(size, 1)))

    def _axes(self) -> None:
        """Make the loops over chunks, over blocks of a chunk, and over images of a block."""
        images, blocks = self.chunks
        lines, batch = self.windows.lines, self.windows.batch
        self.chunk, self.part = Axis("u", images), Axis("v", blocks)
        own = batch // images // self.block.images
        self.group_of_images = Axis("n", own)
        self.step = Axis("b", lines[0].outs // self.block.rows // blocks)
        first = (Index.of(self.chunk) * own + self.group_of_images) * self.block.images
        self.first_image = first
        self.row_block = Index.of(self.part) * self.step.extent + self.step
        self.own_sums = Index.of(self.chunk) * blocks + self.part

    def kernels(self, name: str) -> list[Kernel]:
        """Build the kernels of partial sums, and the one that adds those of all chunks."""
        names = (self.value.maker.prim.name,)  # type: ignore[union-attr]
        found = [
            Kernel(f"{name}{number or ''}", loops, names)
            for number, loops in enumerate(self._summing())
        ]
        return [*found, total_of(self.builder, self.value, self.sums, f"{name}total")]

    # -- loops over panels and blocks

    def _summing(self) -> list[list]:
        """Emit parallel loops over chunks, and over panels if chunks are few."""
        windows = self.windows
        panels = widths(windows.width, self.lanes)
        alone = math.prod(self.chunks) >= TASKS
        loops: list[Any] = []
        for some in [panels] if alone else [[one] for one in panels]:
            group = Axis("g", windows.groups)
            gradient_panels: list[GradientPanel] = []
            for first, count, width in some:
                used = min(width, windows.width - first)
                gradient_panels.append(
                    self._panel_of(Axis("p", count), Index.of(group), first, used)
                )
            tiles = [self._panel(panel) for panel in gradient_panels]
            copied = self._copies_of_x()
            if alone:
                before = zeros(self.sums, self.own_sums * self.value.size, self.value.size)
                inner: list[Any] = self._copies_of_g(gradient_panels)
                for panel, body in zip(gradient_panels, tiles):
                    inner += wrap_in_loops([panel.axis], body, "serial")
                outer, body = (
                    [self.chunk, self.part],
                    copied + wrap_in_loops([group], inner, "serial"),
                )
            else:
                before = self._clear(gradient_panels[0])
                outer = [self.chunk, self.part, group, gradient_panels[0].axis]
                body = copied + self._copies_of_g(gradient_panels, alone=True) + tiles[0]
            blocks = wrap_in_loops([self.group_of_images, self.step], body, "serial")
            loops.append(wrap_in_loops(outer, before + blocks, "parallel"))
        return loops

    def _panel_of(self, axis: Axis, group: Index, first: int, width: int) -> GradientPanel:
        """Return a panel that begins with channel `first` of a group, and its copy's buffer."""
        copy = None
        if self.windows.reduced >= COPIED:
            shape = (axis.extent, self.places, width)
            copy = self.builder.new("panel", self.value.dtype, shape, "scratch")
        channel = group * self.windows.width + Index.of(axis) * width + first
        return GradientPanel(axis, group, channel, width, copy)

    def _clear(self, panel: GradientPanel) -> list:
        """Emit zeros in a panel of the chunk's sums."""
        filters = self.value.dims[-1]
        row = Axis("z", self.value.size // filters)
        start = self.own_sums * self.value.size + Index.of(row) * filters + panel.channel
        return [For(row, zeros(self.sums, start, panel.width))]

    def _copies_of_x(self) -> list:
        lines = self.windows.lines
        image = Axis("i", self.block.images)
        size = math.prod([line.size for line in lines]) * self.windows.channels
        start = (self.first_image + image) * size
        copied = copy_padded(
            self.x,
            start,
            self.copy,
            self.windows,
            self.block.rows,
            self.row_block,
            self.layer,
            Index.of(image),
            zero_rows=self.run[1] > 1,
        )
        return wrap_in_loops([image], copied, "serial")

    def _copies_of_g(self, panels: list, alone: bool = False) -> list:
        """Emit the packing of panels of g, position after position, in the order of g.

        alone: of one panel only, that of the loop around.
        """
        lines, filters = self.windows.lines, self.value.dims[-1]
        image = Axis("i", self.block.images)
        places_of_image = self.places // self.block.images
        axis = Axis("d", places_of_image)
        outs = math.prod([line.outs for line in lines])
        there = (self.first_image + image) * outs + self.row_block * places_of_image + axis
        here = Index.of(image) * places_of_image + axis
        body: list[Any] = []
        for panel in panels:
            if panel.copy is None:
                continue
            lane = Axis("l", panel.width)
            one = self._of_g(there * filters + panel.channel + lane)
            target = (Index.of(panel.axis) * self.places + here) * panel.width + lane
            stores = wrap_in_loops([lane], [Store(panel.copy, target, one)], "vector")
            body += stores if alone else wrap_in_loops([panel.axis], stores, "serial")
        return wrap_in_loops([image, axis], body, "serial") if body else []

    def _of_g(self, index: Index) -> Expr:
        return s.cast(load(self.g, index), self.value.dtype)

    # -- tiles

    def _panel(self, panel: GradientPanel) -> list:
        """Emit all tiles of a panel, for one block of positions."""
        windows = self.windows
        taps = [Axis(f"k{k}", line.taps) for k, line in enumerate(windows.lines)]
        layers = Axis("y", windows.depth // self.layer if self.layer < windows.depth else 1)
        run, merged = self.run
        outer = taps[: len(taps) - merged]
        heights = shares(run, registers().rows(-(-panel.width // self.lanes)))
        straight = not merged or (self.neighbours and merged == 1)
        start = 0
        inner: list[Any] = []
        for height in heights if not straight else dict.fromkeys(heights):
            count = heights.count(height) if straight else 1
            part = Axis("t", count)
            first = Index.of(part) * height + start
            body = self._tile(panel, Index.of(layers), outer, first, height)
            inner += wrap_in_loops([part], body, "serial")
            start += count * height
        return wrap_in_loops([layers, *outer], inner, "serial")

    def _tile(
        self, panel: GradientPanel, layer: Index, outer: list, first: Index, height: int
    ) -> list:
        """Emit a tile: `height` numbers from `first` on, of those that follow the taps `outer`."""
        windows, value = self.windows, self.value
        width, channel = panel.width, panel.channel
        depth = min(self.layer, windows.depth)
        m, n = Axis("m", height), Axis("n", width)
        tile = Tile("w", value.dtype, (height, width))
        k = first + m  # from here on the tap and the channel within a layer
        sizes = tuple([line.taps for line in windows.lines])
        taps = [*map(Index.of, outer), *_split(k // depth, sizes[len(outer) :])]
        channel_in_layer = k % depth + layer * depth  # the channel within the group
        outs = [self.block.rows, *[line.outs for line in windows.lines[1:]]]
        places = [Axis("i", self.block.images), *[Axis(f"d{j}", n) for j, n in enumerate(outs)]]
        at = tuple(map(Index.of, places))
        product = load(
            self.copy, self._place(at, taps, panel.group * windows.depth + channel_in_layer)
        )
        if panel.copy is None:
            product = product * self._of_g(self._place_of_g(at) * value.dims[-1] + channel + n)
        else:
            offset = flat(at, tuple([axis.extent for axis in places]))
            offset = Index.of(panel.axis) * self.places + offset
            product = product * load(panel.copy, offset * width + n)
        body: list = [For(m, [For(n, [Update(tile, (m, n), product, "add")], "vector")], "unroll")]
        body = _some_at_once(places[-1], body)
        inside = self._rows_inside(at[1:-1], outer)
        if inside is not None:
            body = [When(inside, body)]
        body = wrap_in_loops(places[:-1], body, "serial")
        row = flat((self.own_sums, *taps, channel_in_layer), (0, *sizes, windows.depth))
        store = Store(self.sums, row * value.dims[-1] + channel + n, tile.at(m, n), "add")
        return [tile, *body, For(m, [For(n, [store], "vector")], "unroll")]

    def _rows_inside(self, rows: tuple, outer: list) -> Expr | None:
        """Return whether taps are in rows of x, where that is uniform over a tile."""
        found = []
        own = [rows[0] + self.row_block * self.block.rows, *rows[1:]]
        for line, row, tap in zip(self.windows.lines, own, outer):
            place = row * line.scale + Index.of(tap) * line.step + line.origin
            found.append(within(place, 0, line.size))
        return s.all(*found)

    def _place_of_g(self, at: tuple) -> Index:
        """Return the number of a block's position among all positions."""
        outs = tuple([line.outs for line in self.windows.lines])
        row = at[1] + self.row_block * self.block.rows
        return flat((self.first_image + at[0], row, *at[2:]), (0, *outs))

    def _place(self, at: tuple, taps: list, channel: Index) -> Index:
        """Return the index of a channel in the copy, for a position of the block and a tap."""
        number, within_layer = channel // self.layer, channel % self.layer
        found = number * self.block.images + at[0]
        for line, place, tap, span in zip(self.windows.lines, at[1:], taps, self.spans):
            found = found * span + place * line.scale + tap * line.step
        return found * self.layer + within_layer


def _some_at_once(axis: Axis, body: list) -> list:
    """Emit a loop along a row, unrolled by several positions a turn."""
    extent = axis.extent
    many = next((n for n in TURNS if extent % n == 0), TURNS[-1])
    whole, rest = divmod(extent, many)
    turn, one = Axis("q", whole), Axis(axis.name, many)
    found: list[Any] = []
    if whole:
        inner = substitute(body, {axis: Index.of(turn) * many + one})
        found = wrap_in_loops([turn], wrap_in_loops([one], inner, "unroll"), "serial")
    if rest:
        one = Axis(axis.name, rest)
        inner = substitute(body, {axis: Index.of(one) + whole * many})
        found += wrap_in_loops([one], inner, "unroll")
    return found


def _split(number: Index, sizes: tuple) -> list[Index]:
    """Return the taps of the last axes from their number."""
    found: list[Index] = []
    for position, size in enumerate(reversed(sizes)):
        last = position == len(sizes) - 1
        found.append(number if last else number % size)
        number = number // size
    return found[::-1]


def chunks_of(images: int, blocks: int, most: int) -> tuple[int, int]:
    """Return the numbers of groups of images and of row blocks that work is divided into."""

    def enough(number: int, already: int) -> int:
        fitting = [n for n in divisors(number) if n * already <= most]
        good = [n for n in fitting if n * already >= TASKS]
        return good[0] if good else fitting[-1]

    count = enough(images, 1)
    return count, enough(blocks, count)


def total_of(
    builder: LoweringBuilder,
    value: Value,
    sums: Buffer,
    name: str,
    place_of: Callable[[tuple], Index] | None = None,
    size: int | None = None,
) -> Kernel:
    """Return the kernel that adds up the sums of all chunks.

    Where those of a chunk are not as the value is: `place_of` the index, in `size` numbers.
    """
    axes = [Axis(f"k{k}", size) for k, size in enumerate(value.dims)]
    index = tuple(map(Index.of, axes))
    offset = flat(index, value.dims) if place_of is None else place_of(index)
    total: Expr | None = None
    for chunk in range(sums.shape[0]):
        one = load(sums, offset + chunk * (size or value.size))
        total = one if total is None else total + one
    assert total is not None
    body = wrap_in_loops(axes[-1:], builder.results(value, index, total), "vector")
    names = (value.maker.prim.name,)  # type: ignore[union-attr]
    return Kernel(name, wrap_in_loops(axes[:-1], body, "parallel"), names)
