"""Derivatives by `a` of the regularised incomplete gamma function P(a, x), of any order.

The classical expansions are evaluated with truncated Taylor series in a ("jets") in place of
numbers: a jet of order n is an array [n + 1, m], row k the coefficient of εᵏ in f(a + ε).
Series where x <= max(a, 1) + 2, continued fraction elsewhere: Gautschi 1979, "A computational
procedure for incomplete gamma functions", and DLMF 8.7.1, 8.9.2; jets: Griewank and Walther 2008,
chapter 13.
"""

from __future__ import annotations

import math

import numpy as np

CLOSE = 1e-17
MOST_TERMS = 20_000  # enough for a = x = 1e6; both need a few times √a terms there


def derivatives_by_a(a, x: np.generic | np.ndarray, order: int):
    """∂ⁿ P(a, x) / ∂aⁿ for n = order >= 1, in float64, elementwise on arrays of one shape.

    0 at x = 0 and at infinity; NaN where a <= 0 or x < 0.
    """
    shape = np.shape(a)
    a, x = (np.asarray(v, np.float64).reshape(-1) for v in (a, x))
    result = np.full(a.shape, np.nan)
    defined = (a > 0) & (x >= 0) & np.isfinite(a)
    result[defined & ((x == 0) | np.isinf(x))] = 0.0
    inside = defined & (x > 0) & np.isfinite(x)
    small = inside & (x <= np.maximum(a, 1) + 2)
    large = inside & ~small
    if small.any():
        result[small] = _by_series(a[small], x[small], order)
    if large.any():
        result[large] = -_by_fraction(a[large], x[large], order)
    return (result * math.factorial(order)).reshape(shape)


def _multiply(f: np.ndarray, g: np.ndarray):
    """Return the product of two jets."""
    result = np.zeros_like(f)
    for k in range(len(f)):
        for j in range(k + 1):
            result[k] += f[j] * g[k - j]
    return result


def _divide(f: np.ndarray, g: np.ndarray):
    """Return the quotient of two jets."""
    result = np.zeros_like(f)
    for k in range(len(f)):
        result[k] = (f[k] - sum(result[j] * g[k - j] for j in range(k))) / g[0]
    return result


def _exponential(f: np.ndarray):
    """Return the exponential of a jet: k yₖ = Σⱼ j fⱼ yₖ₋ⱼ."""
    result = np.zeros_like(f)
    result[0] = np.exp(f[0])
    for k in range(1, len(f)):
        result[k] = sum(j * f[j] * result[k - j] for j in range(1, k + 1)) / k
    return result


def _front(a: np.ndarray, x: np.ndarray, order: int, shift: int):
    """Return the jet of xᵃ e⁻ˣ / Γ(a + shift)."""
    from scipy import special

    jet = np.zeros((order + 1, a.size))
    jet[0] = a * np.log(x) - x - special.gammaln(a + shift)
    jet[1] = np.log(x) - special.psi(a + shift)
    for k in range(2, order + 1):
        jet[k] = -special.polygamma(k - 1, a + shift) / math.factorial(k)
    return _exponential(jet)


def _by_series(a: np.ndarray, x: np.ndarray, order: int):
    """P = xᵃ e⁻ˣ / Γ(a + 1) Σₖ xᵏ / ((a + 1) ... (a + k)).   DLMF 8.7.1"""
    term = np.zeros((order + 1, a.size))
    term[0] = 1
    total = term.copy()
    for k in range(1, MOST_TERMS):
        for j in range(order + 1):
            term[j] = (term[j] * x - (term[j - 1] if j else 0)) / (a + k)
        total += term
        if np.all(np.abs(term) <= CLOSE * np.max(np.abs(total), axis=0)):
            break
    return _multiply(_front(a, x, order, 1), total)[order]


def _by_fraction(a: np.ndarray, x: np.ndarray, order: int):
    """Q = xᵃ e⁻ˣ / Γ(a) / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)).   DLMF 8.9.2

    Numerators and denominators of the convergents follow one recurrence, linear in the jets.
    """
    shape = (order + 1, a.size)
    before, now = np.zeros((2, *shape)), np.zeros((2, *shape))
    before[1, 0] = 1  # A₋₁ / B₋₁ = 0 / 1 after the first partial numerator, 1
    now[0, 0] = 1
    now[1] = _linear(before[1], x + 1 - a, -1)
    value = _divide(now[0], now[1])
    for k in range(1, MOST_TERMS):
        following = _linear(now, x + 2 * k + 1 - a, -1) + _linear(before, -k * (k - a), k)
        before, now = now, following
        scale = np.maximum(np.max(np.abs(now[:, 0]), axis=0), 1e-300)
        before, now = before / scale, now / scale
        if k % 4 == 0:
            latest = _divide(now[0], now[1])
            change, value = np.abs(latest - value), latest
            if np.all(change <= 1e-15 * np.max(np.abs(latest), axis=0)):
                break
    return _multiply(_front(a, x, order, 0), value)[order]


def _linear(jet: np.ndarray, value: np.ndarray, slope: int):
    """Return the product of a jet and value + slope ε;
    coefficients lie along the last axis but one.
    """
    result = jet * value
    result[..., 1:, :] += slope * jet[..., :-1, :]
    return result
