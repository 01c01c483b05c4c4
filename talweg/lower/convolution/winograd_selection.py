"""Selection of Winograd's algorithm: whether, with which tiles, in which blocks.

Costs are estimated in cycles of a core that does two vector products in each, from measurements on
one (AMD Zen 3, float32): the products reach 90 % of that; a transform takes a few cycles for each
vector and point; transformed filters that do not stay in the second cache come at 3 bytes a cycle.
The estimates are within a fifth of what was measured for 3x3 filters of 16 to 512 channels.
"""

from __future__ import annotations

from typing import NamedTuple

from talweg.core import settings
from talweg.lower.convolution.filter_panels import widths
from talweg.lower.convolution.geometry import Windows, divisors, shares
from talweg.lower.convolution.winograd_transforms import PAIRS, TAPS, WinogradTransform, form_of
from talweg.lower.ir.registers import registers

GAIN = 0.9  # of the cost of plain products: what Winograd's must stay below
PLAIN, PRODUCTS = 0.93, 0.9  # of the best speed
READ, FINISH = 4.0, 5.0  # cycles for a vector and a point: of a tile before and after the products
SPREAD, SPREAD_FAR = 6.0, 11.0  # of a filter; of filters that go to memory
NEAR, FAR = 256 << 10, 4 << 20  # bytes that stay in the second cache, and in the third
STREAM = 3.0  # bytes a cycle from there
LIMIT = 8 << 20  # bytes of a block's transformed tiles and results
SHARED_LIMIT = 32 << 20  # the same where all threads share it
SLOWER = ((3 << 17, 1.0), (3 << 19, 1.8), (1 << 62, 2.8))  # transforms, by bytes of a block


class WinogradBlocking(NamedTuple):
    """The tiles of a task: `rows` rows of `columns` tiles of each of `images` images.

    shared: the work on a block is shared by all threads.
    """

    form: WinogradTransform
    images: int
    rows: int
    tile_rows: int
    columns: int
    shared: bool

    @property
    def tiles(self) -> int:
        """The number of tiles of a block."""
        return self.images * self.rows * self.columns


class WinogradSizes(NamedTuple):
    """The sizes that the costs of Winograd's algorithm depend on."""

    windows: Windows
    size: int  # of a number, in bytes

    @property
    def lanes(self) -> int:
        """The number of lanes of a vector."""
        return registers().lanes(self.size)

    @property
    def columns(self) -> int:
        """The number of results, padded to whole panels and vectors."""
        found = widths(self.windows.width, self.lanes)
        return sum([count * max(width, self.lanes) for _, count, width in found])

    @property
    def vectors(self) -> tuple[int, int]:
        """The numbers of vectors of the channels, and of the results."""
        return -(-self.windows.depth // self.lanes), -(-self.windows.width // self.lanes)

    def plain(self) -> float:
        """Estimate the cost of direct convolution."""
        windows = self.windows
        outs = windows.batch * windows.lines[0].outs * windows.lines[1].outs
        return outs * windows.reduced * self.columns / (2 * self.lanes * PLAIN)

    def filters(self, form: WinogradTransform) -> int:
        """Return the bytes of transformed filters."""
        return form.products * self.windows.depth * self.columns * self.size

    def block(self, form: WinogradTransform, tiles: int) -> int:
        """Return the bytes of intermediate results for this many tiles."""
        return form.products * tiles * (self.windows.depth + self.columns) * self.size

    def slower(self, blocks: WinogradBlocking) -> float:
        """Return the factor by which cache misses slow the transforms."""
        nbytes = self.block(blocks.form, blocks.tiles)
        return next(factor for most, factor in SLOWER if nbytes <= most)

    def forward(self, blocks: WinogradBlocking) -> float:
        """Estimate the cost of a convolution."""
        windows, form, tiles = self.windows, blocks.form, blocks.tiles
        nbytes = self.filters(form)
        each = SPREAD if nbytes <= FAR else SPREAD_FAR
        product_cost = windows.depth * self.columns / self.lanes * form.products * each
        tall = registers().rows(2)
        slots = sum([max(height, tall - 2) for height in shares(tiles, tall)])
        products = slots * form.products * windows.depth * self.columns
        cost = products / (2 * self.lanes * PRODUCTS)
        if nbytes > NEAR:
            cost = max(cost, nbytes / STREAM)
        channels, results = self.vectors
        transforms = tiles * form.products * (READ * channels + FINISH * results)
        transforms *= self.slower(blocks)
        return product_cost + (cost + transforms) * self._count(blocks)

    def backward(self, blocks: WinogradBlocking) -> float:
        """Estimate the cost of a filter gradient."""
        windows, form, tiles = self.windows, blocks.form, blocks.tiles
        channels, results = self.vectors
        products = tiles * form.products * windows.depth * self.columns
        cost = products / (2 * self.lanes * PRODUCTS)
        transforms = tiles * form.products * READ * (channels + results) * self.slower(blocks)
        sums, count = self.filters(form), self._count(blocks)
        if count > 1:
            cost += 2 * sums / (3 * STREAM)
        finish = SPREAD if sums <= FAR else SPREAD_FAR
        found = windows.depth * self.columns / self.lanes * form.products * finish
        return found + (cost + transforms) * count

    def _count(self, blocks: WinogradBlocking) -> int:
        """Return the number of blocks."""
        parts = blocks.tile_rows // blocks.rows
        return self.windows.batch // blocks.images * parts


def grow_to_tiles(windows: Windows, form: WinogradTransform) -> Windows:
    """Return the windows of whole tiles, some of which may extend over the end."""
    lines = [
        line._replace(outs=-(-line.outs // form.results) * form.results) for line in windows.lines
    ]
    return windows._replace(lines=tuple(lines))


def is_short(windows: Windows) -> bool:
    """Return whether the filters are 3x3 with all channels in one group."""
    lines = windows.lines
    plain = [(line.taps, line.scale, line.step, line.stride) == (TAPS, 1, 1, 1) for line in lines]
    return len(lines) == 2 and all(plain) and windows.groups == 1


def choose(windows: Windows, size: int, threads: int) -> WinogradBlocking | None:
    """Choose how a convolution is computed by Winograd's algorithm; None if direct is as good.

    Whether it does depends on the shapes alone, so that results are the same on any threads.
    """
    form = _best_form(windows, size, False)
    if form is None:
        return None
    sizes, count = WinogradSizes(windows, size), windows.batch
    options = _options(sizes, form, False)
    if threads > 1:
        enough = [
            one
            for one in options
            if count // one.images * (one.tile_rows // one.rows) >= 2 * threads
        ]
        rows = options[0].tile_rows
        whole = WinogradBlocking(form, count, rows, rows, options[0].columns, True)
        if not enough and sizes.block(form, whole.tiles) <= SHARED_LIMIT:
            return whole
        options = enough or options
    return min(options, key=sizes.forward)


def choose_filters(windows: Windows, size: int) -> WinogradBlocking | None:
    """Choose how a filter gradient is computed by Winograd's algorithm."""
    form = _best_form(windows, size, True)
    if form is None:
        return None
    sizes = WinogradSizes(windows, size)
    return min(_options(sizes, form, True), key=sizes.backward)


def _best_form(windows: Windows, size: int, filters: bool) -> WinogradTransform | None:
    if not is_short(windows) or not settings.winograd.get():
        return None
    sizes = WinogradSizes(windows, size)
    measure = sizes.backward if filters else sizes.forward
    costs = {
        form: min(map(measure, _options(sizes, form, filters))) for form in map(form_of, PAIRS)
    }
    best = min(costs, key=lambda form: costs[form])
    return best if costs[best] < GAIN * sizes.plain() else None


def _options(sizes: WinogradSizes, form: WinogradTransform, shared: bool) -> list[WinogradBlocking]:
    """Return all blocks of equal size that are not too large, or else the smallest."""
    windows = sizes.windows
    rows, columns = [-(-line.outs // form.results) for line in windows.lines]
    found = [WinogradBlocking(form, 1, some, rows, columns, shared) for some in divisors(rows)]
    found += [
        WinogradBlocking(form, images, rows, rows, columns, shared)
        for images in divisors(windows.batch)[1:]
    ]
    fitting = [one for one in found if sizes.block(form, one.tiles) <= LIMIT]
    return fitting or found[:1]
