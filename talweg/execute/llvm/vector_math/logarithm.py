"""log, log1p, softplus: x = 2^e (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), and a polynomial of f.

float32: f - f^2 / 2 + f^3 P(f).  float64: with s = f / (2 + f), the series of atanh in the form of
fdlibm's e_log.c, f - (f^2 / 2 - s (f^2 / 2 + s^2 P(s^2))), where what is rounded is small.
"""

from __future__ import annotations

from talweg.execute.llvm.vector_math.builder import FormulaBuilder, Operand, VectorValue
from talweg.execute.llvm.vector_math.exponential import LN2, exp

ROOT_HALF = 0.7071067811865476
# float32: (log(1 + f) - f + f^2 / 2) / f^3; 2^-28.7
# float64: (2 atanh(s) - 2 s) / s^3 by s^2, |s| <= 0.1716; 2^-59.5
TAIL = {
    "float32": (
        3.3333313e-01,
        -2.5000167e-01,
        2.0002222e-01,
        -1.6659373e-01,
        1.4209637e-01,
        -1.2549664e-01,
        1.21081166e-01,
        -1.0912765e-01,
        5.332565e-02,
    ),
    "float64": (
        0.6666666666666734,
        0.39999999999416685,
        0.28571428742026134,
        0.22222198603728838,
        0.18183563017142262,
        0.15314077917237406,
        0.1479573027747279,
    ),
}


def split(
    f: FormulaBuilder, x: VectorValue, tiny: VectorValue | None = None
) -> tuple[VectorValue, VectorValue, VectorValue]:
    """Return (e, m, biased): x = 2^e m, sqrt(1/2) <= m < sqrt(2), and e + bias as an integer.

    x is positive and, but where `tiny` is true, normal.  There x is multiplied by 2^(mantissa + 1)
    first; `biased` does not know of that.
    """
    up = f.mantissa + 1
    if tiny is not None:
        x = f.select(tiny, x * 2.0**up, x)
    root = f.bits_of(ROOT_HALF)
    moved = f.bits(x) + ((f.bias << f.mantissa) - root)
    biased = moved >> f.mantissa
    m = f.of_bits((moved & ((1 << f.mantissa) - 1)) + root)
    # put into the low bits of 2^mantissa, an integer becomes a number (AVX2 cannot convert int64)
    base = 2.0**f.mantissa
    shifted = f.of_bits(biased | f.bits_of(base))
    if tiny is None:
        return shifted - (base + f.bias), m, biased
    return shifted - f.select(tiny, base + f.bias + up, base + f.bias), m, biased


def log_of(f: FormulaBuilder, e: VectorValue, x: VectorValue) -> VectorValue:
    """Compute e ln 2 + log(1 + x) for sqrt(1/2) <= 1 + x <= sqrt(2)."""
    high, low = LN2[f.dtype.name]
    if f.single:
        tail = f.polynomial(x, (-0.5, *TAIL["float32"]))
        rest = f.fma(x * x, tail, e * low)
    else:
        s = x / (x + 2.0)
        square, half = s * s, x * x * 0.5
        rest = f.fma(s, half + square * f.polynomial(square, TAIL["float64"]), e * low) - half
    return f.fma(e, high, x + rest)


def _ends(f: FormulaBuilder, x: VectorValue, value: VectorValue, zero: float) -> VectorValue:
    """Return log's values where x is not positive: `x` is its argument less `zero`."""
    infinity = float("inf")
    value = f.select(x < infinity, value, x)  # infinity and NaN are their own logarithms
    value = f.select(x.equals(zero), -infinity, value)
    return f.select(x < zero, float("nan"), value)


def log(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute e ln 2 + log(m)."""
    e, m, _ = split(f, x, x < f.smallest)
    return _ends(f, x, log_of(f, e, m - 1.0), 0.0)


def log_of_sum(
    f: FormulaBuilder, u: VectorValue, lost: VectorValue, add: Operand = 0.0
) -> VectorValue:
    """Compute log(u + lost) + add ln 2, u positive and normal, `lost` its rounding error.

    `lost` is added to the mantissa of u less 1, so that u near 1 loses nothing; it is multiplied by
    2^-e before (for the largest e by 0).
    """
    e, m, biased = split(f, u)
    twice = f.of_bits((2 * f.bias + 1 - biased) << f.mantissa)
    return log_of(f, e + add, f.fma(lost * 0.5, twice, m - 1.0))


def log1p(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute log(u + (x - (u - 1))) with u = 1 + x; x itself where x^2 / 2 is lost."""
    u = x + 1.0
    value = _ends(f, x, log_of_sum(f, u, x - (u - 1.0)), -1.0)
    return f.select(f.abs(x) < 2.0 ** -(f.mantissa + 2), x, value)


def softplus(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute max(x, 0) + log(1 + exp(-|x|)), where 1 + exp(-|x|) <= 2 needs no splitting."""
    small = exp(f, -f.abs(x))
    half = small > 0.41421356237309503
    reduced = f.select(half, f.fma(small, 0.5, -0.5), small)
    return f.at_least(x, 0.0) + log_of(f, f.ones(half), reduced)
