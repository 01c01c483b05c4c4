"""Algebraic simplification: cheaper equations that mean the same to rounding.

Each rule looks at one equation and what makes its operands, and gives the value that stands for its
result, or None.  NaN, infinities and signed zeros come out as before; so x + 0 stays (it makes
-0 to 0) and x * 0 stays (it makes NaN of infinity).

rule            what it does
one             x * 1, x / 1 and x - 0 are x
twice_negated   -(-x) is x
divided         x / c is x * (1 / c) where c is a power of two: exactly the same
scaled          factors that are powers of two go together, or into another factor
below_maximum   exp(x - max x) is exp of numbers not above 0: half the range to look after
tanh_and_one    1 + tanh u is 2 sigmoid(2 u), which is more exact for u far below 0, and cheaper
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core.primitive import REGISTRY
from talweg.passes.specialize.program import Equation, StaticProgram, Value, constant
from talweg.passes.specialize.stack_primitives import Construct
from talweg.prims import arithmetic, layout, reduce, transcendental

exp_below: Any = Construct("exp_below", {"scalar": "exp_below"})  # exp(x) for x <= 0
exp_below.infer, exp_below.elementwise, exp_below.numpy = lambda x: x, True, np.exp


def number_of(value: Value) -> float | None:
    """Return the number that all elements of a constant are, None for other values."""
    content = value.content
    if content is None or content.size != 1 or not (value.dtype.is_floating):
        return None
    return float(content.reshape(-1)[0])


class Simplifier:
    """The rewriter that applies the rules from the first equation to the last."""

    def __init__(self, static: StaticProgram):
        self.static = static
        self.uses = static.uses()

    def apply(self, name: str, *operands: object) -> Value:
        """Emit a primitive, with numbers of the dtype of the first value."""
        dtype = next(x.dtype for x in operands if isinstance(x, Value))
        inputs = [
            x if isinstance(x, Value) else constant(np.asarray(x, dtype.numpy_dtype))
            for x in operands
        ]
        made = self.static.apply(REGISTRY[name], inputs, {})
        self.uses[made] = self.uses.get(made, 0) + 1  # it stands for one that is used
        return made


def one(simplifier: Simplifier, equation: Equation) -> Value | None:
    """Simplify x * 1, x / 1, x - 0."""
    name, result = equation.prim.name, equation.output
    neutral = {"mul": 1.0, "div": 1.0, "sub": 0.0}.get(name)
    if neutral is None:
        return None
    x, y = equation.inputs
    number = number_of(y)
    if (
        number is not None
        and number == neutral
        and not math.copysign(1.0, number) < 0
        and x.dims == result.dims
    ):
        return x
    if name == "mul" and number_of(x) == 1.0 and y.dims == result.dims:
        return y
    return None


def twice_negated(simplifier: Simplifier, equation: Equation) -> Value | None:
    """Simplify -(-x)."""
    x = equation.inputs[0] if equation.inputs else None
    if (
        equation.prim is not arithmetic.neg
        or x is None
        or x.maker is None
        or x.maker.prim is not arithmetic.neg
    ):
        return None
    return x.maker.inputs[0]


def divide_by_power(simplifier: Simplifier, equation: Equation) -> Value | None:
    """Replace x / c by a multiplication for a power of two c."""
    if equation.prim is not arithmetic.div:
        return None
    x, y = equation.inputs
    number = number_of(y)
    if not number or not math.isfinite(number) or x.dims != equation.output.dims:
        return None
    if not power_of_two(number):
        return None
    return simplifier.apply("mul", x, 1.0 / number)


def below_maximum(simplifier: Simplifier, equation: Equation) -> Value | None:
    """Simplify exp(x - max x), where the maximum is that of the rows of x."""
    below = equation.inputs[0].maker if equation.prim is transcendental.exp else None
    if below is None or below.prim is not arithmetic.sub:
        return None
    x, top = below.inputs
    dims = top.dims
    while top.maker is not None and top.maker.prim in (layout.reshape, arithmetic.stop_gradient):
        (top,) = top.maker.inputs
    maker = top.maker
    if maker is None or maker.prim is not reduce.reduce_max or maker.inputs[0] is not x:
        return None
    axes = maker.params["axes"]
    if dims != tuple([1 if axis in axes else size for axis, size in enumerate(x.dims)]):
        return None
    return simplifier.static.apply(exp_below, equation.inputs, {})


def tanh_and_one(simplifier: Simplifier, equation: Equation) -> Value | None:
    """Simplify 1 + tanh u, where tanh u has no other use."""
    if equation.prim is not arithmetic.add:
        return None
    for x, y in (equation.inputs, equation.inputs[::-1]):
        tanh = y.maker
        if number_of(x) != 1.0 or tanh is None or tanh.prim is not transcendental.tanh:
            continue
        if simplifier.uses.get(y, 0) == 1 and y.dims == equation.output.dims:
            sigmoid = simplifier.apply("sigmoid", simplifier.apply("mul", tanh.inputs[0], 2.0))
            return simplifier.apply("mul", sigmoid, 2.0)
    return None


def power_of_two(number: float | None) -> bool:
    """Return whether multiplication by a number changes the exponent only."""
    if not number or not math.isfinite(number):
        return False
    mantissa, exponent = math.frexp(number)
    return abs(mantissa) == 0.5 and abs(exponent) < 60


def split_scale(simplifier: Simplifier, value: Value, power: bool) -> tuple[Value, float]:
    """Split value = c x to (x, c), where c x has no other use; (value, 1) for others."""
    maker = value.maker
    if maker is None or maker.prim is not arithmetic.mul or simplifier.uses.get(value, 0) != 1:
        return value, 1.0
    for x, y in (maker.inputs, maker.inputs[::-1]):
        number = number_of(y)
        if number is not None and x.dims == value.dims and (power_of_two(number) or not power):
            return x, number
    return value, 1.0


def fold_scale(simplifier: Simplifier, equation: Equation) -> Value | None:
    """Fold (c x) 2ᵏ to (2ᵏ c) x, and (2ʲ x) (2ᵏ y) to 2ʲ⁺ᵏ (x y): exact within the range."""
    if equation.prim is not arithmetic.mul or not equation.output.dtype.is_floating:
        return None
    x, y = equation.inputs
    for one_side, other in ((x, y), (y, x)):
        number = number_of(other)
        if number is not None:
            inner, factor = split_scale(simplifier, one_side, not power_of_two(number))
            if factor == 1.0 or inner.dims != equation.output.dims:
                return None
            return simplifier.apply("mul", inner, factor * number)
    (a, p), (b, q) = split_scale(simplifier, x, True), split_scale(simplifier, y, True)
    if p == 1.0 or q == 1.0 or not x.dims == y.dims == equation.output.dims:
        return None
    product = simplifier.apply("mul", a, b)
    return product if p * q == 1.0 else simplifier.apply("mul", product, p * q)


RULES: tuple[Callable[[Simplifier, Equation], Value | None], ...] = (
    one,
    twice_negated,
    divide_by_power,
    below_maximum,
    tanh_and_one,
    fold_scale,
)


def simplify(static: StaticProgram) -> None:
    """Apply the rules to the whole program, in place."""
    simplifier = Simplifier(static)

    def cheaper(equation: Equation) -> Value | None:
        if not equation.prim.elementwise:
            return None
        found = (rule(simplifier, equation) for rule in RULES)
        return next((value for value in found if value is not None), None)

    static.rewrite(cheaper)
