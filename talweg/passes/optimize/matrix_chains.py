"""Matrix chain ordering: (A @ B) @ v runs as A @ (B @ v).

The order with the fewest multiplications is found by dynamic programming (Godbole 1973, "On
efficient computation of matrix chain products").  A product that anything else uses stays as it is,
and so does a chain where less than half of the multiplications would go.  The bound on the rounding
error is the same for every order (Higham 2002, "Accuracy and Stability of Numerical Algorithms",
3.5).
"""

from __future__ import annotations

import math
from typing import Any

from talweg.core.dtypes import float32, float64
from talweg.passes.specialize.program import Equation, StaticProgram, Value
from talweg.prims import contract

LEAST = 1 << 16  # multiplications to be saved


def order_products(static: StaticProgram) -> None:
    """Rewrite the chains of a program in place."""
    uses = static.uses()
    inside = {
        x
        for equation in static.equations
        if equation.prim is contract.matmul
        for x in equation.inputs
        if uses[x] == 1 and _is_product(x)
    }

    def reorder(equation: Equation) -> Value | None:
        if equation.prim is not contract.matmul or equation.output in inside:
            return None
        factors = [part for x in equation.inputs for part in _factors(x, inside)]
        if len(factors) < 3 or not _is_chain(factors):
            return None
        chain = _Chain(factors)
        before, after = _cost(equation.output, inside), chain.cost(0, len(factors) - 1)
        if before < 2 * after or before - after < LEAST:
            return None
        return chain.emit(static, equation, 0, len(factors) - 1)

    static.rewrite(reorder)


def _is_product(value: Value) -> bool:
    maker = value.maker
    return maker is not None and maker.prim is contract.matmul and value.dtype in (float32, float64)


def _factors(value: Value, inside: set[Value]) -> list[Value]:
    """Return the factors of a chain of products, from left to right."""
    if value not in inside:
        return [value]
    maker: Any = value.maker
    return [part for x in maker.inputs for part in _factors(x, inside)]


def _is_chain(factors: list[Value]) -> bool:
    """Return whether all stacks among the factors are equally long."""
    return len({x.dims[:-2] for x in factors if len(x.dims) > 2}) <= 1


def _cost(value: Value, inside: set[Value]) -> int:
    """Count the multiplications of a product and of its factors."""
    maker: Any = value.maker
    x, y = maker.inputs
    return value.size * x.dims[-1] + sum([_cost(part, inside) for part in (x, y) if part in inside])


class _Chain:
    """The dynamic program for the cheapest order of every part of a chain."""

    def __init__(self, factors: list[Value]):
        self.factors = factors
        self.best: dict[tuple[int, int], tuple[int, int]] = {}  # part -> cost, where it is split

    def cost(self, first: int, last: int) -> int:
        """Return the number of multiplications of a part."""
        return self._split(first, last)[0] if first < last else 0

    def _split(self, first: int, last: int) -> tuple[int, int]:
        found = self.best.get((first, last))
        if found is None:
            found = self.best[first, last] = min(
                [
                    (self._cost_of_split(first, middle, last), middle)
                    for middle in range(first, last)
                ]
            )
        return found

    def _cost_of_split(self, first: int, middle: int, last: int) -> int:
        parts = self.factors[first : last + 1]
        count = math.prod(max([x.dims[:-2] for x in parts], key=len))
        own = count * parts[0].dims[-2] * self.factors[middle].dims[-1] * parts[-1].dims[-1]
        return own + self.cost(first, middle) + self.cost(middle + 1, last)

    def emit(self, static: StaticProgram, equation: Equation, first: int, last: int) -> Value:
        """Emit the product of a part."""
        if first == last:
            return self.factors[first]
        middle = self._split(first, last)[1]
        parts = [
            self.emit(static, equation, *part) for part in ((first, middle), (middle + 1, last))
        ]
        return static.apply(contract.matmul, parts, {}, equation.node)
