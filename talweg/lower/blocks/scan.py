"""Lowering of scans: a number carried along one axis from element to element.

A declaration's `scan` rule says how (`handler.Scan`).  The axis is gone along in order; the axes
after it are columns, of which a block has its carried numbers in registers; the axes before it, and
the blocks, are shared between threads.  Along rows numbers come one by one: those of 16 bits are
converted a piece of a row at a time, by vectors.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.core.dtypes import float32
from talweg.lower.fusion.inline import InlineOperand, Inliner, is_plain
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.handler import ScanRule, s
from talweg.lower.ir.index import ZERO, Axis, Index, flat, unflatten
from talweg.lower.ir.loops import Buffer, For, Kernel, Store, Tile, Update, load
from talweg.passes.optimize.loop_products import HALVES
from talweg.passes.specialize.program import Equation, Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


WIDTH = 64  # columns carried in registers
PIECE = 256  # 16-bit numbers of a row that are converted together
TOGETHER = 4  # such rows that are scanned side by side: one waits for each sum


def scan(builder: LoweringBuilder, equation: Equation, name: str) -> list | None:
    """Lower an equation by its `scan` rule."""
    value = equation.output
    if not all(is_plain(x.dtype) for x in (*equation.inputs, value)):
        return None
    if not value.size:
        return []
    operands = [InlineOperand(Inliner(builder.load_stored), x) for x in equation.inputs]
    plan = equation.prim.lowering["scan"](s, *operands, **equation.params)
    loops = _ScanLoops(builder, value, plan, operands)
    kernel = Kernel(name, loops.all(), [v.maker.prim.name for v in builder.current.members])
    kernel.node = equation.node
    return [kernel]


class ScannedPieces(NamedTuple):
    """The rows that are scanned side by side, and memory for a piece of each."""

    row: Axis
    numbers: list[Index]  # of a row, along the axes before the scan
    tile: Tile
    wide: list[Buffer]
    scanned: Buffer


class _ScanLoops:
    def __init__(self, builder: LoweringBuilder, value: Value, plan: ScanRule, operands: list):
        self.builder, self.value, self.plan, self.operands = builder, value, plan, operands
        self.before, after = value.dims[: plan.axis], value.dims[plan.axis + 1 :]
        self.columns = 1
        for size in after:
            self.columns *= size
        self.rows = [Axis(f"o{k}", size) for k, size in enumerate(self.before)]

    def all(self) -> list:
        """Emit the loops over blocks of columns and over the remainder."""
        if self.columns == 1 and self.value.dtype in HALVES:
            return self.all_rows()
        count, rest = divmod(self.columns, WIDTH)
        if self.columns < 2 * WIDTH:
            return self.block(Axis("b", 1), self.columns, 0)
        loops = self.block(Axis("b", count), WIDTH, 0)
        left = self.block(Axis("b", 1), rest, count * WIDTH) if rest else []
        if left and not (type(left[0]) is For and left[0].kind == "parallel"):
            left = [For(Axis("p", 1), left, "parallel")]
        return loops + left

    def block(self, block: Axis, width: int, first: int) -> list:
        """Emit blocks of columns of one width."""
        plan, dims = self.plan, self.value.dims
        step, lane = Axis("i", dims[plan.axis]), Axis("c", width)
        tile = Tile("carried", self.value.dtype, (width,) if width > 1 else (), plan.start)
        lanes = (Index.of(lane),) if width > 1 else ()
        column = Index.of(block) * width + first + lane
        along = Index.of(step)
        if plan.reverse:
            along = step.extent - 1 - along
        indices = (*map(Index.of, self.rows), along, column)
        flat_index = flat(indices, (*self.before, step.extent, self.columns))
        index = unflatten(flat_index, dims)
        elements = [x(*index) for x in self.operands]
        new = plan.step(tile.at(*lanes), Index.of(step), *elements)
        body: list[Any] = [Update(tile, lanes, new)]
        stores = self.builder.results(self.value, index, tile.at(*lanes))
        body = stores + body if plan.exclusive else body + stores
        if width > 1:
            body = [For(lane, body, "vector")]
        return wrap_in_loops(
            [*self.rows, block], [tile, *wrap_in_loops([step], body, "serial")], "parallel"
        )

    def all_rows(self) -> list:
        """Emit the pieces of rows of 16-bit numbers; what is carried is float32."""
        extent, lead = self.value.dims[self.plan.axis], self.before[-1] if self.before else 1
        count, threads = math.prod(self.before), self.builder.threads
        fitting = [n for n in range(2, TOGETHER + 1) if lead % n == 0]
        if threads > 1:  # a task for each at least
            fitting = [n for n in fitting if count // n >= 2 * threads]
        together = max(fitting, default=1)
        row, outer = Axis("r", together), list(self.rows)
        numbers = [*map(Index.of, self.rows)]
        if self.before:
            outer[-1] = Axis(outer[-1].name, lead // together)
            numbers[-1] = Index.of(outer[-1]) * together + row
        tile = Tile("carried", float32, (together,), self.plan.start)
        size, new = min(PIECE, extent), self.builder.new
        wide = [new("numbers", float32, (together, size), "scratch") for _ in self.operands]
        scanned = new("scanned", float32, (together, size), "scratch")
        pieces = ScannedPieces(row, numbers, tile, wide, scanned)
        count, rest = divmod(extent, size)
        piece = Axis("b", count)
        body = self.piece(pieces, Index.of(piece) * size, size)
        loops = wrap_in_loops([piece], body, "serial")
        if rest:
            loops += self.piece(pieces, Index(count * size), rest)
        return wrap_in_loops(outer, [tile, *loops], "parallel")

    def piece(self, pieces: ScannedPieces, first: Index, size: int) -> list:
        """Emit the scan of `size` numbers of some rows, from number `first` on."""
        plan, dims, row = self.plan, self.value.dims, pieces.row
        tile, scanned = pieces.tile, pieces.scanned
        lane, step, last = Axis("c", size), Axis("i", size), Axis("d", size)
        begin = dims[plan.axis] - size - first if plan.reverse else first
        at = size - 1 - Index.of(step) if plan.reverse else Index.of(step)

        def index(lane: Axis) -> tuple:
            places = (*pieces.numbers, begin + lane, ZERO)
            return unflatten(flat(places, (*self.before, dims[plan.axis], 1)), dims)

        def held(number: Index) -> Index:
            return Index.of(row) * scanned.shape[1] + number

        wide = [s.cast(x(*index(lane)), float32) for x in self.operands]
        stores = [Store(to, held(Index.of(lane)), x) for to, x in zip(pieces.wide, wide)]
        loops = wrap_in_loops([row], wrap_in_loops([lane], stores, "vector"), "serial")
        lanes = (Index.of(row),)
        elements = [load(buffer, held(at)) for buffer in pieces.wide]
        body: list[Any] = [Update(tile, lanes, plan.step(tile.at(*lanes), first + step, *elements))]
        store = Store(scanned, held(at), tile.at(*lanes))
        body = [store, *body] if plan.exclusive else [*body, store]
        loops += wrap_in_loops([step], wrap_in_loops([row], body, "unroll"), "serial")
        value = s.cast(load(scanned, held(Index.of(last))), self.value.dtype)
        results = self.builder.results(self.value, index(last), value)
        return loops + wrap_in_loops([row], wrap_in_loops([last], results, "vector"), "serial")
