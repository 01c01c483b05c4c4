"""float32 functions of vector_math, special values of both dtypes, and the text itself.

Every 4093rd float32 number is tried here; tools/ulps.py tries all.
"""

from __future__ import annotations

import ctypes
import platform
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from talweg.core.dtypes import float16, float32, float64
from talweg.execute.llvm.vector_math.library import BINARY, BOUNDS, FUNCTIONS, VectorMathLibrary
from talweg.lower.ir.scalars import SCALARS

from . import vector_math_harness as harness

pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered")  # signalling NaNs
ROOT = Path(__file__).resolve().parents[3]
UNDERFLOW = 16  # FE_UNDERFLOW
LANES = {"float32": 8, "float64": 4}
UNARY = [name for name in FUNCTIONS if name not in BINARY]
ALL = harness.compiled([(name, d, n) for name in FUNCTIONS for d, n in LANES.items()])


def exact(name: str, *operands: np.ndarray) -> np.ndarray:
    """The function by NumPy and SciPy, in the operands' dtype."""
    with np.errstate(all="ignore"):
        if name in ("erf", "erfc"):
            return getattr(special, name)(*operands)
        return SCALARS[name].numpy(*operands)


@pytest.fixture(scope="module")
def numbers():
    """Float32 numbers of all magnitudes."""
    bits = np.arange(0, 2**32, 4093, dtype=np.uint64).astype(np.uint32)
    return bits.view(np.float32)


@pytest.mark.parametrize("name", UNARY)
def test_float32(name, numbers):
    numbers = harness.within(name, numbers)
    got = ALL[name, "float32", 8](numbers)
    errors = harness.ulps(got, exact(name, numbers.astype(np.float64)))
    worst = errors.argmax()
    assert errors[worst] <= BOUNDS[name][0], (numbers[worst], got[worst])


@pytest.mark.parametrize("name", sorted(BINARY))
def test_float32_of_two(name):
    random = np.random.default_rng(0)
    for scale in (1, 30, 1000):
        x = random.integers(0, 2**31, 100_000, dtype=np.uint32).view(np.float32)
        near = random.uniform(0.5, 2, 100_000).astype(np.float32)
        for first in (np.abs(x), near, -near):
            second = (random.standard_normal(100_000) * scale).astype(np.float32)
            got = ALL[name, "float32", 8](first, second)
            # NumPy's pow of float64 takes longer and is as good as exact here
            errors = harness.ulps(got, exact(name, *map(np.float64, (first, second))))
            worst = errors.argmax()
            assert errors[worst] <= BOUNDS[name][0], (first[worst], second[worst], got[worst])


def special_values(dtype: str) -> np.ndarray:
    info = np.finfo(dtype)
    sizes = [0, info.smallest_subnormal, info.tiny, info.eps / 2, 0.5, 1 - info.epsneg, 1]
    sizes += [1 + info.eps, 1.5, 2, 3, 7, 2.0**info.nmant + 1, 2.0 ** (info.nmant + 1), 1e9]
    sizes += [info.max, np.inf]
    values = np.array(sizes, dtype)
    return np.concatenate([values, -values, [np.nan]]).astype(dtype)


def assert_same_kind(got: np.ndarray, expected: np.ndarray, operands: list) -> None:
    """The same NaNs, infinities and signs; zeros may differ from the smallest numbers only."""
    wrong = np.isnan(got) != np.isnan(expected)
    wrong |= np.isinf(got) != np.isinf(expected)
    wrong |= ~np.isnan(expected) & (np.signbit(got) != np.signbit(expected))
    wrong |= (expected == 0) & (np.abs(got) > 2 * np.finfo(got.dtype).smallest_subnormal)
    where = np.flatnonzero(wrong)
    assert not where.size, [([x[i] for x in operands], got[i], expected[i]) for i in where[:9]]


@pytest.mark.parametrize("dtype", LANES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name, dtype):
    operands = [harness.within(name, special_values(dtype))]
    if name in BINARY:
        operands = [x.ravel() for x in np.meshgrid(operands[0], operands[0])]
    got = ALL[name, dtype, LANES[dtype]](*operands)
    wide = [x.astype(np.longdouble if name not in ("erf", "erfc") else dtype) for x in operands]
    with np.errstate(all="ignore"):
        assert_same_kind(got, exact(name, *wide).astype(dtype), operands)


EXACT = [
    ("exp", 0.0, 1.0),
    ("exp", -0.0, 1.0),
    ("expm1", -0.0, -0.0),
    ("log", 1.0, 0.0),
    ("log1p", -0.0, -0.0),
    ("sin", -0.0, -0.0),
    ("cos", 0.0, 1.0),
    ("tan", -0.0, -0.0),
    ("asin", -0.0, -0.0),
    ("acos", 1.0, 0.0),
    ("atan", -0.0, -0.0),
    ("sinh", -0.0, -0.0),
    ("cosh", 0.0, 1.0),
    ("tanh", -0.0, -0.0),
    ("tanh", 30.0, 1.0),
    ("asinh", -0.0, -0.0),
    ("acosh", 1.0, 0.0),
    ("atanh", -0.0, -0.0),
    ("sigmoid", 0.0, 0.5),
    ("sigmoid", 50.0, 1.0),
    ("erf", -0.0, -0.0),
    ("erf", 7.0, 1.0),
    ("erf", np.inf, 1.0),
    ("erfc", 0.0, 1.0),
    ("erfc", -7.0, 2.0),
    ("erfc", -np.inf, 2.0),
]


@pytest.mark.parametrize("dtype", LANES)
def test_exact_values(dtype):
    for name, x, expected in EXACT:
        got = ALL[name, dtype, LANES[dtype]](np.array([x], dtype))
        assert got[0] == expected and np.signbit(got[0]) == np.signbit(expected), (name, x, got[0])


@pytest.mark.parametrize("dtype", LANES)
def test_exact_powers(dtype):
    def power(x, y):
        return ALL["pow", dtype, LANES[dtype]](x, np.full(len(x), y))

    random = np.random.default_rng(1)
    x = (random.standard_normal(9999) * 10.0 ** random.integers(-30, 30, 9999)).astype(dtype)
    assert (power(x, 0.0) == 1).all() and (power(x, 1.0) == x).all()
    assert (power(np.ones(9, dtype), np.nan) == 1).all()
    whole = random.integers(1, 2 ** (12 if dtype == "float32" else 26), 9999).astype(dtype)
    assert (power(whole, 2.0) == whole * whole).all()
    assert (power(whole * whole, 0.5) == whole).all()
    assert (power(np.full(9, 2, dtype), -20.0) == 2.0**-20).all()
    small = random.integers(1, 99, 99).astype(dtype)
    assert (power(-small, 3.0) == -(small**3)).all()


@pytest.mark.parametrize("dtype", LANES)
def test_remainders_are_exact(dtype):
    """Short quotients and long ones, those near whole numbers, subnormal numbers."""
    random = np.random.default_rng(1)
    info, count = np.finfo(dtype), 1 << 16
    y = np.exp2(random.uniform(-20, 20, count)).astype(dtype)
    kinds = [y * random.integers(0, 2**k, count) for k in (3, 12, 20, info.nmant + 3)]
    kinds += [np.nextafter(x, random.choice([-np.inf, np.inf])) for x in kinds]
    kinds += [np.exp2(random.uniform(-60, 60, count)), random.uniform(0, 1e9, count)]
    for x in kinds:
        x = x.astype(dtype) * random.choice(np.array([-1, 1], dtype), count)
        got = ALL["fmod", dtype, LANES[dtype]](x, y)
        expected = np.fmod(x, y)
        assert (got == expected).all() and (np.signbit(got) == np.signbit(x)).all()
    tiny = (random.integers(1, 2**12, count) * info.smallest_subnormal).astype(dtype)
    x = (random.integers(1, 2**20, count) * info.smallest_subnormal).astype(dtype)
    assert (ALL["fmod", dtype, LANES[dtype]](x, tiny) == np.fmod(x, tiny)).all()


@pytest.mark.parametrize("name", ["sin", "cos", "tanh", "erf"])
def test_never_beyond_one(name, numbers):
    got = ALL[name, "float32", 8](numbers)
    assert np.nanmax(np.abs(got)) <= 1
    assert np.nanmax(np.abs(ALL[name, "float64", 4](numbers))) <= 1


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sigmoid", "erf"])
def test_monotonic_to_the_last_places(name):
    x = np.linspace(-6, 6, 2**20, dtype=np.float32)
    x = np.exp(x) if name == "log" else x
    got = ALL[name, "float32", 8](x).astype(np.float64)
    assert (np.diff(got) >= -2 * np.spacing(np.abs(got[1:]).astype(np.float32))).all()


def test_lanes_agree():
    random = np.random.default_rng(2)
    x = (random.standard_normal(512) * 10.0 ** random.integers(-6, 7, 512)).astype(np.float32)
    wanted = [(f, d, n) for f in FUNCTIONS for d in LANES for n in (1, 2, 16)]
    made = harness.compiled(wanted)
    for name, dtype, lanes in wanted:
        expected = ALL[name, dtype, LANES[dtype]](x, x[::-1])
        got = made[name, dtype, lanes](x, x[::-1])
        assert np.array_equal(got, expected, equal_nan=True), (name, dtype, lanes)


def test_no_calls_remain():
    library = VectorMathLibrary()
    loops = [harness.loop_text(library, name, d, n) for name in FUNCTIONS for d, n in LANES.items()]
    module, _ = harness.optimized("\n".join([library.text(), *loops]))
    called = re.findall(r"call [^@\n]*@([\w.]+)\(", str(module))
    left = {name for name in called if not name.startswith("llvm.")}
    assert left == {
        f"talweg_{name}_beyond_{d}x{n}"
        for name in ("sin", "cos", "tan", "fmod")
        for d, n in LANES.items()
    }
    slow = re.compile(r"llvm\.(exp|log|pow|sin|cos|tan|tanh)\w*\.v")
    assert not [name for name in called if slow.match(name)]


def test_symbols_are_given_once():
    library = VectorMathLibrary()
    assert library.text() == ""
    first = library.symbol("exp", float32, 8)
    assert first == "talweg_exp_float32x8" == library.symbol("exp", float32, 8)
    assert library.symbol("sin", float64, 1) == "talweg_sin_float64x1"
    library.symbol("cos", float64, 1)
    defined = re.findall(r"define internal .* @(\w+)\(", library.text())
    assert len(defined) == len(set(defined)) == 5
    with pytest.raises(KeyError, match="float16"):
        library.symbol("exp", float16, 8)
    with pytest.raises(KeyError):
        library.symbol("add", float32, 8)


def test_the_page_has_the_bounds():
    page = (ROOT / "docs" / "vector_math.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \|", page, re.M)
    assert {name: (float(a), float(b)) for name, a, b in rows} == BOUNDS
    assert list(BOUNDS) == list(FUNCTIONS)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of the flag is x86's")
@pytest.mark.parametrize("dtype", LANES)
@pytest.mark.parametrize("name", ["exp", "exp_below"])
def test_no_product_underflows_to_zero(name, dtype):
    """Processors take 150 cycles for it: attention's softmax, masked, took four times as long."""
    libm = ctypes.CDLL("libm.so.6")
    x, result = np.full(16, -1e38, dtype), np.empty(16, dtype)
    code = ALL[name, dtype, LANES[dtype]].code
    pointers = x.ctypes.data, x.ctypes.data, result.ctypes.data
    libm.feclearexcept(UNDERFLOW)
    code(*pointers, 16)
    assert not libm.fetestexcept(UNDERFLOW)
    assert not result.any()
