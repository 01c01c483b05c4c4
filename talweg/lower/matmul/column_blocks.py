"""Products with a y that exceeds the second cache: by blocks of its columns.

The columns of y go in groups of panels.  Of each group some rows, a part of k, are copied into
panels that stay in the second cache while all rows of x go by (Goto and van de Geijn 2008, "Anatomy
of high-performance matrix multiplication", with the panels of y where they have those of x).  So y
is read from memory once and its panels are never written there; x is read once for each group.

Threads share the groups, and each has the panels of its own.

Rows x k x n in GFLOP/s, one thread with AVX-512 (`*`: transposed), by BLAS, or with all panels made
beforehand, and so: 512 x 256 x 8192 131 and 165; 512 x 8192 x 256* 130 and 154; 256 x 512* x 8192
123 and 159; 1024 x 1024 x 1024 157 and 168; 2048 x 512 x 4096 162 and 177; 4096 x 4096 x 4096 166
and 170.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.lower.convolution.geometry import shares
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.fusion.tile_results import all_shared
from talweg.lower.fusion.views import LEAST_ROWS
from talweg.lower.ir.index import ZERO, Axis, Index
from talweg.lower.ir.loops import For, Kernel
from talweg.lower.ir.registers import registers
from talweg.lower.matmul.operands import Product
from talweg.lower.matmul.register_tiles import (
    Copy,
    DepthPart,
    OperandPanels,
    TiledProduct,
    TileRun,
    runs,
)

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder

GROUP_BYTES = {64: 1 << 20, 32: 1 << 18}  # of a group's panels, by vectors


def by_column_blocks(builder: LoweringBuilder, product: Product) -> ColumnBlocks | None:
    """Lower the product by blocks of columns, if that is profitable."""
    size = product.k * product.n * product.value.dtype.size
    if product.count != 1 or product.rows < LEAST_ROWS or size <= group_bytes():
        return None
    if product.y.buffer in builder.fixed:  # copied once, before a loop
        return None
    found = ColumnBlocks(builder, product)
    return found if found.panels[0].count >= builder.threads else None


def group_bytes() -> int:
    """Return the bytes of a group's panels for the register file."""
    return GROUP_BYTES[registers().vector_bytes]


class ColumnBlocks(TiledProduct):
    """The builder of the blocks of one large product."""

    def __init__(self, builder: LoweringBuilder, product: Product):
        super().__init__(builder, product)
        self.shared = True
        self.present: DepthPart = self.parts[0]  # that the panels are of
        self.first = ZERO  # the first of them

    def _blocks(self) -> int:
        return 1

    def blocks_of(self, name: str) -> list:
        """Build the kernel, after one that copies x if that is transposed."""
        blocks: list[Any] = []
        names = [value.maker.prim.name for value in self.builder.current.members]
        if self.copies_x:
            size = self.product.rows * self.product.k
            self.left = self._pack_operand(self.product.x, size, self._rows_packing, True)
            blocks.append(Kernel(f"{name}panels", self.left.body, names[:1]))
        groups = [(one, run) for one in self.panels for run in self._groups(one)]
        most = max([run.size * one.width for one, run in groups])
        deepest = max([part.size for part in self.parts])
        buffer = self.builder.new("panels", self.dtype, (most * deepest,), "scratch")
        self.right = Copy(buffer, ZERO, [])
        loops: list[Any] = []
        for one, run in groups:
            group = Axis("g", run.count)
            first = Index.of(group) * run.size + run.first
            loops += wrap_in_loops([group], self._group(one, first, run.size), "parallel")
        kernel = Kernel(name, all_shared(loops), names)
        kernel.node = self.product.node
        return [*blocks, kernel]

    def _groups(self, one: OperandPanels) -> list[TileRun]:
        """Partition panels into groups that fit the second cache, as many as threads need."""
        deepest = max([part.size for part in self.parts])
        most = max(1, group_bytes() // (deepest * one.width * self.dtype.size))
        threads = self.builder.threads
        if threads > 1:
            most = max(1, min(most, one.count // (2 * threads) or one.count // threads))
        return runs(shares(one.count, most))

    def _group(self, one: OperandPanels, first: Index, count: int) -> list:
        """Emit the work on `count` panels from `first` on."""
        body: list[Any] = []
        parts = self.parts
        alike = [part for part in parts[1:-1] if part.size == parts[1].size]
        if len(alike) < len(parts) - 2 or len(alike) < 2:
            for part in parts:
                body += self._part(one, first, count, part)
            return body
        turn = Axis("q", len(alike))
        inner = alike[0]._replace(first=Index.of(turn) * alike[0].size + alike[0].first)
        body += self._part(one, first, count, parts[0])
        body.append(For(turn, self._part(one, first, count, inner), "serial"))
        return body + self._part(one, first, count, parts[-1])

    def _part(self, one: OperandPanels, first: Index, count: int, part: DepthPart) -> list:
        """Emit the products of a part of k: panels are packed, then rows of x are read."""
        body: list[Any] = []
        self.present, self.first = part, first
        for chunk, rows, k in self._chunks(part.size, self.product.y.view.turned):
            panel = Axis("p", count)
            number = Index.of(panel) + first
            target = self._place(self.right, one, number, k + part.first)
            packed = self._pack_row(self.right, one, number, k + part.first, target)
            axes = [panel, rows] if chunk is None else [chunk, panel, rows]
            body += wrap_in_loops(axes, packed, "serial")
        for run in self.heights:
            tile, panel = Axis("t", run.count), Axis("p", count)
            row = Index.of(tile) * run.size + run.first
            inner = self._tile(one, Index.of(panel) + first, row, run.size, part)
            body += wrap_in_loops([tile, panel], inner, "serial")
        return body

    def _place(self, copy: Copy, one: OperandPanels, panel: Index, row: Index) -> Index:
        """Return the index of a panel's row within the present group and part."""
        part = self.present
        return (panel - self.first) * (part.size * one.width) + (row - part.first) * one.width
