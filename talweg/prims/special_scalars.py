"""Special functions of float32 numbers as formulas over elementary ones, computed in float64.

So results are right to little more than half a unit in the last place, as those of SciPy, which
takes one number after the other.  Of float64 numbers SciPy's own are more exact.  Bessel functions:
polynomials in two ranges (as in Cephes, S. L. Moshier, "Methods and Programs for Mathematical
Functions", 1989).

normal quantiles: M. J. Wichura, "Algorithm AS 241: The Percentage Points of the Normal
Distribution", Applied Statistics 37, 1988 (PPND16).  ln Γ and ψ: Stirling's series (DLMF 5.11.1 and
5.11.2) beyond 8, to which smaller arguments are brought by the recurrence (DLMF 5.5.1 and 5.5.2),
and negative ones by reflection (DLMF 5.5.3 and 5.5.4).  ζ: the formula of Euler and Maclaurin
(DLMF 25.11.7, and 25.11.12 for ψ⁽ⁿ⁾).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from talweg.core.dtypes import float32, float64

# Numerators and denominators: by 0.425² - q²; by r - 1.6 and, beyond 5, r - 5, r = sqrt(-ln p)
MIDDLE = (
    (
        3.3871328727963666080e0,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ),
    (
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ),
)
TAIL = (
    (
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ),
    (
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)
END = (
    (
        6.65790464350110377720e0,
        5.46378491116411436990e0,
        1.78482653991729133580e0,
        2.96560571828504891230e-1,
        2.65321895265761230930e-2,
        1.24266094738807843860e-3,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ),
    (
        1.0,
        5.99832206555887937690e-1,
        1.36929880922735805310e-1,
        1.48753612908506148525e-2,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ),
)
# B₂ₖ / (2k (2k - 1)) and B₂ₖ / 2k, k = 1, 2, ..., with Bernoulli's numbers
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
STIRLING_SLOPE = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
# Taylor's series of ln Γ at its roots, over the distance (DLMF 5.7.3)
EULER, ZETA = 0.57721566490153286061, (1.6449340668482264, 1.2020569031595943, 1.0823232337111382)
AT_ROOTS = {
    1.0: (-EULER, ZETA[0] / 2, -ZETA[1] / 3, ZETA[2] / 4),
    2.0: (1 - EULER, (ZETA[0] - 1) / 2, -(ZETA[1] - 1) / 3, (ZETA[2] - 1) / 4),
}
# e⁻ˣ I₀ and e⁻ˣ I₁ / x by x / 4 - 1 up to 8, beyond √x e⁻ˣ I₀ and √x e⁻ˣ I₁ by 16 / x - 1, fitted
# in Chebyshev's points: 2^-39.0, 2^-34.7, 2^-40.3, 2^-34.5
BESSEL = (
    (
        (
            0.20700192122416236,
            -0.11300432689262493,
            0.09451562849642978,
            -0.08904344075549833,
            0.08734341792578923,
            -0.08496339762883058,
            0.07927519913142031,
            -0.06954098428577866,
            0.056777235091054354,
            -0.04298742315200731,
            0.03017705916137659,
            -0.019676422519132326,
            0.011962108105801391,
            -0.006809191597317813,
            0.0036146690187758386,
            -0.001782510457806352,
            0.0008566835779762646,
            -0.0004159694518047981,
            0.0001654282433248705,
            -4.2661982904561524e-05,
            2.119170812645217e-05,
            -1.7780346840218017e-05,
            5.349243352803326e-06,
        ),
        (
            0.40217650943110383,
            0.0033605519592235845,
            0.00013621678370807534,
            1.1143582284418168e-05,
            1.4780184024245902e-06,
            2.937724608086884e-07,
            1.0563516425769526e-07,
            4.969960640169993e-08,
            1.522127863031455e-09,
            -8.035436885044145e-09,
        ),
    ),
    (
        (
            0.04468770987563633,
            -0.061124338029827,
            0.06805759990217486,
            -0.06848260618365667,
            0.06376740403317485,
            -0.05528004001195074,
            0.04467456729743074,
            -0.033671343641277926,
            0.023686061429484026,
            -0.01557140429209622,
            0.009583750743293014,
            -0.005534119523212084,
            0.003006369240932013,
            -0.0015401953735106617,
            0.00074344710907173,
            -0.00033868529491781594,
            0.0001495146805081713,
            -6.441533738368399e-05,
            2.36988128279971e-05,
            -6.944012312341337e-06,
            3.262913446502925e-06,
            -2.0024688730520124e-06,
            5.197926339013569e-07,
        ),
        (
            0.38939845904068593,
            -0.009749577161620967,
            -0.0002192365182342081,
            -1.5039213843040124e-05,
            -1.8287264655387122e-06,
            -3.4422495614093577e-07,
            -1.1787500417877009e-07,
            -5.471426987344364e-08,
            -2.4285815243502368e-09,
            8.417738957320977e-09,
        ),
    ),
)
# erf⁻¹(x) / x by w / 8 - 1, w = -ln (1 - x²) up to 16 (of float32's largest number below 1): a
# weighted fit at Chebyshev's points, off by 5e-11 of the value
ERFINV = (
    2.6614386416300757,
    1.4108582474441558,
    -0.3235479259328294,
    0.12572664537924988,
    -0.036479032101840586,
    -0.015801716262858735,
    0.0421399617795692,
    -0.04564445324909127,
    0.032998604711233254,
    -0.014014248053447993,
    -0.0031090884748756218,
    0.0126992506230895,
    -0.011085757378263627,
    0.0043621576430674484,
    -0.004602827768974652,
    0.0056764929005248595,
    0.005041560104900659,
    -0.012372588038849771,
    0.002400997661058906,
    0.0064318572915788115,
    -0.0028634985820689676,
    -0.001143209709603386,
    0.0006737258189157812,
)
FAR = 8  # from where these series are right to float64's last places
# B₂ⱼ / (2j)!, by which Euler and Maclaurin's formula corrects an integral
CORRECTIONS = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000)
TERMS = 4  # before that integral: what is left out is below 1e-9 of the sum
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)  # B₂, B₄, ...


def in_float64(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return a scalar rule of float32 numbers that computes in float64."""

    @wraps(rule)
    def scalar(s: Any, x: Any, *others: Any, **params: Any) -> Any:
        if x.dtype is not float32:
            return NotImplemented
        wide = [s.cast(operand, float64) for operand in (x, *others)]
        return s.cast(rule(s, *wide, **params), float32)

    return scalar


def polynomial(s: Any, x: Any, coefficients: Sequence[float]) -> Any:
    """Return Horner's scheme, coefficients lowest power first."""
    *rest, last = coefficients
    value = s.number(last, x)
    for coefficient in reversed(rest):
        value = s.fma(value, x, coefficient)
    return value


def normal_quantile(s: Any, q: Any, tail: Any) -> Any:
    """y with Φ(y) = p, from q = p - 1/2 and tail = min(p, 1 - p)."""
    inner = s.number(0.180625, q) - q * q
    above, below = MIDDLE
    middle = q * (polynomial(s, inner, above) / polynomial(s, inner, below))
    root = s.sqrt(s.neg(s.log(tail)))
    near = s.less_equal(root, 5.0)
    rest = root - s.select(near, 1.6, s.number(5.0, root))
    above, below = (
        s.select(near, polynomial(s, rest, one), polynomial(s, rest, two))
        for one, two in zip(TAIL, END)
    )
    far = s.select(s.equal(tail, 0.0), math.inf, above / below)
    return s.select(s.less_equal(s.abs(q), 0.425), middle, s.copysign(far, q))


@in_float64
def ndtri(s: Any, x: Any) -> Any:
    """Return the normal quantile."""
    return normal_quantile(s, x - 0.5, s.minimum(x, s.number(1.0, x) - x))


@in_float64
def erfinv(s: Any, x: Any) -> Any:
    """Return x times a polynomial in the logarithm of 1 - x², as M. Giles does ("Approximating the
    erfinv Function", GPU Computing Gems 2, 2012).
    """
    rest = s.fma(s.neg(x), x, 1.0)
    w = s.neg(s.log(rest))
    value = s.fma(x, polynomial(s, s.fma(w, 0.125, -1.0), ERFINV), 0.0)  # 0 also of -0.0
    return s.select(s.equal(rest, 0.0), s.copysign(s.number(math.inf, x), x), value)


def log_gamma(s: Any, x: Any) -> Any:
    """Return ln |Γ|: with z = |x|, ln Γ(z) = f(z + 8) - ln (z (z + 1) ... (z + 7)), f Stirling's
    series.

    For negative x: ln (π / (z |sin πz|)) less that, with one logarithm for the two.
    """
    z = s.abs(x)
    small, product = s.less(z, FAR), z
    for k in range(1, FAR):
        product = product * (z + k)
    far = s.select(small, z + FAR, z)
    product = s.select(small, product, 1.0)
    inverse = s.number(1.0, x) / far
    series = inverse * polynomial(s, inverse * inverse, STIRLING)
    stirling = s.fma(far - 0.5, s.log(far), s.neg(far)) + (series + 0.5 * math.log(2 * math.pi))
    turn = s.abs(s.sin((z - s.rint(z)) * math.pi))
    factor = s.number(math.pi, x) / (z * turn)
    negative = s.less(x, 0.0)
    part = s.log(s.select(negative, product * factor, product))
    value = s.select(negative, part - stirling, stirling - part)
    for root, slopes in AT_ROOTS.items():
        d = x - root
        near = s.fma(d, polynomial(s, d, slopes), 0.0)  # 0 at the root, not -0.0
        value = s.select(s.less(s.abs(d), 1 / 256), near, value)
    return s.select(s.equal(z, math.inf), math.inf, value)


@in_float64
def trigamma(s: Any, x: Any) -> Any:
    """Return ψ′: with z = x or 1 - x, f(z + 8) + 1/z² + 1/(z + 1)² + ... + 1/(z + 7)².

    f = 1/z + 1/2z² + Σ B₂ₖ / z²ᵏ⁺¹ (DLMF 5.15.8).  Of negative x: (π / sin πx)² less that.
    """
    negative = s.less(x, 0.0)
    z = s.select(negative, s.number(1.0, x) - x, x)
    total = s.number(0.0, x)
    for k in range(FAR):
        inverse = s.number(1.0, x) / (z + k)
        total = s.fma(inverse, inverse, total)
    inverse = s.number(1.0, x) / (z + FAR)
    square = inverse * inverse
    series = s.fma(square, polynomial(s, square, BERNOULLI), 1.0) + inverse * 0.5
    value = s.fma(inverse, series, total)
    whole = s.rint(x)
    turned = s.number(math.pi, x) / s.sin((x - whole) * math.pi)
    value = s.select(negative, s.fma(turned, turned, s.neg(value)), value)
    pole = s.logical_and(s.less_equal(x, 0.0), s.equal(x, whole))
    return s.select(pole, math.inf, value)


def psi(s: Any, x: Any) -> Any:
    """Return ψ: with z = x or 1 - x, f(z + 8) - 1/z - 1/(z + 1) - ... - 1/(z + 7), f Stirling's
    series.

    Of negative x: less π / tan πx.
    """
    negative = s.less(x, 0.0)
    z = s.select(negative, s.number(1.0, x) - x, x)
    small, product, slope = s.less(z, FAR), z, s.number(1.0, x)
    for k in range(1, FAR):
        slope = s.fma(slope, z + k, product)
        product = product * (z + k)
    far = s.select(small, z + FAR, z)
    inverse = s.number(1.0, x) / far
    square = inverse * inverse
    stirling = s.log(far) - inverse * 0.5 - square * polynomial(s, square, STIRLING_SLOPE)
    value = stirling - s.select(small, slope / product, 0.0)
    whole = s.rint(x)
    turned = s.number(math.pi, x) / s.tan((x - whole) * math.pi)
    value = s.select(negative, value - turned, value)
    pole = s.logical_and(s.less_equal(x, 0.0), s.equal(x, whole))
    return s.select(pole, math.nan, value)


lgamma = in_float64(log_gamma)
digamma = in_float64(psi)


def is_whole(s: Any, x: Any) -> Any:
    """Return whether x is an integer."""
    return s.equal(x, s.floor(x))


def zeta_of_positive(s: Any, x: Any, q: Any) -> Any:
    """Return ζ(x, q) for x > 1, q > 0: some terms, and the others by Euler and Maclaurin's formula.

    Where its corrections grow, for x beyond 2π (q + TERMS), all after the first terms is nothing
    beside them.
    """
    total = s.number(0.0, q)
    for k in range(TERMS):
        total = total + s.exp(s.neg(x) * s.log(q + k))
    far = q + TERMS
    power, inverse = s.exp(s.neg(x) * s.log(far)), s.number(1.0, q) / far
    factor, rest = x * inverse, s.number(0.5, q) + far / (x - 1.0)
    for j, correction in enumerate(CORRECTIONS):
        rest = s.fma(factor, correction, rest)
        factor = factor * ((x + (2.0 * j + 1)) * inverse) * ((x + (2.0 * j + 2)) * inverse)
    return total + s.select(s.equal(power, 0.0), 0.0, power * rest)


def zeta_beside_poles(s: Any, x: Any, q: Any) -> Any:
    """Return ζ(x, q), inf at its poles q = 0, -1, ... and x = 1, NaN where it is not real.

    For q = -p < 0 and whole x: with f = p - ⌊p⌋, the negative terms are those of
    ζ(x, f) - ζ(x, p + 1), with a sign that odd x has, and the others are ζ(x, 1 - f).
    """
    x = s.minimum(x, 1e39)  # above all numbers of float32: ∞ · ln 1 is no number
    negative, whole, half = s.less(q, 0.0), is_whole(s, x), x * 0.5
    p = s.neg(q)
    f = p - s.floor(p)
    first = zeta_of_positive(s, x, s.select(negative, f, q))
    below = first - zeta_of_positive(s, x, s.select(negative, p + 1.0, 1.0))
    below = s.select(is_whole(s, half), below, s.neg(below))
    above = zeta_of_positive(s, x, s.select(negative, s.number(1.0, q) - f, 1.0))
    value = s.select(negative, s.select(whole, below + above, math.nan), first)
    pole = s.logical_and(s.less_equal(q, 0.0), is_whole(s, q))
    value = s.select(pole, math.inf, value)
    value = s.select(s.less(x, 1.0), math.nan, value)
    return s.select(s.equal(x, 1.0), math.inf, value)


@in_float64
def zeta(s: Any, x: Any, q: Any) -> Any:
    """Return ζ(x, q); at the poles of q NaN unless x is even, as TensorFlow has it."""
    value = zeta_beside_poles(s, x, q)
    pole = s.logical_and(s.less_equal(q, 0.0), is_whole(s, q))
    odd = s.logical_and(s.not_equal(x, 1.0), s.logical_not(is_whole(s, x * 0.5)))
    return s.select(s.logical_and(pole, odd), math.nan, value)


@in_float64
def polygamma(s: Any, a: Any, x: Any) -> Any:
    """Return (-1)ᵃ⁺¹ a! ζ(a + 1, x), ψ where a = 0; NaN unless a is a whole number."""
    size = s.exp(log_gamma(s, a + 1.0)) * zeta_beside_poles(s, a + 1.0, x)
    value = s.select(is_whole(s, a * 0.5), s.neg(size), size)
    slope = s.select(s.equal(x, 0.0), s.copysign(math.inf, s.neg(x)), psi(s, x))
    value = s.select(s.equal(a, 0.0), slope, value)
    whole = s.logical_and(s.less_equal(0.0, a), is_whole(s, a))
    return s.select(whole, value, math.nan)


@in_float64
def bessel_ie(s: Any, x: Any, order: int) -> Any:
    """Return e^(-|x|) Iₙ(x) for the orders 0 and 1, by two ranges of |x|."""
    z, (near, far) = s.abs(x), BESSEL[order]
    inside = polynomial(s, s.minimum(z, 8.0) * 0.25 - 1.0, near)
    beyond = s.maximum(z, 8.0)
    outside = polynomial(s, s.number(16.0, x) / beyond - 1.0, far) / s.sqrt(beyond)
    value = s.select(s.less(z, 8.0), inside * z if order else inside, outside)
    return s.select(s.less(x, 0.0), s.neg(value), value) if order else value
