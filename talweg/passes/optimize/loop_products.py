"""Products moved out of loops: computed after the loop, for all trips at once.

`TripSum`: a sum over all trips of products of matrices, or of sums of rows, from stacks of the
operands.  `TripRows`: a stack of products with a matrix that does not change, likewise.

16-bit floats are stacked as they are, and are converted where a product or sum reads them.  A sum
of terms that each trip has rounded to 16 bits is rounded once here, at its end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import DType, bfloat16, float16, float32
from talweg.passes.specialize.program import Equation, StaticProgram, Value
from talweg.passes.specialize.stack_primitives import is_zero
from talweg.prims import arithmetic, contract, layout, state

HALVES = (float16, bfloat16)

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
            flat[0] = outer.apply(layout.transpose, [flat[0]], {"perm": (1, 0)})
            factors = [cast_to(outer, matrix, x.dtype) for matrix in flat]
            product = outer.apply(maker.prim, factors, maker.params, maker.node)
        else:
            axes = tuple([0, *[axis + 1 for axis in maker.params["axes"]]])
            params = {"axes": axes, "keepdims": False}
            shape = {"shape": (rounds.trips, *maker.inputs[0].dims)}
            all_trips = outer.apply(layout.reshape, stacks, shape)
            if all_trips.dtype in HALVES:
                all_trips = cast_to(outer, all_trips, float32)
            product = outer.apply(maker.prim, [all_trips], params, maker.node)
            dims = maker.output.dims
            if product.dims != dims:
                product = outer.apply(layout.reshape, [product], {"shape": dims})
        for view in reversed(self.views):
            product = outer.apply(view.prim, [product], view.params, view.node)
        product = cast_to(outer, product, self.output.dtype)
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
        x = maker.inputs[0]
        width = x.dims[1]
        flat = outer.apply(layout.reshape, [stack], {"shape": (stack.size // width, width)})
        flat = cast_to(outer, flat, x.dtype)
        found = outer.apply(maker.prim, [flat, self.matrix], maker.params, maker.node)
        found = cast_to(outer, found, self.output.dtype)
        return outer.apply(layout.reshape, [found], {"shape": self.output.dims})


def cast_to(static: StaticProgram, value: Value, dtype: DType) -> Value:
    """Return a value as one of a dtype."""
    return (
        value if value.dtype is dtype else static.apply(arithmetic.cast, [value], {"dtype": dtype})
    )


def widens(equation: Equation | None) -> bool:
    """Return whether an equation converts 16-bit floats to float32, which is exact."""
    if equation is None or equation.prim is not arithmetic.cast:
        return False
    return equation.output.dtype is float32 and equation.inputs[0].dtype in HALVES


def rounds(equation: Equation | None) -> bool:
    """Return whether an equation rounds float32 numbers to 16 bits."""
    if equation is None or equation.prim is not arithmetic.cast:
        return False
    return equation.output.dtype in HALVES and equation.inputs[0].dtype is float32


def skip_reshapes(value: Value) -> Value:
    """Return the operand below all reshapes of a value and exact casts to float32."""
    while value.maker is not None:
        if value.maker.prim not in (layout.reshape, state.ensure_dims) and not widens(value.maker):
            break
        value = value.maker.inputs[0]
    return value


def skip_rounding(value: Value) -> Value:
    """Return the operand below the reshapes of a value and its rounding to 16 bits."""
    value = skip_reshapes(value)
    return skip_reshapes(value.maker.inputs[0]) if value.maker and rounds(value.maker) else value


def views_of(value: Value) -> tuple[list[Equation], Value]:
    """Return the transposes and reshapes on top of a value, the last first, and their operand.

    Casts between float32 and 16-bit floats among them are left out.
    """
    found = []
    while value.maker is not None:
        if value.maker.prim in (layout.reshape, layout.transpose):
            found.append(value.maker)
        elif not widens(value.maker) and not rounds(value.maker):
            break
        value = value.maker.inputs[0]
    return found, value


def transpose_operand(value: Value) -> Value | None:
    """Return the matrix whose transpose a value is, or of which it is the exact cast, if any is."""
    maker = value.maker
    if maker is not None and widens(maker):
        return transpose_operand(maker.inputs[0])
    if maker is None or len(value.dims) != 2 or len(maker.inputs) != 1:
        return None
    (x,) = maker.inputs
    if maker.prim is layout.transpose and maker.params["perm"] == (1, 0):
        return x
    one_line = maker.prim is layout.reshape and 1 in value.dims
    return x if one_line and x.dims == value.dims[::-1] else None
