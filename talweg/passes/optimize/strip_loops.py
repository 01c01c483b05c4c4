"""Loops over strips of a large array, whose body computes the equations on one strip.

The outer loop is over the batch axes, the inner one over blocks of rows.  What the loops read is
stacked, so that the slice of a trip is a window into it; results are written in place as rows of
stacks, and a product that sums over the rows is added up in a carried value.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from talweg.core.dtypes import DType, int32, int64, uint64
from talweg.kernels.random.philox import PHILOX
from talweg.passes.optimize.axis_labels import (
    Labels,
    UnlabelledError,
    operand_labels,
)
from talweg.passes.specialize.body_programs import BodyProgram
from talweg.passes.specialize.loop_equation import CarriedValue, LoopEquation, add_repeat
from talweg.passes.specialize.program import Equation, StaticProgram, Value, constant
from talweg.passes.specialize.stack_primitives import LoopIndex, advanced, by_element, row, with_row
from talweg.prims import arithmetic, layout
from talweg.prims.random import streams

if TYPE_CHECKING:
    from talweg.passes.optimize.strip_mining import StripRegion

DRAWN = ("bits", "uniform", "normal")  # kinds of random numbers that can begin at any block


class Strip:
    """A range of rows from `begin` on, in `count` blocks of `rows` rows."""

    __slots__ = ("begin", "count", "rows")

    def __init__(self, begin: int, count: int, rows: int):
        self.begin, self.count, self.rows = begin, count, rows


class StripLoop:
    """The builder of the loops of one stage of a region, over one strip."""

    def __init__(self, static: StaticProgram, region: StripRegion, stage: int, strip: Strip):
        self.static, self.region, self.stage, self.strip = static, region, stage, strip
        self.sizes = region.sizes  # of the batch axes, by label
        self.row_label = len(self.sizes)
        self.programs: list[BodyProgram] = []  # the bodies, the outermost first
        self.batch: BodyProgram | None = None
        self.block: BodyProgram | None = None
        outer = static
        if math.prod(self.sizes) > 1:
            self.batch = outer = self._body(outer, math.prod(self.sizes))
        if strip.count > 1:
            self.block = outer = self._body(outer, strip.count)
        self.inner: BodyProgram = outer  # type: ignore[assignment]
        self.slices: dict[tuple[Value, Labels], Value] = {}

    def _body(self, outer: StaticProgram, trips: int) -> BodyProgram:
        body = BodyProgram(outer, LoopIndex(trips))
        self.programs.append(body)
        return body

    # -- slices

    def sliced(self, dims: tuple, labels: Labels) -> tuple:
        """Return the shape of a slice."""
        cut = {label: 1 for label in range(len(self.sizes))} | {self.row_label: self.strip.rows}
        return tuple([size if label is None else cut[label] for size, label in zip(dims, labels)])

    def slice_of(self, value: Value, labels: Labels) -> Value:
        """Return the slice of a value that a trip needs."""
        found = self.slices.get((value, labels))
        if found is None:
            found = self.slices[value, labels] = self._slice(value, labels)
        return found

    def _slice(self, value: Value, labels: Labels) -> Value:
        region, content = self.region, value.content
        if content is not None and content.size == 1:
            return Value(self.sliced(value.dims, labels), value.dtype, content.reshape(()))
        if value in region.labels:
            if region.labels[value] != labels:
                raise UnlabelledError
            return self.compute(value.maker, labels)  # type: ignore[arg-type]
        if region.ready[value] <= self.stage:
            return self._outer(value, labels)
        if value not in region.inside:
            raise UnlabelledError
        return self.compute(value.maker, labels)  # type: ignore[arg-type]

    def compute(self, equation: Equation, labels: Labels, contracted: int | None = None) -> Value:
        """Emit an equation on slices."""
        if equation.prim is streams.random_numbers:
            return self._random(equation, labels)
        wanted = operand_labels(equation, labels, contracted)
        operands = [self.slice_of(x, own) for x, own in zip(equation.inputs, wanted)]
        params, dims = equation.params, self.sliced(equation.output.dims, labels)
        if equation.prim in (layout.reshape, layout.broadcast_to):
            params = {"shape": dims}
        made = self.inner.apply(equation.prim, operands, params, equation.node)
        if made.dims == dims:
            return made
        return self.inner.apply(layout.broadcast_to, [made], {"shape": dims})

    def _random(self, equation: Equation, labels: Labels) -> Value:
        """Draw the random numbers of a slice: those at its place in the stream."""
        params, dims = equation.params, equation.output.dims
        cut = [label for size, label in zip(dims, labels) if size != 1 and label is not None]
        whole = [size for size, label in zip(dims, labels) if size != 1 and label is None]
        last = dims[len(dims) - len(whole) :] if whole else ()
        leading = cut == [*range(len(self.sizes)), self.row_label] and list(last) == whole
        size = math.prod(self.sliced(dims, labels))
        words = 16 // max(4, params["dtype"].size)
        first, plane = self.strip.begin * math.prod(last), math.prod(dims) // math.prod(self.sizes)
        known = params["kind"] in DRAWN and params["algorithm"] == PHILOX
        if not known or not leading or size % words or first % words or plane % words:
            raise UnlabelledError
        stream = equation.inputs[0]
        for body in self.programs:
            step = (plane if body is self.batch else size) // words
            blocks = body.apply(arithmetic.cast, [body.round(0, step, int64)], {"dtype": uint64})
            stream = body.apply(advanced, [body.bring_in(stream), blocks], {})
        if first:
            blocks = constant(np.uint64(first // words))
            stream = self.inner.apply(advanced, [stream, blocks], {})
        drawn = {**params, "shape": self.sliced(dims, labels)}
        return self.inner.apply(equation.prim, [stream], drawn, equation.node)

    def _outer(self, value: Value, labels: Labels) -> Value:
        """Return the slice of a value that is known before the loops."""
        if all(label is None for label in labels):
            for body in self.programs:
                value = body.bring_in(value)
            return value
        maker = value.maker
        if maker is not None and value not in self.region.edges and self._moves_inside(maker):
            try:
                return self.compute(maker, labels)
            except UnlabelledError:
                pass
        return self._window(value, labels)

    def _moves_inside(self, maker: Equation) -> bool:
        """Return whether an equation is rather computed on slices: a view, or a whole mask."""
        if maker.prim in (layout.transpose, layout.broadcast_to):
            return True
        if maker.prim.multiple:  # a loop or branch
            return False
        large = maker.output.size >= self.region.plane
        drawn = maker.prim is streams.random_numbers
        return large and (drawn or by_element(maker.prim) or maker.prim is layout.reshape)

    def _window(self, value: Value, labels: Labels) -> Value:
        """Return the slice of a stored value as a window into a stack."""
        static, strip, by_row = self.static, self.strip, self.row_label in labels
        kept = sorted([k for k in labels if k is not None and k != self.row_label])
        order, rest = self.axes_in_order(value.dims, labels)
        sizes = [math.prod([self.sizes[label] for label in kept])] if kept else []
        stack = self._moved(static, value, order)
        if by_row:
            whole = (math.prod(sizes), self.region.rows, *rest)
            stack = static.apply(layout.reshape, [stack], {"shape": whole})
            stack = self._rows_of(stack)
            rest = (strip.rows, *rest) if strip.count == 1 else (strip.count, strip.rows, *rest)
        stack = self._view(static, stack, (*sizes, *rest))
        for body in self.programs:
            stack = body.bring_in(stack)
            if body is self.batch and kept:
                stack = body.apply(row, [stack, self._batch_index(kept)], {})
            elif body is self.block and by_row:
                stack = body.apply(row, [stack, body.round(0, 1, int32)], {})
        order = [axis for axis in order if labels[axis] in (None, self.row_label)]
        perm = [order.index(axis) for axis in sorted(order)]
        stack = self._moved(self.inner, stack, perm)
        return self._view(self.inner, stack, self.sliced(value.dims, labels))

    def _rows_of(self, stack: Value) -> Value:
        """Return the rows of the strip, which are those of axis 1."""
        begin, end = self.strip.begin, self.strip.begin + self.strip.count * self.strip.rows
        if end - begin == stack.dims[1]:
            return stack
        first = tuple([begin if axis == 1 else 0 for axis in range(len(stack.dims))])
        last = tuple([end if axis == 1 else size for axis, size in enumerate(stack.dims)])
        params = {"begin": first, "end": last, "strides": (1,) * len(stack.dims)}
        return self.static.apply(layout.strided_slice, [stack], params)

    def _batch_index(self, kept: list[int]) -> Value:
        """Return the row, in a stack over some of the batch axes, of each outer trip."""
        assert self.batch is not None
        trips, numbers = np.arange(math.prod(self.sizes)), 0
        for label in kept:
            step = math.prod(self.sizes[label + 1 :])
            numbers = numbers * self.sizes[label] + trips // step % self.sizes[label]
        return self.batch.by_trip(np.asarray(numbers, np.int32), int32)

    def axes_in_order(self, dims: tuple, labels: Labels) -> tuple[list[int], tuple]:
        """Return the axes of more than one element, by loops, and sizes of those without one."""
        order = [axis for axis, size in enumerate(dims) if size != 1]
        last = self.row_label + 1
        order.sort(key=lambda axis: last if (label := labels[axis]) is None else label)
        return order, tuple([dims[axis] for axis in order if labels[axis] is None])

    def _packed(self, value: Value, dims: tuple, labels: Labels) -> Value:
        """Return a slice of a value of `dims` as [rows, rest...]."""
        order, rest = self.axes_in_order(dims, labels)
        order = [axis for axis in order if labels[axis] in (None, self.row_label)]
        value = self._moved(self.inner, value, order)
        rows = (self.strip.rows,) if self.row_label in labels else ()
        return self._view(self.inner, value, (*rows, *rest))

    @staticmethod
    def _view(static: StaticProgram, value: Value, dims: tuple) -> Value:
        if value.dims == dims:
            return value
        return static.apply(layout.reshape, [value], {"shape": dims})

    def _moved(self, static: StaticProgram, value: Value, order: list[int]) -> Value:
        """Return a value's axes in an order, without the others, which have size 1."""
        if order == sorted(order):
            return value
        others = [axis for axis in range(len(value.dims)) if axis not in order]
        return static.apply(layout.transpose, [value], {"perm": (*others, *order)})

    # -- results

    def results(self, targets: list[Value]) -> list[Value]:
        """Emit the loops and return stacks of the rows of these values, or sums over the strip."""
        parts = [self._part(value) for value in targets]
        if self.block is not None:
            pairs = zip(targets, parts)
            parts = self._repeat(self.block, [self._carried(*pair) for pair in pairs])
        if self.batch is not None:
            parts = self._repeat(self.batch, [_in_stack(self.batch, part) for part in parts])
        return parts

    def _part(self, value: Value) -> Value:
        """Emit what a trip computes of a result."""
        labels, summed = self.region.edges[value]
        assert value.maker is not None  # a product or reduction
        part = self.compute(value.maker, labels, self.row_label if summed else None)
        return self._packed(part, value.dims, labels)

    def _carried(self, value: Value, part: Value) -> CarriedValue:
        """Return what the loop over blocks carries: the sum so far, or a stack of the blocks."""
        assert self.block is not None
        if not self.region.edges[value][1]:
            return _in_stack(self.block, part)
        before = Value(part.dims, part.dtype)
        return CarriedValue(before, self.block.apply(arithmetic.add, [before, part], {}))

    def _repeat(self, body: BodyProgram, carried: list[CarriedValue]) -> list[Value]:
        assert body.loop is not None
        starts = [zeros(c.before.dims, c.before.dtype) for c in carried]
        loop = LoopEquation(body, body.loop, carried, None)
        return list(add_repeat(body.outer, loop, starts, self.region.node))


def _in_stack(body: BodyProgram, part: Value) -> CarriedValue:
    """Return a stack in which each trip of a loop writes its row."""
    assert body.loop is not None
    before = Value((body.loop.trips, *part.dims), part.dtype)
    after = body.apply(with_row, [before, body.round(0, 1, int32), part], {})
    return CarriedValue(before, after, True)


def zeros(dims: tuple, dtype: DType) -> Value:
    """Return zeros."""
    return Value(dims, dtype, np.zeros((), dtype.numpy_dtype))
