"""float64 functions of vector_math, against 80-bit numbers (or longer ones)."""

from __future__ import annotations

import numpy as np
import pytest

from talweg.execute.llvm.vector_math.library import BINARY, BOUNDS, FUNCTIONS
from talweg.lower.ir.scalars import SCALARS

from . import vector_math_harness as harness

pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered")  # signalling NaNs
Long = np.longdouble
COUNT = 20_000
# where long double is no longer than float64, the C library's own error is let pass
SLACK = 0.01 if np.finfo(Long).nmant > 60 else 1.0
UNARY = [name for name in FUNCTIONS if name not in BINARY]
ALL = harness.compiled([(name, "float64", 4) for name in FUNCTIONS])


def square_exponential(x: np.ndarray) -> np.ndarray:
    """exp(-x^2), the square taken apart so that it is exact."""
    first = x.astype(np.float32).astype(Long)
    return np.exp(-first * first) * np.exp(-(x - first) * (x + first))


def erf_series(x: np.ndarray) -> np.ndarray:
    """erf by 2 / sqrt(pi) exp(-x^2) sum of 2^n x^(2n+1) / (2n+1)!!, for |x| <= 3."""
    total = term = x
    for n in range(1, 120):
        term = term * (2 * x * x / (2 * n + 1))
        total = total + term
    return total * square_exponential(x) * (2 / np.sqrt(PI))


def erfc_fraction(x: np.ndarray) -> np.ndarray:
    """erfc by its continued fraction, for x >= 1."""
    below = np.zeros_like(x)
    for n in range(700, 0, -1):
        below = (n / Long(2)) / (x + below)
    return square_exponential(x) / ((x + below) * np.sqrt(PI))


PI = Long(np.pi) + Long(1.2246467991473532e-16)


def erf(x: np.ndarray) -> np.ndarray:
    size = np.abs(x)
    far = 1 - erfc_fraction(np.clip(size, 1, 30))
    return np.copysign(np.where(size < 1.5, erf_series(np.minimum(size, 2)), far), x)


def erfc(x: np.ndarray) -> np.ndarray:
    far = erfc_fraction(np.clip(np.abs(x), 1, 30))
    far = np.where(x < 0, 2 - far, far)
    return np.where(np.abs(x) < 1, 1 - erf_series(np.clip(x, -1, 1)), far)


def exact(name: str, *operands: np.ndarray) -> np.ndarray:
    """The function in long doubles."""
    function = {"erf": erf, "erfc": erfc}.get(name, SCALARS[name].numpy)
    with np.errstate(all="ignore"):
        return function(*[x.astype(Long) for x in operands])


def numbers(name: str) -> np.ndarray:
    """Numbers of all magnitudes, many of them near 0 and 1."""
    random = np.random.default_rng(len(name))
    bits = random.integers(0, 2**63, COUNT, dtype=np.uint64)
    near = random.standard_normal(COUNT) * 10.0 ** random.integers(-12, 1, COUNT)
    parts = [bits.view(np.float64), random.uniform(-1, 1, COUNT), random.uniform(-10, 10, COUNT)]
    parts += [random.uniform(-750, 750, COUNT), near, 1 + near, near - 1]
    if name in ("sin", "cos", "tan"):
        parts.append(random.uniform(-3e8, 3e8, COUNT))  # to where the C library is asked
        parts.append(np.round(random.uniform(-1e5, 1e5, COUNT)) * (np.pi / 2))
    x = np.concatenate(parts)
    x[::2] *= -1
    return x


@pytest.mark.parametrize("name", UNARY)
def test_float64(name):
    x = harness.within(name, numbers(name))
    got = ALL[name, "float64", 4](x)
    finite = ~np.isnan(x)
    errors = harness.ulps(got[finite], exact(name, x[finite]))
    worst = errors.argmax()
    assert errors[worst] <= BOUNDS[name][1] + SLACK, (x[finite][worst], got[finite][worst])
    assert np.isnan(got[~finite]).all()


@pytest.mark.parametrize("name", sorted(BINARY))
def test_float64_of_two(name):
    random = np.random.default_rng(3)
    wide = random.integers(0, 2**63, COUNT, dtype=np.uint64).view(np.float64)
    near = random.uniform(0.5, 2, COUNT)
    close = 1 + random.standard_normal(COUNT) * 1e-8
    for x, scale in [(wide, 1), (near, 1000), (-near, 1), (close, 3e10), (wide, 1e-3), (near, 1)]:
        y = random.standard_normal(COUNT) * scale
        got = ALL[name, "float64", 4](x, y)
        errors = harness.ulps(got, exact(name, x, y))
        worst = errors.argmax()
        assert errors[worst] <= BOUNDS[name][1] + SLACK, (x[worst], y[worst], got[worst])


@pytest.mark.parametrize("name", ["log", "log1p", "exp", "tanh", "erf"])
def test_the_harness_sees_errors(name):
    """A result that is off by its last two bits is beyond every bound."""
    x = np.random.default_rng(4).uniform(0.1, 3, 1000)
    got = ALL[name, "float64", 4](x)
    off = got + 3 * np.spacing(got)
    assert harness.ulps(off, exact(name, x)).max() > BOUNDS[name][1] + SLACK
