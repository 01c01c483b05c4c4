"""Products moved out of loops: computed after the loop, for all trips at once.

`TripSum`: a sum over all trips of products of matrices, or of sums of rows, from stacks of the
operands.  `Rows`: a stack of products with a matrix that does not change, likewise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from talweg.passes.specialize.program import Equation, StaticProgram, Value
from talweg.passes.specialize.stack_primitives import is_zero
from talweg.prims import arithmetic, contract, layout, state

if TYPE_CHECKING:
    from talweg.passes.optimize.loop_invariants import LoopSimplifier


class TripSum:
    """A sum over all trips that is computed after the loop.

    `operands` are (stack, the first row of it, None for all rows); `views` what is done to a term.
    """

    def __init__(
        self, rounds: LoopSimplifier, place: int, maker: Equation, operands: list, views: list
    ):
        self.start, self.output = rounds.starts[place], rounds.outputs[place]
        self.maker, self.operands, self.views = maker, operands, views

    def emit(self, rounds: Any) -> Value:
        """Emit the value after the loop."""
        outer, maker = rounds.outer, self.maker
        stacks = [
            self._block(outer, rounds.merged.get(stack, stack), first, rounds.trips)
            for stack, first in self.operands
        ]
        if maker.prim is contract.matmul:
            (x, g) = maker.inputs
            sizes = (x.dims[1], x.dims[0]), g.dims
            flat = [self._flat(outer, s, dims) for s, dims in zip(stacks, sizes)]
            turned = outer.apply(layout.transpose, [flat[0]], {"perm": (1, 0)})
            product = outer.apply(maker.prim, [turned, flat[1]], maker.params, maker.node)
        else:
            axes = tuple([0, *[axis + 1 for axis in maker.params["axes"]]])
            params = {"axes": axes, "keepdims": False}
            shape = {"shape": (rounds.trips, *maker.inputs[0].dims)}
            all_trips = outer.apply(layout.reshape, stacks, shape)
            product = outer.apply(maker.prim, [all_trips], params, maker.node)
            dims = maker.output.dims
            if product.dims != dims:
                product = outer.apply(layout.reshape, [product], {"shape": dims})
        for view in reversed(self.views):
            product = outer.apply(view.prim, [product], view.params, view.node)
        if is_zero(self.start):
            return product
        return outer.apply(arithmetic.add, [self.start, product], {})

    def _block(self, outer: StaticProgram, stack: Value, first: int | None, trips: int) -> Value:
        if first is None or stack.dims[0] == trips:
            return stack
        rest = stack.dims[1:]
        bounds = {"begin": (first, *[0] * len(rest)), "end": (first + trips, *rest)}
        return outer.apply(
            layout.strided_slice, [stack], {**bounds, "strides": (1,) * len(stack.dims)}
        )

    def _flat(self, outer: StaticProgram, stack: Value, dims: tuple) -> Value:
        shape = (stack.size // math.prod(dims[1:]), dims[1])
        return outer.apply(layout.reshape, [stack], {"shape": shape})


class TripRows:
    """A stack whose rows are products with one matrix: one product after the loop."""

    def __init__(self, rounds: LoopSimplifier, place: int, maker: Equation, stack: Value):
        self.output, self.maker, self.stack = rounds.outputs[place], maker, stack
        self.matrix = rounds.inner.twin(maker.inputs[1])

    def emit(self, rounds: LoopSimplifier) -> Value:
        """Emit the stack after the loop."""
        outer, maker = rounds.outer, self.maker
        stack = rounds.merged.get(self.stack, self.stack)
        width = maker.inputs[0].dims[1]
        flat = outer.apply(layout.reshape, [stack], {"shape": (stack.size // width, width)})
        found = outer.apply(maker.prim, [flat, self.matrix], maker.params, maker.node)
        return outer.apply(layout.reshape, [found], {"shape": self.output.dims})


def skip_reshapes(value: Value) -> Value:
    """Return the operand below all reshapes of a value."""
    while value.maker is not None and value.maker.prim in (layout.reshape, state.ensure_dims):
        value = value.maker.inputs[0]
    return value


def views_of(value: Value) -> tuple[list[Equation], Value]:
    """Return the transposes and reshapes on top of a value, the last first, and their operand."""
    found = []
    while value.maker is not None and value.maker.prim in (layout.reshape, layout.transpose):
        found.append(value.maker)
        value = value.maker.inputs[0]
    return found, value


def transpose_operand(value: Value) -> Value | None:
    """Return the matrix whose transpose a value is, if it is one."""
    maker = value.maker
    if maker is None or len(value.dims) != 2 or len(maker.inputs) != 1:
        return None
    (x,) = maker.inputs
    if maker.prim is layout.transpose and maker.params["perm"] == (1, 0):
        return x
    one_line = maker.prim is layout.reshape and 1 in value.dims
    return x if one_line and x.dims == value.dims[::-1] else None
