"""Lowering of scatters: gradients of gathers, sums of segments, histograms.

A declaration's `scatter` rule says for each update where it goes and what combines it
(`handler.Scatter`).  Axes of the updates that are axes of the result, too, may run side by side:
the leading ones, and blocks of columns, are shared between threads; the rows go one after the
other, so that several updates of one place neither meet nor change their order.

A result too big for the caches is written once: the first update of a row is put there together
with the start value, and rows that no update has named get that afterwards.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import bool_
from talweg.lower.buffer_assignment import STREAMED_BYTES
from talweg.lower.fusion.inline import InlineOperand, Inliner, is_plain
from talweg.lower.fusion.loop_nests import nest_in_loops, wrap_in_loops
from talweg.lower.handler import ScatterRule, s
from talweg.lower.ir.index import Axis, Index, flat
from talweg.lower.ir.loops import Buffer, Expr, Kernel, Store, When, binary, const, load
from talweg.lower.ir.rewrite import merge_axes, substitute
from talweg.passes.specialize.program import Equation, Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


SHARED_WORK = 1 << 14  # updates from which they are shared between threads
NARROWEST = 16  # columns of a part that a thread takes
WIDE = 256  # bytes of a row from which it is worth a note whether it has been written


def scatter(builder: LoweringBuilder, equation: Equation, name: str) -> list | None:
    """Lower an equation by its `scatter` rule."""
    value = equation.output
    if not all(is_plain(x.dtype) for x in (*equation.inputs, value)):
        return None
    if not value.size:
        return []
    inliner = Inliner(builder.load_stored)
    operands = [InlineOperand(inliner, x) for x in equation.inputs]
    plan = equation.prim.lowering["scatter"](s, *operands, **equation.params)
    if plan is None:
        return None
    there = builder.in_place.get(value)
    z = builder.buffer_of(value) if there is None else there
    loops = _ScatterLoops(plan, value, z, builder.threads)
    if there is None and loops.is_written_once():
        left = builder.new("left", bool_, (loops.places(),), "scratch")
        body = loops.write_once(left)
    else:
        body = loops.body(fill=there is None)
    kernel = Kernel(name, body, [equation.prim.name])
    kernel.node = equation.node
    return [kernel, *([] if there else builder.emit_epilogue())]


class _ScatterLoops:
    """The loops of one scatter into the buffer `z`."""

    def __init__(self, plan: ScatterRule, value: Value, z: Buffer, threads: int):
        self.plan, self.value, self.z, self.threads = plan, value, z, threads
        axes = [Axis(f"i{k}", size) for k, size in enumerate(plan.over)]
        self.place, self.item, self.condition = plan.at(tuple(map(Index.of, axes)))
        axes = [axis for axis in axes if axis.extent != 1]
        along = [axis for axis in axes if Index.of(axis) in self.place]
        self.rows = [axis for axis in axes if axis not in along]
        last = max([axes.index(axis) for axis in self.rows], default=-1)
        self.outer = [axis for axis in along if axes.index(axis) < last]
        self.inner = [axis for axis in along if axes.index(axis) > last]

    def body(self, fill: bool) -> list:
        """Emit the start values, then the updates, for a part of the positions at a time."""
        first = self._first()
        rows = [axis for axis in first if type(axis) is Axis]
        begun = [self._begin(first)] if fill else []
        passes = [self._update()]
        if self.plan.mark is not None:
            mark = const(self.plan.mark, self.z.dtype)
            passes.insert(0, [Store(self.z, flat(self.place, self.value.dims), mark)])
        columns, blocks, values = self._columns([*begun, *[x for part in passes for x in part]])
        scatter_loops = []
        if begun:
            begun = substitute(begun, values)
            joined, one = merge_axes([*rows, *columns], begun)
            scatter_loops = nest_in_loops(joined, substitute(begun, one), "vector")
        for part in passes:
            inside = nest_in_loops(columns, substitute(part, values), "vector")
            if self.condition is not None:
                inside = [When(self.condition, inside)]
            scatter_loops += wrap_in_loops(self.rows, inside, "serial")
        return wrap_in_loops([*self.outer, *blocks], scatter_loops, "parallel")

    def _first(self) -> list:
        """Return an index of the result, with axes of its own where data gives the position."""
        free = {Index.of(axis) for axis in (*self.outer, *self.inner)}
        return [
            i if i in free else Axis(f"f{k}", self.value.dims[k]) for k, i in enumerate(self.place)
        ]

    def _begin(self, first: list) -> Store:
        """Emit the start value at a position."""
        index = tuple(map(Index.of, first))
        start = self.plan.start
        filling: Any = start(*index) if callable(start) else const(start, self.z.dtype)
        return Store(self.z, flat(index, self.value.dims), filling)

    def places(self) -> int:
        """Return the number of rows that indices may name."""
        return math.prod([axis.extent for axis in self._first() if type(axis) is Axis])

    def is_written_once(self) -> bool:
        """Return whether writing each row of the result once is profitable."""
        plan, z = self.plan, self.z
        row = math.prod([axis.extent for axis in self.inner]) * z.dtype.size
        plain = plan.op in ("add", None) and plan.mark is None and not callable(plan.start)
        plain = plain and z.dtype.is_floating
        return plain and z.kind == "output" and z.nbytes >= STREAMED_BYTES and row >= WIDE

    def write_once(self, left: Buffer) -> list:
        """Emit the updates, each row's first together with its start, then untouched rows.

        `left`: which rows have not been written.
        """
        first = self._first()
        rows = [axis for axis in first if type(axis) is Axis]
        update, begun = self._update(), self._begin(first)
        store: Store = update[0]
        start = const(self.plan.start, self.z.dtype)
        value = store.value if self.plan.op is None else binary(self.plan.op, start, store.value)
        begin = Store(self.z, store.index, value)
        columns, blocks, values = self._columns([*update, begin, begun])
        named = [
            (i, self.value.dims[k]) for k, i in enumerate(self.place) if type(first[k]) is Axis
        ]
        here = flat(tuple([i for i, _ in named]), tuple([size for _, size in named]))
        again = nest_in_loops(columns, substitute(update, values), "vector")
        once = nest_in_loops(columns, substitute([begin], values), "vector")
        inside: list = [When(load(left, here), once, again), Store(left, here, const(False, bool_))]
        if self.condition is not None:
            inside = [When(self.condition, inside)]
        there = flat(tuple(map(Index.of, rows)), tuple([axis.extent for axis in rows]))
        offset = Axis("n", left.size)
        clear_flags = nest_in_loops([offset], [Store(left, offset, const(True, bool_))], "vector")
        clear_flags += wrap_in_loops(self.rows, inside, "serial")
        other = nest_in_loops(columns, substitute([begun], values), "vector")
        clear_flags += wrap_in_loops(rows, [When(load(left, there), other)], "serial")
        return wrap_in_loops([*self.outer, *blocks], clear_flags, "parallel")

    def _update(self) -> list[Store]:
        place, op = flat(self.place, self.value.dims), self.plan.op
        if op not in ("fmax", "fmin"):
            return [Store(self.z, place, self.item, op)]
        now = load(self.z, place)
        return [Store(self.z, place, _unless_nan(op, now, self.item))]

    def _columns(self, statements: list) -> tuple[list[Axis], list[Axis], dict]:
        """Split the innermost axes into blocks of columns, with an index for the split axes."""
        axes, values = merge_axes(self.inner, statements)
        if not axes or math.prod(self.plan.over) < SHARED_WORK:
            return axes, [], values
        if math.prod([axis.extent for axis in self.outer]) >= 8:
            return axes, [], values
        column = axes[-1]
        for parts in range(self.threads, 1, -1):
            width, rest = divmod(column.extent, parts)
            if not rest and width >= NARROWEST:
                block, lane = Axis("b", parts), Axis("c", width)
                whole = Index.of(block) * width + lane
                values = {old: index.replace({column: whole}) for old, index in values.items()}
                return [*axes[:-1], lane], [block], {**values, column: whole}
        return axes, [], values


def _unless_nan(op: str, x: Expr, y: Expr) -> Expr:
    """Emit the larger (smaller) of two numbers; if one is NaN, the other."""
    if not x.dtype.is_floating:
        return s.maximum(x, y) if op == "fmax" else s.minimum(x, y)
    better = s.greater(y, x) if op == "fmax" else s.less(y, x)
    return s.select(s.logical_or(s.is_nan(x), better), y, x)
