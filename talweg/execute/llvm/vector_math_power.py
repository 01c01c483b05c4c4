"""pow: 2^(y log2|x|), with the sign and the special cases of C's function.

float32 is computed with float64 numbers, two half vectors for one, which costs less than pairs of
float32 numbers would and is right to 0.51 ulp.
"""

from __future__ import annotations

from talweg.execute.llvm.vector_math_builder import Block, Value
from talweg.execute.llvm.vector_math_logarithm import split

# log2((1 + s) / (1 - s)) / s by s^2, |s| <= 0.1716; 2^-37.8
LOG2 = (
    2.8853900817900997, 0.9617966733241928, 0.577083588644974, 0.41167248357567077,
    0.34073468833322484,
)  # fmt: skip
# 2^r, |r| <= 1/2; 2^-32.3
EXP2 = (
    0.9999999999616764, 0.6931471820627978, 0.24022651202655626, 0.05550409550495385,
    0.00961801513150186, 0.0013333118845339114, 0.00015474768699373854, 1.5594193611882413e-05,
)  # fmt: skip


def _magnitude_single(f: Block, size: Value, y: Value) -> Value:
    """size^y for 0 < size < infinity, finite y."""
    wide = f.widened()
    e, m, _ = split(wide, wide.take(size))
    s = (m - 1.0) / (m + 1.0)
    logarithm = wide.fma(s, wide.polynomial(s * s, LOG2), e)
    product = wide.at_least(wide.at_most(wide.take(y) * logarithm, 130.0), -160.0)
    magic = 1.5 * 2.0**wide.mantissa
    shifted = product + magic
    value = wide.polynomial(product - (shifted - magic), EXP2)
    return f.take(wide.of_bits(wide.bits(value) + (wide.bits(shifted) << wide.mantissa)))


def pow(f: Block, x: Value, y: Value) -> Value:
    """x^y; where |x| is 0 or infinite |x| or its inverse, by the sign of y; 1^y = x^0 = 1."""
    infinity = float("inf")
    size = f.abs(x)
    finite = f.at_least(f.at_most(y, f.largest), -f.largest)
    value = _magnitude_single(f, size, finite)
    # at 0 and infinity: |x|^y for y > 0, |x|^-1 to that for y < 0
    end = size.equals(0.0) | size.equals(infinity)
    zero = size.equals(0.0) ^ (y < 0.0)
    value = f.select(end, f.select(zero, 0.0, infinity), value)
    value = f.select(f.is_nan(x) | f.is_nan(y), float("nan"), value)
    half = y * 0.5
    whole = f.trunc(y).equals(y)
    odd = whole & f.trunc(half).differs(half)
    value = f.select((x < 0.0) & ~whole & ~f.is_nan(y) & (size < infinity), float("nan"), value)
    value = f.select(odd, f.copysign(value, x), value)
    return f.select(x.equals(1.0) | y.equals(0.0), 1.0, value)
