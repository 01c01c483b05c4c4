"""sinh, cosh, tanh and their inverses: exponentials, logarithms, a polynomial for small sinh."""

from __future__ import annotations

from talweg.execute.llvm.vector_math.builder import FormulaBuilder, VectorValue
from talweg.execute.llvm.vector_math.exponential import (
    approximate_expm1,
    in_halves,
    polynomial_exp,
    power_of_two,
    reduce_range,
)
from talweg.execute.llvm.vector_math.logarithm import log_of_sum

# (sinh(x) - x) / x^3 by x^2, |x| <= 1; 2^-31.6, 2^-61.8
SINH = {
    "float32": (1.6666667e-01, 8.3333105e-03, 1.9842896e-04, 2.7822132e-06),
    "float64": (
        0.16666666666666669,
        0.008333333333332912,
        0.0001984126984159341,
        2.7557319106756376e-06,
        2.505213099881447e-08,
        1.605665915887418e-10,
        7.776600394514696e-13,
    ),
}


def _half_exp(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute exp(x) / 2 for positive x, infinite where that is."""
    i, r = reduce_range(f, f.at_most(x, 90.0 if f.single else 711.0), 2 * f.bias - 1)
    return in_halves(f, polynomial_exp(f, r), i)


def sinh(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute x + x^3 P(x^2), or from 1 on (exp(x) - exp(-x)) / 2."""
    size, square = f.abs(x), x * x
    small = f.fma(size * square, f.polynomial(square, SINH[f.dtype.name]), size)
    half = _half_exp(f, size)
    return f.copysign(f.select(size < 1.0, small, half - 0.25 / half), x)


def cosh(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute (exp(x) + exp(-x)) / 2."""
    half = _half_exp(f, f.abs(x))
    return half + 0.25 / half


def tanh(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute e / (e + 2) with e = exp(2 |x|) - 1, fast rather than within an ulp."""
    size = f.abs(x)
    i, r = reduce_range(f, f.at_most(size + size, 20.0 if f.single else 40.0), f.bias)
    scale = power_of_two(f, i)
    e = f.fma(scale, approximate_expm1(f, r), scale - 1.0)
    return f.copysign(e / (e + 2.0), x)


def _root_pair(
    f: FormulaBuilder, high: VectorValue, low: VectorValue
) -> tuple[VectorValue, VectorValue]:
    """Compute sqrt(high + low) as a pair."""
    root = f.sqrt(high)
    return root, (f.fma(-root, root, high) + low) / (root + root)


def asinh(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute log(|x| + sqrt(x^2 + 1)), the sum as a pair; log(2 |x|) for huge x."""
    size = f.abs(x)
    huge = size > 2.0 ** (f.mantissa // 2 + 3)
    square = size * size
    high, low = f.two_sum(square, 1.0)
    root, root_rest = _root_pair(f, high, low + f.fma(size, size, -square))
    u = root + size
    lost = size - (u - root) + root_rest
    value = log_of_sum(f, f.select(huge, size, u), f.select(huge, 0.0, lost), f.ones(huge))
    return f.copysign(f.select(size < float("inf"), value, size), x)


def acosh(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute log(x + sqrt(x^2 - 1)), the sum as a pair; log(2 x) for huge x."""
    huge = x > 2.0 ** (f.mantissa // 2 + 3)
    square = x * x
    rounded = square - 1.0
    rest = square - (rounded + 1.0) + f.fma(x, x, -square)
    high = rounded + rest
    root, root_rest = _root_pair(f, high, rounded - high + rest)
    u = x + root
    lost = root - (u - x) + f.select(root > 0.0, root_rest, 0.0)
    value = log_of_sum(f, f.select(huge, x, u), f.select(huge, 0.0, lost), f.ones(huge))
    value = f.select(x < float("inf"), value, x)
    return f.select(x < 1.0, float("nan"), value)


def atanh(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute log((1 + |x|) / (1 - |x|)) / 2, the quotient as a pair."""
    size = f.abs(x)
    above, below = 1.0 + size, 1.0 - size
    above_rest, below_rest = size - (above - 1.0), 1.0 - below - size
    inverse = 1.0 / below
    u = above * inverse
    left = f.fma(-u, below, above) + f.fma(-u, below_rest, above_rest)
    value = log_of_sum(f, u, left * inverse) * 0.5
    value = f.select(size.equals(1.0), float("inf"), value)
    return f.copysign(f.select(size > 1.0, float("nan"), value), x)
