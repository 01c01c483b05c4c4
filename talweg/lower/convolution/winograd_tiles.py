"""Transformed tiles of an image, the operands of Winograd's products.

A block has some tiles of one image or several.  For each point the transformed tiles lie in panels
of channels, [tiles, width] each, so that what a product reads is one stretch of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.core.dtypes import DType
from talweg.lower.convolution.filter_panels import widths
from talweg.lower.convolution.geometry import Windows, shares
from talweg.lower.convolution.padding import copy_padded
from talweg.lower.convolution.winograd_selection import WinogradBlocking
from talweg.lower.convolution.winograd_transforms import Matrix, WinogradTransform, spread
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.handler import s
from talweg.lower.ir.index import Axis, Index, flat
from talweg.lower.ir.loops import Buffer, Expr, For, Kernel, Store, load
from talweg.lower.ir.registers import registers
from talweg.lower.matmul.register_tiles import TileRun, runs

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


LINE = 64  # bytes
WIDEST = 24  # channels that are one panel as they are
LAYERS = (16, 24, 12, 20, 18, 8)  # channels of a panel, best first


class TilePanels(NamedTuple):
    """`count` panels of `width` channels, `used` of them real, which begin with number `first`."""

    first: int
    count: int
    width: int
    used: int


def panels_of(channels: int, size: int) -> list[TilePanels]:
    """Partition channels into panels of as many vectors as register tiles are wide."""
    return [
        TilePanels(first, count, width, min(width, channels - first))
        for first, count, width in widths(channels, registers().lanes(size))
    ]


def layers_of(channels: int) -> list[TilePanels]:
    """Partition channels that are read one by one into panels."""
    fitting = [count for count in LAYERS if channels % count == 0]
    width = fitting[0] if fitting and channels > WIDEST else channels
    return [TilePanels(0, channels // width, width, width)]


def rows_of(panels: TilePanels, rows: int, size: int) -> list[TileRun]:
    """Return the heights of the register tiles as wide as the panels, for this many rows."""
    vectors = -(-panels.width // registers().lanes(size))
    return runs(shares(rows, registers().rows(vectors)))


def apart(count: int, size: int) -> int:
    """Pad a stride so that successive steps map to different cache sets."""
    line = LINE // size
    lines = -(-count // line)
    return (lines + 1 - lines % 2) * line


def both_axes(
    builder: LoweringBuilder,
    function: Callable,
    matrix: Matrix,
    size: int,
    lane: Axis,
    read: Callable,
    store: Callable,
) -> list:
    """Apply `function` (of `winograd_transforms.py`) to columns, then to rows.

    `read(i, j)` is an element for a lane, `store(i, j, value)` the statement that takes a result;
    j, and then i, are axes of loops: written out, all this would be long.
    """
    column = Axis("j", size)
    columns_done = function(matrix, [read(i, Index.of(column)) for i in range(size)])
    shape = (len(columns_done), size, lane.extent)
    between: Buffer = builder.new("columns", columns_done[0].dtype, shape, "scratch")

    def place(i: Axis | int, j: Axis | int) -> Index:
        return flat((Index.of(i), Index.of(j), Index.of(lane)), shape)

    first = [Store(between, place(i, column), value) for i, value in enumerate(columns_done)]
    row = Axis("i", len(columns_done))
    values = function(matrix, [load(between, place(row, j)) for j in range(size)])
    second = [store(Index.of(row), j, value) for j, value in enumerate(values)]
    return [For(lane, [For(column, first), For(row, second)], "vector")]


class TileBlock:
    """The position of a block of tiles: among images from `first` on, and among rows of tiles."""

    def __init__(self, blocks: WinogradBlocking, images: Axis, rows: Axis):
        self.blocks, self.images, self.rows = blocks, images, rows
        self.image = Axis("i", blocks.images)
        self.row, self.column = Axis("r", blocks.rows), Axis("c", blocks.columns)

    @property
    def axes(self) -> list[Axis]:
        """The axes of its tiles."""
        return [self.image, self.row, self.column]

    def image_number(self) -> Index:
        """Return the number of a tile's image."""
        return Index.of(self.images) * self.blocks.images + self.image

    def row_number(self) -> Index:
        """Return the number of a tile's row of tiles in its image."""
        return Index.of(self.rows) * self.blocks.rows + self.row

    def tile(self) -> Index:
        """Return the number of a tile in the block."""
        at = (Index.of(self.image), Index.of(self.row), Index.of(self.column))
        return flat(at, (0, self.blocks.rows, self.blocks.columns))


class TransformedTiles:
    """The transform of a block's tiles in `source` by `matrix`, on both axes.

    `windows` are those of whole tiles, some of which may reach over the end of `source`; `kind` is
    that of the buffers, `dtype` theirs, to which numbers are converted.
    """

    def __init__(
        self,
        builder: LoweringBuilder,
        block: TileBlock,
        source: Buffer,
        windows: Windows,
        matrix: Matrix,
        panels: list[TilePanels],
        kind: str,
        dtype: DType,
    ):
        self.builder, self.block, self.source, self.windows = builder, block, source, windows
        self.dtype = dtype
        self.matrix, self.panels = matrix, panels
        self.form: WinogradTransform = block.blocks.form
        tiles = block.blocks.tiles
        self.step = apart(tiles * sum([one.count * one.width for one in panels]), dtype.size)
        shape = (self.form.products, self.step)
        self.buffer: Buffer = builder.new("tiles", dtype, shape, kind)
        self.copy: Buffer | None = None
        if windows.padded:
            first, second = windows.lines
            spans = (first.cover(block.blocks.rows * self.form.results), second.span)
            shape = (block.blocks.images, *spans, windows.channels)
            self.copy = builder.new("padded", dtype, shape, kind)

    def element(self, index: Index) -> Expr:
        """Return the number at an index of what tiles are read from."""
        return s.cast(load(self.source if self.copy is None else self.copy, index), self.dtype)

    def kernels(self, name: str, names: tuple) -> list[Kernel]:
        """Build the kernels in which all threads transform the tiles together."""
        found = [Kernel(name, self.transforming("parallel"), names)]
        if self.copy is not None:
            found.insert(0, Kernel(f"{name}padded", self.copying("parallel"), names))
        return found

    def copying(self, kind: str = "serial") -> list:
        """Emit the zero-padded copy, if there is one."""
        if self.copy is None:
            return []
        block, size = self.block, self.windows.channels
        for line in self.windows.lines:
            size *= line.size
        rows = block.blocks.rows * self.form.results
        body = copy_padded(
            self.source,
            block.image_number() * size,
            self.copy,
            self.windows,
            rows,
            Index.of(block.rows),
            self.windows.channels,
            Index.of(block.image),
            kind=kind,
        )
        return wrap_in_loops([block.image], body, kind)

    def transforming(self, kind: str = "serial") -> list:
        """Emit the transform of the tiles."""
        size = len(self.matrix[0])
        statements: list[Any] = []
        for one in self.panels:
            panel, lane = Axis("p", one.count), Axis("k", one.used)
            channel = Index.of(panel) * one.width + one.first + lane
            start = self.place(one, Index.of(panel), self.block.tile()) + lane

            def read(i: int, j: Index, channel: Index = channel) -> Expr:
                return self.element(self.read(i, j) + channel)

            def store(i: Index, j: int, value: Expr, start: Index = start) -> Store:
                return Store(self.buffer, start + (i * self.form.size + j) * self.step, value)

            body = both_axes(self.builder, spread, self.matrix, size, lane, read, store)
            statements += wrap_in_loops([panel], body, "serial")
        return wrap_in_loops(self.block.axes, statements, kind)

    def place(self, one: TilePanels, panel: Index, tile: Index, point: Axis | int = 0) -> Index:
        """Return the index at which a panel of a tile begins."""
        first = (panel * one.width + one.first) * self.block.blocks.tiles
        return Index.of(point) * self.step + first + tile * one.width

    def read(self, i: Index | int, j: Index) -> Index:
        """Return the index of the numbers at (i, j) of a tile."""
        first, second = self.windows.lines
        block, results = self.block, self.form.results
        column = Index.of(block.column) * results + j
        if self.copy is None:
            row = block.row_number() * results + i + first.origin
            at = (block.image_number(), row, column + second.origin)
            return flat(at, (0, first.size, second.size)) * self.windows.channels
        at = (Index.of(block.image), Index.of(block.row) * results + i, column)
        return flat(at, self.copy.shape[:3]) * self.windows.channels
