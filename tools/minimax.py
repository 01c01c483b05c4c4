"""Compute the polynomials of talweg/execute/llvm/vector_math*.py (needs mpmath).

    python tools/minimax.py             all of them
    python tools/minimax.py exp erf     those whose name begins so

For each name and dtype: coefficients, lowest power first, and log2 of the largest weighted error
(relative to the function, in most cases).  The exchange is Remez's on a grid of Chebyshev points;
coefficients are rounded one by one, lowest first, and the others fitted again after each, so that
what rounding the first ones loses is made up for by the later ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import mpmath
import numpy as np
from mpmath import mp, mpf

mp.prec = 160
GRID = 500
DIGITS = {"float32": 24, "float64": 53}


class Fit(NamedTuple):
    """`function(x)` by a polynomial for low <= x <= high, with errors divided by 1 / weight(x)."""

    name: str
    dtype: str
    function: Callable
    degree: int
    low: object
    high: object
    weight: Callable = lambda x: mpf(1)
    denominator: int = 0  # degree of the denominator q0 + q1 x + ...
    first: object = 1  # its q0, which may make the first coefficient of the numerator a rounder one


def round_to(value: mpf, dtype: str) -> mpf:
    """Return the nearest number of a dtype."""
    digits = DIGITS[dtype]
    mantissa, exponent = mpmath.frexp(value)
    return mpmath.ldexp(mpmath.nint(mpmath.ldexp(mantissa, digits)), exponent - digits)


def points(low: mpf, high: mpf) -> list:
    """Chebyshev's points of an interval, ascending, without its ends."""
    middle, half = (mpf(low) + high) / 2, (mpf(high) - low) / 2
    return [middle - half * mpmath.cospi(mpf(2 * i + 1) / (2 * GRID)) for i in range(GRID)]


def extremes(errors: list, count: int) -> list[int]:
    """Where `count` errors of alternating sign are largest."""
    runs: list[list[int]] = []
    for i, error in enumerate(errors):
        if runs and (errors[runs[-1][-1]] > 0) == (error > 0):
            runs[-1].append(i)
        else:
            runs.append([i])
    peaks = [max(run, key=lambda i: abs(errors[i])) for run in runs]
    while len(peaks) > count:
        if len(peaks) == count + 1:
            del peaks[0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1]
            continue
        smallest = min(range(len(peaks)), key=lambda k: abs(errors[peaks[k]]))
        if 0 < smallest < len(peaks) - 1:
            other = peaks[smallest - 1], peaks[smallest + 1]
            drop = smallest - 1 if abs(errors[other[0]]) < abs(errors[other[1]]) else smallest + 1
            for k in sorted((smallest, drop), reverse=True):
                del peaks[k]
        else:
            del peaks[smallest]
    return peaks


def remez(xs: list, values: list, weights: list, powers: list[int]) -> list:
    """Coefficients of `powers`."""
    count = len(powers) + 1
    chosen = [round(i * (GRID - 1) / (count - 1)) for i in range(count)]
    for _ in range(60):
        rows = [
            [*[xs[i] ** p for p in powers], (-1) ** k / weights[i]] for k, i in enumerate(chosen)
        ]
        right = [values[i] for i in chosen]
        *numerator, level = mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix(right))
        errors = [
            weight * (value - _at(numerator, powers, x))
            for x, value, weight in zip(xs, values, weights)
        ]
        found = extremes(errors, count)
        if len(found) < count or max(map(abs, errors)) <= abs(level) * mpf("1.001"):
            break
        chosen = found
    return numerator


def denominator(xs: list, values: list, weights: list, degree: int, below: int) -> list:
    """q1, q2, ... of the rational approximation p(x) / (1 + q1 x + ...).

    Linear least squares, divided by the last denominator, with weights that grow where the error
    is large (Lawson), which goes to the smallest largest error.
    """
    xs, values, weights = xs[::4], values[::4], weights[::4]
    under, emphasis = [mpf(1)] * len(xs), [mpf(1)] * len(xs)
    powers, found = range(degree + 1), []
    for _ in range(30):
        rows, right = [], []
        for x, value, weight, u, more in zip(xs, values, weights, under, emphasis):
            factor = weight / u * mpmath.sqrt(more)
            row = [factor * x**p for p in powers]
            rows.append(row + [-factor * value * x ** (p + 1) for p in range(below)])
            right.append(factor * value)
        matrix = mpmath.matrix(rows)
        solved = list(mpmath.lu_solve(matrix.T * matrix, matrix.T * mpmath.matrix(right)))
        found = solved[degree + 1 :]
        under = [_at([mpf(1), *found], range(below + 1), x) for x in xs]
        errors = [
            abs(weight * (_at(solved[: degree + 1], powers, x) / u - value))
            for x, value, weight, u in zip(xs, values, weights, under)
        ]
        largest = max(errors)
        emphasis = [m * (e / largest + mpf("1e-3")) for m, e in zip(emphasis, errors)]
    return found


def _at(coefficients, powers, x):
    return sum((c * x**p for c, p in zip(coefficients, powers)), mpf(0))


def fit_coefficients(fit: Fit) -> tuple[list, list, float]:
    """Rounded coefficients of the numerator and denominator, and log2 of the error."""
    xs = points(mpf(fit.low), mpf(fit.high))
    exact = [fit.function(x) for x in xs]
    weights = [abs(fit.weight(x)) for x in xs]
    powers = list(range(fit.degree + 1))
    below = denominator(xs, exact, weights, fit.degree, fit.denominator) if fit.denominator else []
    below = [mpf(fit.first), *[round_to(fit.first * c, fit.dtype) for c in below]]
    under = [_at(below, range(len(below)), x) for x in xs]
    rest = [value * u for value, u in zip(exact, under)]
    relative = [weight / abs(u) for weight, u in zip(weights, under)]
    left = remez(xs, rest, relative, powers)
    done: list = []
    while powers:
        done.append(round_to(left[0], fit.dtype))
        rest = [value - done[-1] * x ** powers[0] for value, x in zip(rest, xs)]
        del left[0], powers[0]
        if powers:
            ways = [left, remez(xs, rest, relative, powers)]
            left = min(ways, key=lambda way: _largest(way, powers, xs, rest, relative))
    error = max(abs(value) * weight for value, weight in zip(rest, relative))
    return done, below, float(mpmath.log(error, 2))


def _largest(coefficients: list, powers: list, xs: list, values: list, weights: list):
    return max(
        weight * abs(value - _at(coefficients, powers, x))
        for x, value, weight in zip(xs, values, weights)
    )


def _text(value: mpf, dtype: str) -> str:
    if dtype == "float32":
        return np.format_float_scientific(np.float32(float(value)), unique=True, trim="0")
    return repr(float(value))


def show(fit: Fit) -> None:
    """Print a fit as Python text."""
    above, below, error = fit_coefficients(fit)
    print(f"{fit.name} {fit.dtype} [{float(fit.low):.6g}, {float(fit.high):.6g}] 2^{error:.1f}")
    print("    ", ", ".join(_text(c, fit.dtype) for c in above))
    if fit.denominator:
        print("    /", ", ".join(_text(c, fit.dtype) for c in below))
    sys.stdout.flush()


ROOT_HALF = mpmath.sqrt(2) / 2
LN2 = mpmath.log(2)


def exp_tail(r):
    """Return (exp(r) - 1 - r) / r^2."""
    return mpmath.fsum(r**k / mpmath.factorial(k + 2) for k in range(40))


def root(function: Callable) -> Callable:
    """The function of s = x^2 that an odd or even function's series is."""
    return lambda s: function(mpmath.sqrt(s))


def odd_tail(function: Callable) -> Callable:
    """Return (f(x) - x) / x^3 as a function of s = x^2."""
    return root(lambda x: (function(x) / x - 1) / x**2)


def odd_weight(function: Callable) -> Callable:
    """Of an error of `odd_tail`: relative to f."""
    return root(lambda x: x**3 / function(x))


def odd(name: str, dtype: str, function: Callable, degree: int, high, low=0) -> Fit:
    """f(x) = x + x^3 P(x^2), relative to f."""
    top = mpf(high) ** 2
    return Fit(name, dtype, odd_tail(function), degree, low, top, odd_weight(function))


def erfcx(center: float) -> Callable:
    """exp(a^2) erfc(a) (a + center) as a function of q = (a - center) / (a + center)."""

    def function(q):
        a = center * (1 + q) / (1 - q)
        return mpmath.exp(a * a) * mpmath.erfc(a) * (a + center)

    return function


def tail(name: str, dtype: str, center: float, degree: int, low, high, relative: bool) -> Fit:
    """`erfcx` for low <= a <= high, with relative errors, or those of erfc(a) itself."""
    ends = [(a - center) / (a + center) for a in map(mpf, (low, high))]
    function = erfcx(center)

    def weight(q):
        a = center * (1 + q) / (1 - q)
        return (1 if relative else mpmath.erfc(a)) / function(q)

    return Fit(name, dtype, function, degree, *ends, weight)


FITS = [
    Fit("exp", "float32", exp_tail, 4, -0.3470, 0.3470, lambda r: r**2 / mpmath.exp(r)),
    Fit("exp", "float64", exp_tail, 9, -0.3467, 0.3467, lambda r: r**2 / mpmath.exp(r)),
    Fit(
        "log",
        "float32",
        lambda f: (mpmath.log(1 + f) - f + f * f / 2) / f**3,
        8,
        ROOT_HALF - 1,
        2 * ROOT_HALF - 1,
        lambda f: f**3 / mpmath.log(1 + f),
    ),
    Fit(  # log((1 + s) / (1 - s)) = 2 s + s^3 P(s^2)
        "log",
        "float64",
        root(lambda s: (2 * mpmath.atanh(s) - 2 * s) / s**3),
        6,
        0,
        mpf("0.1716") ** 2,
        root(lambda s: s**3 / (2 * mpmath.atanh(s))),
    ),
    odd("sin", "float32", mpmath.sin, 2, 0.79),
    odd("sin", "float64", mpmath.sin, 5, 0.7855),
    Fit(
        "cos",
        "float32",
        root(lambda x: (mpmath.cos(x) - 1 + x * x / 2) / x**4),
        2,
        0,
        0.79**2,
        lambda s: s**2,
    ),
    Fit(
        "cos",
        "float64",
        root(lambda x: (mpmath.cos(x) - 1 + x * x / 2) / x**4),
        5,
        0,
        0.7855**2,
        lambda s: s**2,
    ),
    odd("tan", "float32", mpmath.tan, 6, 0.7855),
    odd("tan", "float64", mpmath.tan, 13, 0.7855),
    odd("atan", "float32", mpmath.atan, 8, 1),
    odd("atan", "float64", mpmath.atan, 19, 1),
    odd("asin", "float32", mpmath.asin, 4, 0.5),
    odd("asin", "float64", mpmath.asin, 11, 0.5),
    odd("sinh", "float32", mpmath.sinh, 3, 1),
    odd("sinh", "float64", mpmath.sinh, 6, 1),
    Fit(  # erf(x) / x - 1
        "erf",
        "float64",
        root(lambda x: mpmath.erf(x) / x - 1),
        12,
        0,
        1,
        root(lambda x: x / mpmath.erf(x)),
    ),
    Fit(
        "erf",
        "float32",
        root(lambda x: mpmath.erf(x) / x - 1),
        6,
        0,
        1,
        root(lambda x: x / mpmath.erf(x)),
    ),
    Fit(  # erfc(t + 2)^(1/4), errors those of erfc
        "erf-far",
        "float32",
        lambda t: mpmath.root(mpmath.erfc(t + 2), 4),
        8,
        -1,
        2,
        lambda t: 4 * mpmath.root(mpmath.erfc(t + 2), 4) ** 3,
    ),
    tail("erf", "float64", 3, 11, 1, 6, False),
    tail("erfc", "float32", 2.4453125, 8, 0.75, 10.1, True),
    tail("erfc", "float64", 3.078125, 20, 0.8, 27.3, True),
    Fit(  # log2((1 + s) / (1 - s)) = s P(s^2), for powers of float32
        "log2",
        "float64",
        root(lambda s: 2 * mpmath.atanh(s) / s / LN2),
        4,
        0,
        mpf("0.1716") ** 2,
        root(lambda s: s / (2 * mpmath.atanh(s)) * LN2),
    ),
    Fit(  # (log2((1 + s) / (1 - s)) / s - c0 - c1 s^2) / s^4
        "log2-tail",
        "float64",
        root(lambda s: 2 / LN2 * (mpmath.atanh(s) / s - 1 - s * s / 3) / s**4),
        7,
        0,
        mpf("0.1716") ** 2,
        lambda z: z * z * LN2 / 2,
    ),
    Fit("exp2", "float64", lambda r: 2**r, 7, -0.5, 0.5, lambda r: 1 / 2**r),
]


if __name__ == "__main__":
    for each in FITS:
        if len(sys.argv) == 1 or each.name.startswith(tuple(sys.argv[1:])):
            show(each)
