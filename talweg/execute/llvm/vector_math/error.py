"""The error function and its complement: two ranges of a = |x|, both computed.

Near 0 erf is x + x P(x^2).  For larger a, erf is 1 - P(a - 2)^4 (float32; the fourth root makes a
short polynomial do), and otherwise erfc is exp(-a^2) G(q) / (a + k) with the slowly changing G, a
polynomial of q = (a - k) / (a + k); after Shepherd and Laframboise, "Chebyshev Approximation of
(1 + 2x)exp(x^2)erfc x", Math. Comp. 36, 1981.  G is a polynomial whose first coefficient (q = 0) is
nearly a floating-point number; that is why k is what it is.
"""

from __future__ import annotations

from talweg.execute.llvm.vector_math.builder import FormulaBuilder, VectorValue
from talweg.execute.llvm.vector_math.exponential import (
    approximate_expm1,
    in_halves,
    power_of_two,
    reduce_range,
)

# erf(x) / x - 1 by x^2, |x| <= 1; 2^-29.4, 2^-56.3
NEAR = {
    "float32": (
        1.2837917e-01,
        -3.7612626e-01,
        1.1283579e-01,
        -2.6853347e-02,
        5.187162e-03,
        -7.997853e-04,
        7.806903e-05,
    ),
    "float64": (
        0.1283791670955126,
        -0.376126389031841,
        0.11283791670971104,
        -0.026866170648033247,
        0.005223977652722754,
        -0.0008548328538057151,
        0.00012055386293682029,
        -1.4926884281773573e-05,
        1.6481110286084118e-06,
        -1.6557737680438882e-07,
        1.6017725897373376e-08,
        -1.6483644399412328e-09,
        1.4378012647186278e-10,
    ),
}
# erfc(a)^(1/4) by a - 2, 1 <= a <= 4; 2^-26.8 of erfc (absolute)
ROOT = (
    2.6152232e-01,
    -2.888617e-01,
    9.9139236e-02,
    6.9014807e-03,
    -1.2248846e-02,
    1.5323614e-03,
    7.727596e-04,
    -1.7833555e-04,
    -2.2135497e-05,
)
# exp(a^2) erfc(a) (a + k): k, G.  For erf, 1 <= a <= 6, 2^-59.5 of erf
FAR = (
    3.0,
    (
        1.0740069070883984,
        -0.8833944531673469,
        0.590228357113292,
        -0.31046726281307335,
        0.11952774238366667,
        -0.02682741591566996,
        -0.0012134389575400126,
        0.0030304722621374287,
        -0.0005559498545747941,
        -0.00028483596375204084,
        0.00010945052910333127,
        4.670113784345986e-05,
    ),
)
# The same for erfc, 0.75 <= a <= 10.1: 2^-29.0, 0.8 <= a <= 27.3: 2^-59.9
COMPLEMENT = {
    "float32": (
        2.4453125,
        (
            1.0512308e00,
            -7.940206e-01,
            4.3673244e-01,
            -1.5574244e-01,
            2.0353526e-02,
            9.915478e-03,
            -4.1066757e-03,
            -7.5907947e-04,
            5.894004e-04,
        ),
    ),
    "float64": (
        3.078125,
        (
            1.0764090930655679,
            -0.8932262614540846,
            0.6083993762186731,
            -0.3311453419341107,
            0.13566612346259932,
            -0.035418269303899616,
            0.0014559214283217674,
            0.002992945413507026,
            -0.0008967248623767374,
            -0.00017987604159878926,
            0.00014193385488865865,
            9.802935263133248e-06,
            -2.1384430341415075e-05,
            -9.158920334040405e-07,
            3.458552460560075e-06,
            2.8828085166908885e-07,
            -5.947350190141914e-07,
            -1.0166664211944638e-07,
            1.0478379838937353e-07,
            2.2025173639171763e-08,
            -1.6157073585265277e-08,
        ),
    ),
}


def erf(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute x + x P(x^2), or from 1 on 1 - erfc(|x|)."""
    a = f.at_most(f.abs(x), 4.0 if f.single else 6.0)
    square = x * x
    near = f.fma(x, f.polynomial(square, NEAR[f.dtype.name]), x)
    if f.single:
        root = f.polynomial_in_halves(a - 2.0, ROOT)
        far = f.fma(-(root * root), root * root, 1.0)
    else:
        far = _far_double(f, a)
    return f.select(f.abs(x) < 1.0, near, f.copysign(far, x))


def _far_double(f: FormulaBuilder, a: VectorValue) -> VectorValue:
    """Compute 1 - exp(-a^2) G(q) / (a + k), with one division for both."""
    i, r = reduce_range(f, -(a * a), f.bias)
    scale = power_of_two(f, i)
    power = f.fma(scale, approximate_expm1(f, r), scale)
    center, coefficients = FAR
    inverse = 1.0 / (a + center)
    q = f.fma(inverse, -2.0 * center, 1.0)
    return f.fma(-power, f.polynomial(q, coefficients) * inverse, 1.0)


def erfc(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute 1 - x - x P(x^2), or exp(-a^2) G / (a + k), or for negative x 2 minus that.

    The roundings of a^2, of a + k and of its inverse are made up for in the exponential, 2^n (1 +
    w), where w is small.
    """
    center, coefficients = COMPLEMENT[f.dtype.name]
    start, limit = (0.75, 10.5) if f.single else (0.8, 28.0)
    near = f.fma(-x, f.polynomial(x * x, NEAR[f.dtype.name]), 1.0 - x)
    a = f.at_most(f.abs(x), limit)
    square = a * a
    i, r = reduce_range(f, -square, 2 * f.bias, f.fma(-a, a, square))
    w = approximate_expm1(f, r)
    below = f.at_least(a, start) + center
    inverse = 1.0 / below
    lost = f.fma(inverse, below, -1.0) + inverse * (a - (below - center))
    q = f.fma(inverse, -2.0 * center, 1.0)
    q = f.fma(inverse * (2.0 * center), lost, q)
    first, *others = coefficients
    step = q * f.polynomial(q, others)
    value = first + step
    slow = value * inverse
    rest = f.fma(value, inverse, -slow) + inverse * (first - value + step)
    rest = f.fma(slow, w - lost, rest)
    far = in_halves(f, slow + rest, i)
    far = f.select(x < 0.0, 2.0 - far, far)
    return f.select(f.abs(x) < start, near, far)
