"""exp, expm1, the logistic function: x = n ln 2 + r with a whole n, and a polynomial of r.

The reduction is that of Cody and Waite ("Software Manual for the Elementary Functions", 1980), with
ln 2 in two parts and FMA; polynomials are minimax ones, of tools/minimax.py.
"""

from __future__ import annotations

from talweg.execute.llvm.vector_math.builder import FormulaBuilder, VectorValue

LOG2E = 1.4426950408889634
LN2 = {
    "float32": (0.6931471824645996, -1.9046542121259336e-09),
    "float64": (0.6931471805599453, 2.3190468138462996e-17),
}
# (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2; relative to exp: 2^-28.2, 2^-57.9
TAIL = {
    "float32": (4.9999994e-01, 1.6666515e-01, 4.1668084e-02, 8.369352e-03, 1.3840492e-03),
    "float64": (
        0.5000000000000011,
        0.16666666666666435,
        0.041666666666525735,
        0.008333333333475659,
        0.0013888888944889714,
        0.00019841269556115427,
        2.480149170453541e-05,
        2.7557534408930823e-06,
        2.763077444076773e-07,
        2.5018906228659532e-08,
    ),
}
EXP_NEGATIVE = (1.0, -1.0, *[c * (-1) ** k for k, c in enumerate(TAIL["float32"])])  # exp(-r)


def reduce_range(
    f: FormulaBuilder,
    x: VectorValue,
    offset: int,
    rest: VectorValue | None = None,
    sign: float = 1.0,
) -> tuple[VectorValue, VectorValue]:
    """Return (i, r): x + rest = n ln 2 + r, |r| <= ln 2 / 2, i with low bits n + offset.

    Adding 1.5 2^mantissa to a number rounds it to a whole one, which is then in the low bits.
    With sign -1 it is -x = n ln 2 - r: constants have the signs, and x need not be negated.
    """
    magic = 1.5 * 2.0**f.mantissa + offset
    shifted = f.fma(x, sign * LOG2E, magic)
    n = shifted - magic
    high, low = [-sign * part for part in LN2[f.dtype.name]]
    r = f.fma(n, high, x)
    return f.bits(shifted), f.fma(n, low, r) if rest is None else r + f.fma(n, low, rest)


def approximate_expm1(f: FormulaBuilder, r: VectorValue) -> VectorValue:
    """Compute exp(r) - 1 for |r| <= ln 2 / 2."""
    return f.fma(r * r, f.polynomial(r, TAIL[f.dtype.name]), r)


def power_of_two(f: FormulaBuilder, i: VectorValue) -> VectorValue:
    """Compute 2^n from the integer n + bias (in the low bits)."""
    return f.of_bits(i << f.mantissa)


def in_halves(f: FormulaBuilder, value: VectorValue, i: VectorValue) -> VectorValue:
    """Compute value 2^n from the integer n + 2 bias: by two products, rounded rightly."""
    half = (i >> 1) << f.mantissa
    return value * f.of_bits(half) * f.of_bits((i << f.mantissa) - half)


def polynomial_exp(f: FormulaBuilder, r: VectorValue) -> VectorValue:
    """Compute exp(r) for |r| <= ln 2 / 2."""
    return f.polynomial(r, (1.0, 1.0, *TAIL[f.dtype.name]))


def exp(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute 2^n exp(r)."""
    low, high = (-104.0, 89.0) if f.single else (-746.0, 710.0)
    i, r = reduce_range(f, f.at_least(f.at_most(x, high), low), 2 * f.bias)
    return in_halves(f, f.select(x < low, 0.0, polynomial_exp(f, r)), i)


def exp_below(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute exp(x) for x <= 0: 2^(n + shift) does not underflow; the polynomial compensates.

    Where the result is 0 no product underflows to it: processors take 150 cycles for that, and a
    softmax with a mask, as attention has, would do it for half of its elements.
    """
    low, shift = (-104.0, 64) if f.single else (-746.0, 512)
    i, r = reduce_range(f, f.at_least(x, low), f.bias + shift)
    scaled = [c * 2.0**-shift for c in (1.0, 1.0, *TAIL[f.dtype.name])]
    return f.select(x < low, 0.0, f.polynomial(r, scaled)) * power_of_two(f, i)


def expm1(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute 2 (t (exp(r) - 1) + (t - 1/2)), t = 2^(n-1); x itself where x^2 / 2 is lost."""
    low, high = (-20.0, 89.0) if f.single else (-40.0, 710.0)
    i, r = reduce_range(f, f.at_least(f.at_most(x, high), low), f.bias - 1)
    half = power_of_two(f, i)
    value = f.fma(half, approximate_expm1(f, r), half - 0.5)
    return f.select(f.abs(x) < 2.0 ** -(f.mantissa + 2), x, value + value)


def sigmoid(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute 1 / (1 + exp(-x)), numerator and denominator scaled against overflow.

    For float32 it is fast rather than within an ulp.  For float64 the denominator is the sum of
    1 + 2^n and 2^n (exp(r) - 1), and a step of Newton's makes up for the roundings of both sums and
    of the division, which would be 1.5 ulps.
    """
    low, high, shift = (-104.0, 20.0, 64) if f.single else (-746.0, 40.0, 512)
    x, one = f.at_least(f.at_most(x, high), low), 2.0**-shift
    if f.single:
        i, r = reduce_range(f, x, f.bias - shift, sign=-1.0)
        return one / f.fma(power_of_two(f, i), f.polynomial(r, EXP_NEGATIVE), one)
    i, r = reduce_range(f, -x, f.bias - shift)
    scale = power_of_two(f, i)
    first = scale + one
    rest = scale * approximate_expm1(f, r)
    both = first + rest
    lost = rest - (both - first) + (one - (first - scale))
    value = one / both
    missing = f.fma(-value, lost, f.fma(-value, both, one))
    return f.fma(value, missing * 2.0**shift, value)
