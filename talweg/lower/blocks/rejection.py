"""Lowering of rejection sampling: random numbers of a truncated distribution.

A declaration's `redraw` rule says how (`handler.Redraw`).  Every group begins with the numbers of
its first block, in vectors, many groups at a time; then each group is looked at, and the few that
lack some go on drawing, block after block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import int32
from talweg.lower.fusion.inline import InlineOperand, Inliner
from talweg.lower.fusion.loop_nests import wrap_in_loops
from talweg.lower.handler import RejectionRule, s
from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import Buffer, Expr, For, Kernel, Store, Tile, Update, When, const, load
from talweg.passes.specialize.program import Equation

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


TOGETHER = 256  # groups whose first blocks are drawn at a time


def redraw(builder: LoweringBuilder, equation: Equation, name: str) -> list | None:
    """Lower an equation by its `redraw` rule."""
    value = equation.output
    operands = [InlineOperand(Inliner(builder.load_stored), x) for x in equation.inputs]
    plan = equation.prim.lowering["redraw"](s, *operands, **equation.params)
    if plan is None:
        return None
    if not value.size:
        return []
    loops = _RejectionLoops(builder, builder.buffer_of(value), plan)
    kernel = Kernel(name, loops.all(), [equation.prim.name])
    kernel.node = equation.node
    return [kernel, *builder.emit_epilogue()]


class _RejectionLoops:
    def __init__(self, builder: LoweringBuilder, z: Buffer, plan: RejectionRule):
        self.builder, self.z, self.plan = builder, z, plan

    def all(self) -> list:
        """Emit the loops over whole groups, many at a time, and over the remainder."""
        groups, rest = divmod(self.z.size, self.plan.group)
        count, left = divmod(groups, TOGETHER)
        loops = []
        if count:
            part = Axis("p", count)
            loops += [For(part, self.groups(TOGETHER, Index.of(part) * TOGETHER), "parallel")]
        if left:
            loops += [For(Axis("p", 1), self.groups(left, Index.of(count * TOGETHER)), "parallel")]
        if rest:
            last = self.group(Index.of(groups), rest, None)
            loops += [For(Axis("p", 1), last, "parallel")]
        return loops

    def groups(self, count: int, first: Index) -> list:
        """Emit a loop over this many groups, from one on."""
        plan, size = self.plan, self.plan.group
        drawn = self.builder.new("drawn", plan.dtype, (TOGETHER * size,), "scratch")
        lane, group = Axis("i", count * size), Axis("g", count)
        number = Index.of(lane)
        block = (first + number // size) * plan.blocks
        draws = [Store(drawn, number, plan.draw(block * size + number % size))]
        copied = self.emit_store(first * size + number, load(drawn, number))
        first_blocks = [load(drawn, Index.of(group) * size + k) for k in range(size)]
        short = s.logical_not(s.all(*map(plan.keep, first_blocks)))  # type: ignore[arg-type]
        mended = [When(short, self.group(first + group, size, first_blocks))]
        return [
            For(lane, draws, "vector"),
            For(lane, [copied], "vector"),
            *wrap_in_loops([group], mended, "serial"),
        ]

    def emit_store(self, place: Index, number: Expr) -> Store:
        """Emit the store of a number as a result."""
        return Store(self.z, place, s.cast(number, self.z.dtype))

    def group(self, group: Index, size: int, first: list[Expr] | None) -> list:
        """Emit one group, number after number; `first` are those of its first block, if drawn."""
        plan = self.plan
        taken = Tile("taken", int32)
        body: list[Any] = [taken]
        for number in first or ():
            body += self.accept(taken, group, size, number)
        start = 0 if first is None else 1
        block = Axis("b", plan.blocks - start)
        place = (group * plan.blocks + start + block) * plan.group
        tiles = [Tile(f"z{k}", plan.dtype, (), plan.draw(place + k)) for k in range(plan.group)]
        again = [*tiles, *[x for z in tiles for x in self.accept(taken, group, size, z.at())]]
        more = When(s.less(taken.at(), size), again)
        return [*body, For(block, [more], "serial")]

    def accept(self, taken: Tile, group: Index, size: int, number: Expr) -> list:
        """Emit statements that accept a number if it passes and one is still wanted."""
        wanted = s.logical_and(self.plan.keep(number), s.less(taken.at(), size))
        place = group * self.plan.group + s.clamp(taken.at(), size)
        store = self.emit_store(place, number)
        return [When(wanted, [store, Update(taken, (), const(1, int32), "add")])]
