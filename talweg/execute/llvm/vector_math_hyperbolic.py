"""sinh, cosh, tanh and their inverses: polynomials near 0, exponentials or logarithms elsewhere."""

from __future__ import annotations

from talweg.execute.llvm.vector_math_builder import Block, Value
from talweg.execute.llvm.vector_math_exponential import expm1_reduced, power_of_two, reduced

# (tanh(x) - x) / x^3 by x^2; |x| <= 1: 2^-27.7, |x| <= 0.55: 2^-60.6
TANH = {
    "float32": (
        -3.3333296e-01, 1.3332346e-01, -5.3879846e-02, 2.1486675e-02, -7.94601e-03,
        2.3012222e-03, -3.5839438e-04,
    ),
    "float64": (
        -0.333333333333333, 0.1333333333332658, -0.05396825396373684, 0.021869488385170662,
        -0.008863232590155276, 0.003592091916049742, -0.0014555421081429564,
        0.0005884414524774084, -0.00023337386122493513, 8.330544221652574e-05,
        -1.948792470966392e-05,
    ),
}  # fmt: skip


def tanh(f: Block, x: Value) -> Value:
    """x + x^3 P(x^2), or for larger |x| 1 - 2 / (exp(2 |x|) + 1)."""
    size, square = f.abs(x), x * x
    small = f.fma(size * square, f.polynomial(square, TANH[f.dtype.name]), size)
    limit = 10.0 if f.single else 20.0
    i, r = reduced(f, f.at_most(size + size, 2 * limit), f.bias)
    scale = power_of_two(f, i)
    large = 1.0 - 2.0 / f.fma(scale, expm1_reduced(f, r), scale + 1.0)
    return f.copysign(f.select(size < (1.0 if f.single else 0.55), small, large), x)
