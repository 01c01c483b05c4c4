"""asin, acos, atan, atan2: a polynomial on a short interval, and identities for the rest.

Beyond 1 atan is pi / 2 - atan(1 / x); beyond 1/2 asin is pi / 2 - 2 asin(sqrt((1 - x) / 2)) (as in
Cody and Waite, "Software Manual for the Elementary Functions", 1980).
"""

from __future__ import annotations

from talweg.execute.llvm.vector_math.builder import FormulaBuilder, Operand, VectorValue
from talweg.execute.llvm.vector_math.trigonometry import HALF_PI

# (atan(t) - t) / t^3 by t^2, |t| <= 1; 2^-28.5, 2^-57.6
ATAN = {
    "float32": (
        -3.33333e-01,
        1.999853e-01,
        -1.4264016e-01,
        1.09508775e-01,
        -8.39928e-02,
        5.7880502e-02,
        -3.1095527e-02,
        1.0867525e-02,
        -1.7824627e-03,
    ),
    "float64": (
        -0.3333333333333307,
        0.19999999999951756,
        -0.14285714282588668,
        0.11111111007361801,
        -0.09090907008172572,
        0.07692279893417249,
        -0.06666404460763244,
        0.058805300335191726,
        -0.0525352779746258,
        0.04722351861525548,
        -0.042192528946636096,
        0.03664335290953147,
        -0.029906058204152694,
        0.021987465051608937,
        -0.013902946178450717,
        0.007198147095083211,
        -0.002885744078779819,
        0.0008316069627055689,
        -0.00015222136970170454,
        1.3231021686234808e-05,
    ),
}
# (asin(t) - t) / t^3 by t^2, |t| <= 1/2; 2^-27.6, 2^-55.9
ASIN = {
    "float32": (1.6666752e-01, 7.4953094e-02, 4.546915e-02, 2.418477e-02, 4.2158335e-02),
    "float64": (
        0.16666666666665408,
        0.07500000000337162,
        0.04464285682819531,
        0.03038195914275937,
        0.02237175790568332,
        0.01735970702295693,
        0.01388521246074605,
        0.012169366885502467,
        0.006527286509251,
        0.019530196074765103,
        -0.016227352903642578,
        0.03191444158019809,
    ),
}


def _atan_tail(f: FormulaBuilder, t: VectorValue) -> VectorValue:
    """Compute atan(t) - t for |t| <= 1."""
    square = t * t
    return t * square * f.polynomial(square, ATAN[f.dtype.name])


def atan(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute atan(t), or from 1 on pi / 2 - atan(t), t = 1 / |x|; with x's sign."""
    size = f.abs(x)
    large = size > 1.0
    t = f.select(large, 1.0, size) / f.select(large, size, 1.0)
    tail = _atan_tail(f, t)
    high, low, _ = HALF_PI[f.dtype.name]
    turned = high - (t - (low - tail))
    return f.copysign(f.select(large, turned, t + tail), x)


def atan2(f: FormulaBuilder, y: VectorValue, x: VectorValue) -> VectorValue:
    """Compute the angle of (x, y), from atan of the smaller by the larger of |x| and |y|."""
    up, right = f.abs(y), f.abs(x)
    steep = up > right
    below = f.select(steep, up, right)
    t = f.select(steep, right, up) / below
    same = f.select(below > 0.0, f.constant(1.0), 0.0)  # both infinite or both 0, too
    t = f.select(up.equals(right), same, t)
    tail = _atan_tail(f, t)
    # t + tail, pi / 2 - ..., or pi - those where x is negative, -0 among them
    backward = f.bits(x) < 0
    turned = steep ^ backward
    t, tail = f.select(turned, -t, t), f.select(turned, -tail, tail)
    high, low, _ = HALF_PI[f.dtype.name]
    angle = f.select(steep, high, f.select(backward, 2.0 * high, 0.0))
    rest = f.select(steep, low, f.select(backward, 2.0 * low, 0.0))
    return f.copysign(angle + (t + (tail + rest)), y)


def _asin_parts(f: FormulaBuilder, x: VectorValue) -> tuple[VectorValue, VectorValue, VectorValue]:
    """Return (near, t, tail): |x| <= 1/2, and asin(t) = t + tail, t as in `asin`."""
    size = f.abs(x)
    near = size <= 0.5
    half = f.fma(size, -0.5, 0.5)
    square = f.select(near, x * x, half)
    t = f.select(near, size, f.sqrt(half))
    return near, t, t * square * f.polynomial(square, ASIN[f.dtype.name])


def asin(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute asin(t), or pi / 2 - 2 asin(t), t = |x| or sqrt((1 - |x|) / 2)."""
    near, t, tail = _asin_parts(f, x)
    high, low, _ = HALF_PI[f.dtype.name]
    far = high - (t + t - f.fma(tail, -2.0, low))
    return f.copysign(f.select(near, t + tail, far), x)


def acos(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute pi / 2 - asin(x), or 2 asin(t), or pi - that for negative x."""
    near, t, tail = _asin_parts(f, x)
    high, low, _ = HALF_PI[f.dtype.name]
    t, tail = f.select(near, t, t + t), f.select(near, tail, tail + tail)
    turned = near ^ (x < 0.0)  # where asin(t) is subtracted from something
    t, tail = f.select(turned, -t, t), f.select(turned, -tail, tail)
    angle, rest = _of(f, near, x, high), _of(f, near, x, low)
    return angle + (t + (tail + rest))


def _of(f: FormulaBuilder, near: VectorValue, x: VectorValue, quarter: float) -> Operand:
    """Return `quarter` near 0, else twice that for negative x and 0 for positive x."""
    return f.select(near, quarter, f.select(x < 0.0, 2.0 * quarter, 0.0))
