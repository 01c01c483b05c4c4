"""pow: 2^(y log2|x|), with the sign and the special cases of C's function (Annex F).

The logarithm must be right to ten bits more than the result, since its error is multiplied by up to
1075.  For float32 all is computed with float64 numbers, two half vectors for one: less work than
pairs of float32 numbers, and right to 0.51 ulp.  For float64 the logarithm is a pair of numbers, of
which the second one is what the first one lacks (Dekker, "A Floating-Point Technique for Extending
the Available Precision", 1971; with FMA for exact products).
"""

from __future__ import annotations

from talweg.execute.llvm.vector_math.builder import FormulaBuilder, VectorValue
from talweg.execute.llvm.vector_math.exponential import LN2, TAIL, in_halves
from talweg.execute.llvm.vector_math.logarithm import split

# log2((1 + s) / (1 - s)) / s by s^2, |s| <= 0.1716; 2^-37.8
LOG2 = (
    2.8853900817900997,
    0.9617966733241928,
    0.577083588644974,
    0.41167248357567077,
    0.34073468833322484,
)
# The same: two coefficients as pairs, and the others; 2^-73.4
LOG2_FIRST = (2.8853900817779268, 4.0710547481862066e-17)  # 2 / ln 2
LOG2_SECOND = (0.9617966939259756, 5.0577616648125907e-17)  # 2 / (3 ln 2)
LOG2_TAIL = (
    0.5770780163555851,
    0.4121985831113459,
    0.3205988979127146,
    0.2623081986691776,
    0.22195226943982996,
    0.19240136248108405,
    0.16845061173541367,
    0.17282544816173523,
)
# 2^r, |r| <= 1/2; 2^-32.3
EXP2 = (
    0.9999999999616764,
    0.6931471820627978,
    0.24022651202655626,
    0.05550409550495385,
    0.00961801513150186,
    0.0013333118845339114,
    0.00015474768699373854,
    1.5594193611882413e-05,
)


def _power_single(f: FormulaBuilder, size: VectorValue, y: VectorValue) -> VectorValue:
    """Compute size^y in float32, for 0 < size < infinity."""
    wide = f.widen()
    e, m, _ = split(wide, wide.take(size))
    s = (m - 1.0) / (m + 1.0)
    logarithm = wide.fma(s, wide.polynomial(s * s, LOG2), e)
    product = wide.at_least(wide.at_most(wide.take(y) * logarithm, 130.0), -160.0)
    magic = 1.5 * 2.0**wide.mantissa
    shifted = product + magic
    value = wide.polynomial(product - (shifted - magic), EXP2)
    return f.take(wide.of_bits(wide.bits(value) + (wide.bits(shifted) << wide.mantissa)))


def _quotient(f: FormulaBuilder, m: VectorValue) -> tuple[VectorValue, VectorValue]:
    """Compute s = (m - 1) / (m + 1) as a pair."""
    below = m + 1.0
    inverse = 1.0 / below
    s = (m - 1.0) * inverse
    left = f.fma(-s, m - (below - 1.0), f.fma(-s, below, m - 1.0))
    return s, left * inverse


def _log2_pair(f: FormulaBuilder, x: VectorValue) -> tuple[VectorValue, VectorValue]:
    """Compute log2(x) as a pair to 2^-66: e + s (c0 + z (c1 + z^2 P(z))), z = s^2."""
    e, m, _ = split(f, x, x < f.smallest)
    s, s_rest = _quotient(f, m)
    z = s * s
    z_rest = f.fma(s, s, -z) + (s + s) * s_rest
    # c1 + z P(z)
    step = f.fma(z, f.polynomial(z, LOG2_TAIL), LOG2_SECOND[1])
    inner = LOG2_SECOND[0] + step
    inner_rest = LOG2_SECOND[0] - inner + step
    # c0 + z (c1 + ...)
    product = z * inner
    product_rest = f.fma(z_rest, inner, f.fma(z, inner_rest, f.fma(z, inner, -product)))
    outer = LOG2_FIRST[0] + product
    outer_rest = LOG2_FIRST[0] - outer + product + (product_rest + LOG2_FIRST[1])
    # times s, and e + that
    last = s * outer
    last_rest = f.fma(s_rest, outer, f.fma(s, outer_rest, f.fma(s, outer, -last)))
    whole = e + last
    whole_rest = e - whole + last + last_rest
    high = whole + whole_rest
    return high, whole - high + whole_rest


def _power_double(f: FormulaBuilder, size: VectorValue, y: VectorValue) -> VectorValue:
    """Compute size^y in float64, for 0 < size < infinity."""
    high, low = _log2_pair(f, size)
    y = f.at_least(f.at_most(y, 2.0**900), -(2.0**900))
    product = y * high
    rest = f.fma(y, low, f.fma(y, high, -product))
    limit = 1100.0
    rest = f.select(f.abs(product) < limit, rest, 0.0)
    product = f.at_least(f.at_most(product, limit), -limit)
    magic = 1.5 * 2.0**f.mantissa + 2 * f.bias
    shifted = product + magic
    exact = product - (shifted - magic)
    r = exact + rest
    return in_halves(f, _exp2_pair(f, r, exact - r + rest), f.bits(shifted))


def _exp2_pair(f: FormulaBuilder, r: VectorValue, rest: VectorValue) -> VectorValue:
    """Compute 2^(r + rest) for |r| <= 1/2 to 0.6 ulps, so that exact powers are exact."""
    high, low = LN2["float64"]
    t = r * high
    t_rest = f.fma(r, low, f.fma(rest, high, f.fma(r, high, -t)))
    total = t + 1.0
    tail = f.fma(t * t, f.polynomial(t, TAIL["float64"]), t_rest)
    return total + (1.0 - total + t + tail)


def pow(f: FormulaBuilder, x: VectorValue, y: VectorValue) -> VectorValue:
    """Compute x^y; 0 and infinite |x| by the sign of y; 1^y = x^0 = 1."""
    infinity = float("inf")
    size = f.abs(x)
    finite = f.at_least(f.at_most(y, f.largest), -f.largest)  # so that 1^infinity is 1
    value = (_power_single if f.single else _power_double)(f, size, finite)
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
