"""Lowering of scans: a number carried along one axis from element to element.

A declaration's `scan` rule says how (`handler.Scan`).  The axis is gone along in order; the axes
after it are columns, of which a block has its carried numbers in registers; the axes before it, and
the blocks, are shared between threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.lower.fusion.inline import InlineOperand, Inliner, is_plain
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.handler import ScanRule, s
from talweg.lower.ir.index import Axis, Index, flat, unflatten
from talweg.lower.ir.loops import For, Kernel, Tile, Update
from talweg.passes.specialize.program import Equation, Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


WIDTH = 64  # columns carried in registers


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
