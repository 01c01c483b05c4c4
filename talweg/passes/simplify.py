"""Algebra on equations: cheaper ones that mean the same to rounding.

Each rule looks at one equation and what makes its operands, and gives the value that stands for its
result, or None.  NaN, infinities and signed zeros come out as before; so x + 0 stays (it makes
-0 to 0) and x * 0 stays (it makes NaN of infinity).

rule            what it does
one             x * 1, x / 1 and x - 0 are x
twice_negated   -(-x) is x
divided         x / c is x * (1 / c) where c is a power of two: exactly the same
tanh_and_one    1 + tanh u is 2 sigmoid(2 u), which is more exact for u far below 0, and cheaper
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core.primitive import later
from talweg.passes.straight import Equation, Straight, Value, constant


def number_of(value: Value) -> float | None:
    """The number that all elements of a constant are; None for other values."""
    content = value.content
    if content is None or content.size != 1 or not (value.dtype.is_floating):
        return None
    return float(content.reshape(-1)[0])


class Simplifier:
    """Applies the rules from the first equation to the last."""

    def __init__(self, straight: Straight):
        self.straight = straight
        self.uses: dict[Value, int] = {}
        for equation in straight.equations:
            for x in equation.inputs:
                self.uses[x] = self.uses.get(x, 0) + 1
        for value in [*straight.outputs, *[after for _, _, after in straight.states]]:
            self.uses[value] = self.uses.get(value, 0) + 2

    def apply(self, name: str, *operands: Any) -> Value:
        """The result of a primitive, with numbers of the dtype of the first value."""
        dtype = next(x.dtype for x in operands if isinstance(x, Value))
        inputs = [x if isinstance(x, Value) else constant(np.asarray(x, dtype.numpy_dtype))
                  for x in operands]  # fmt: skip
        return self.straight.apply(later(name), inputs, {})


def one(simplifier: Simplifier, equation: Equation) -> Value | None:
    """x * 1, x / 1, x - 0."""
    name, result = equation.prim.name, equation.output
    neutral = {"mul": 1.0, "div": 1.0, "sub": 0.0}.get(name)
    if neutral is None:
        return None
    x, y = equation.inputs
    number = number_of(y)
    if number == neutral and not math.copysign(1.0, number) < 0 and x.dims == result.dims:
        return x
    if name == "mul" and number_of(x) == 1.0 and y.dims == result.dims:
        return y
    return None


def twice_negated(simplifier: Simplifier, equation: Equation) -> Value | None:
    """-(-x)."""
    x = equation.inputs[0] if equation.inputs else None
    if equation.prim.name != "neg" or x is None or x.maker is None or x.maker.prim.name != "neg":
        return None
    return x.maker.inputs[0]


def divided(simplifier: Simplifier, equation: Equation) -> Value | None:
    """x / c for a power of two."""
    if equation.prim.name != "div":
        return None
    x, y = equation.inputs
    number = number_of(y)
    if not number or not math.isfinite(number) or x.dims != equation.output.dims:
        return None
    mantissa, exponent = math.frexp(number)
    if abs(mantissa) != 0.5 or abs(exponent) > 100:
        return None
    return simplifier.apply("mul", x, 1.0 / number)


def tanh_and_one(simplifier: Simplifier, equation: Equation) -> Value | None:
    """1 + tanh u, where tanh u is used for nothing else."""
    if equation.prim.name != "add":
        return None
    for x, y in (equation.inputs, equation.inputs[::-1]):
        tanh = y.maker
        if number_of(x) != 1.0 or tanh is None or tanh.prim.name != "tanh":
            continue
        if simplifier.uses.get(y, 0) == 1 and y.dims == equation.output.dims:
            sigmoid = simplifier.apply("sigmoid", simplifier.apply("mul", tanh.inputs[0], 2.0))
            return simplifier.apply("mul", sigmoid, 2.0)
    return None


RULES: tuple[Callable[[Simplifier, Equation], Value | None], ...] = (
    one,
    twice_negated,
    divided,
    tanh_and_one,
)


def simplify(straight: Straight) -> None:
    """Apply the rules to the whole program, in place."""
    simplifier = Simplifier(straight)
    equations, straight.equations = straight.equations, []
    renamed: dict[Value, Value] = {}
    for equation in equations:
        equation.inputs = tuple([renamed.get(x, x) for x in equation.inputs])
        found = None
        if equation.prim.elementwise:
            for rule in RULES:
                found = rule(simplifier, equation)
                if found is not None:
                    break
        if found is None:
            straight.equations.append(equation)
        else:
            renamed[equation.output] = found
    straight.rename(renamed)
