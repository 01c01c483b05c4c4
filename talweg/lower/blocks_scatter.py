"""Rows combined into rows that data names: gradients of gathers, sums of segments, histograms.

A declaration's `scatter` rule says for each update where it goes and what combines it
(`handler.Scatter`).  Axes of the updates that are axes of the result, too, may run side by side:
the leading ones, and blocks of columns, are shared between threads; the rows go one after the
other, so that several updates of one place neither meet nor change their order.
"""

from __future__ import annotations

import math
from typing import Any

from talweg.lower.handler import Scatter, s
from talweg.lower.index import Axis, Index, flat
from talweg.lower.loops import Buffer, Expr, Kernel, Store, When, const, load
from talweg.lower.nests import nested, wrapped
from talweg.lower.pull import Operand, Pull, is_plain
from talweg.lower.rewrite import merged_axes, substitute
from talweg.passes.straight import Equation, Value

SHARED_WORK = 1 << 14  # updates from which they are shared between threads
NARROWEST = 16  # columns of a part that a thread takes


def scatter(builder: Any, equation: Equation, name: str) -> list | None:
    """The way of declarations with a `scatter` rule."""
    value = equation.output
    if not all(is_plain(x.dtype) for x in (*equation.inputs, value)):
        return None
    if not value.size:
        return []
    pull = Pull(builder.stored_at)
    operands = [Operand(pull, x) for x in equation.inputs]
    plan = equation.prim.lowering["scatter"](s, *operands, **equation.params)
    if plan is None:
        return None
    there = builder.in_place.get(value)
    z = builder.buffer_of(value) if there is None else there
    body = _Loops(plan, value, z, builder.threads).body(fill=there is None)
    kernel = Kernel(name, body, [equation.prim.name])
    kernel.node = equation.node
    return [kernel, *([] if there else builder.finished(builder.current))]


class _Loops:
    """The loops of one scatter into the buffer `z`."""

    def __init__(self, plan: Scatter, value: Value, z: Buffer, threads: int):
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
        """First the start values, then the updates, for a part of the places at a time."""
        free = {Index.of(axis) for axis in (*self.outer, *self.inner)}
        first = [i if i in free else Axis(f"f{k}", self.value.dims[k])
                 for k, i in enumerate(self.place)]  # fmt: skip
        rows = [axis for axis in first if type(axis) is Axis]
        index = tuple(map(Index.of, first))
        start = self.plan.start
        filling = start(*index) if callable(start) else const(start, self.z.dtype)
        begun = [Store(self.z, flat(index, self.value.dims), filling)] if fill else []
        passes = [self._update()]
        if self.plan.mark is not None:
            mark = const(self.plan.mark, self.z.dtype)
            passes.insert(0, [Store(self.z, flat(self.place, self.value.dims), mark)])
        columns, blocks, values = self._columns([*begun, *[x for part in passes for x in part]])
        made = []
        if begun:
            begun = substitute(begun, values)
            joined, one = merged_axes([*rows, *columns], begun)
            made = nested(joined, substitute(begun, one), "vector")
        for part in passes:
            inside = nested(columns, substitute(part, values), "vector")
            if self.condition is not None:
                inside = [When(self.condition, inside)]
            made += wrapped(self.rows, inside, "serial")
        return wrapped([*self.outer, *blocks], made, "parallel")

    def _update(self) -> list:
        place, op = flat(self.place, self.value.dims), self.plan.op
        if op not in ("fmax", "fmin"):
            return [Store(self.z, place, self.item, op)]
        now = load(self.z, place)
        return [Store(self.z, place, _unless_nan(op, now, self.item))]

    def _columns(self, statements: list) -> tuple[list[Axis], list[Axis], dict]:
        """The innermost axes as few as can be, the blocks of them, and what stands for the old."""
        axes, values = merged_axes(self.inner, statements)
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
    """The larger (smaller) of two numbers; if one is NaN, the other."""
    if not x.dtype.is_floating:
        return s.maximum(x, y) if op == "fmax" else s.minimum(x, y)
    better = s.greater(y, x) if op == "fmax" else s.less(y, x)
    return s.select(s.logical_or(s.is_nan(x), better), y, x)
