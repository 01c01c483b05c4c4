"""Rounding, classification of floating-point numbers, and floor division with its remainder."""

from __future__ import annotations

import numpy as np

from talweg.core.declare import elementwise
from talweg.core.dtypes import FLOATING, REAL, bool_, float32, float64
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient

ROUNDED = NoGradient(
    "rounding is piecewise constant",
    "a straight-through estimate: x + tf.stop_gradient(tf.round(x) - x)",
)
LOGICAL = NoGradient("truth values have no derivative")


@elementwise(numpy=np.floor, accepts=FLOATING, domain={"x": (0.1, 0.9)})
class floor:
    """y = the largest integer not above x."""

    operands = "x"
    no_gradient = ROUNDED


@elementwise(numpy=np.ceil, accepts=FLOATING, domain={"x": (0.1, 0.9)})
class ceil:
    """y = the smallest integer not below x."""

    operands = "x"
    no_gradient = ROUNDED


@elementwise(numpy=np.rint, accepts=FLOATING, domain={"x": (0.1, 0.4)}, scalar="rint")
class round_:
    """y = the nearest integer, halves to even."""

    operands = "x"
    no_gradient = ROUNDED


@elementwise(numpy=np.isnan, accepts=FLOATING, result=bool_)
class is_nan:
    """y = whether x is not a number."""

    operands = "x"
    no_gradient = LOGICAL


@elementwise(numpy=np.isinf, accepts=FLOATING, result=bool_)
class is_inf:
    """y = whether x is infinite."""

    operands = "x"
    no_gradient = LOGICAL


@elementwise(numpy=np.isfinite, accepts=FLOATING, result=bool_)
class is_finite:
    """y = whether x is neither infinite nor not a number."""

    operands = "x"
    no_gradient = LOGICAL


@elementwise(numpy=np.nextafter, accepts=frozenset({float32, float64}))
class next_after:
    """z = the next floating-point number after x toward y.   dz/dx = 1,  dz/dy = 0."""

    operands = "x y"

    def dx(z, x, y):
        return 1

    def dy(z, x, y):
        return 0


# -- whole quotients and remainders


def _is_integer(x: int | np.generic | np.ndarray) -> bool:
    return x.dtype.kind in "iu" if isinstance(x, (np.ndarray, np.generic)) else type(x) is int


def _are_integers(x: np.generic | np.ndarray, y: int | np.generic | np.ndarray) -> bool:
    """Return whether the operands are integers; if so, the divisor must have no zeros."""
    if not (_is_integer(x) and _is_integer(y)):
        return False
    zeros = y == 0 if type(y) is int else np.count_nonzero(y) < np.size(y)
    if zeros and np.size(x):
        raise invalid("TW209", "Integer division by zero", "a divisor without zeros")
    return True


def _floor_div(x: np.generic | np.ndarray, y: np.generic | np.ndarray):
    return np.floor_divide(x, y) if _are_integers(x, y) else np.floor(np.divide(x, y))


def _mod(x: np.generic | np.ndarray, y: int | np.generic | np.ndarray):
    _are_integers(x, y)
    return np.mod(x, y)


def _truncate_div(x: np.generic | np.ndarray, y: np.generic | np.ndarray):
    if not _are_integers(x, y):
        return np.trunc(np.divide(x, y))
    quotient = np.floor_divide(x, y)
    return quotient + ((quotient < 0) & (quotient * y != x)).astype(quotient.dtype)


def _truncate_mod(x: np.generic | np.ndarray, y: np.generic | np.ndarray):
    _are_integers(x, y)
    return np.fmod(x, y)


def _quotient(s, x, y):
    """Return x / y as NumPy rounds it: of 16 bits before the quotient is cut off, not after."""
    return s.cast(s.cast(x / y, float32), x.dtype) if x.dtype.size == 2 else x / y


def _require_divisors(t, x: object, y):
    if y.dtype.is_integer:
        t.require(t.not_equal(y, 0))


@elementwise(
    numpy=_floor_div,
    accepts=REAL,
    domain={"y": (0.5, 3)},
    singular="y = 0",
    requires=_require_divisors,
)
class floor_div:
    """z = floor(x / y)."""

    operands = "x y"
    sizes = "floor_div"
    tf_name = "floordiv"
    no_gradient = ROUNDED

    def scalar(s, x, y):
        return s.floor(_quotient(s, x, y)) if x.dtype.is_floating else s.floor_div(x, y)


@elementwise(
    numpy=_mod,
    accepts=REAL,
    domain={"x": (1.3, 1.6), "y": (0.9, 1.1)},
    singular="y = 0",
    kinks={"x": "jumps where x / y is an integer; the derivative by x is 1 there"},
    requires=_require_divisors,
)
class mod:
    """z = x - floor(x / y) y, with the sign of y."""

    operands = "x y"
    sizes = "mod"
    tf_type = "FloorMod"
    tf_name = "mod"

    def dx(z, x, y):
        return 1

    def dy(z, x, y):
        return -floor(x / y)

    def scalar(s, x, y):
        if x.dtype.is_integer:
            return s.remainder(x, y)
        rest = s.fmod(x, y)
        other_side = s.not_equal(s.less(rest, 0), s.less(y, 0))
        moved = s.select(other_side, rest + y, rest)
        return s.select(s.equal(rest, 0), s.copysign(rest, y), moved)


@elementwise(
    numpy=_truncate_div,
    accepts=REAL,
    domain={"y": (0.5, 3)},
    singular="y = 0",
    requires=_require_divisors,
)
class truncate_div:
    """z = x / y, rounded toward zero."""

    operands = "x y"
    no_gradient = ROUNDED

    def scalar(s, x, y):
        if x.dtype.is_floating:
            return s.trunc(_quotient(s, x, y))
        below = s.floor_div(x, y)
        up = s.logical_and(s.less(below, 0), s.not_equal(below * y, x))
        return s.select(up, below + 1, below)


@elementwise(
    numpy=_truncate_mod,
    accepts=REAL,
    domain={"x": (1.3, 1.6), "y": (0.9, 1.1)},
    requires=_require_divisors,
)
class truncate_mod:
    """z = x - truncate(x / y) y, with the sign of x."""

    operands = "x y"

    def dx(z, x, y):
        return 1

    def dy(z, x, y):
        return -truncate_div(x, y)

    def scalar(s, x, y):
        if x.dtype.is_floating:
            return s.fmod(x, y)
        rest = s.remainder(x, y)
        other_side = s.not_equal(s.less(x, 0), s.less(y, 0))
        return s.select(s.logical_and(s.not_equal(rest, 0), other_side), rest - y, rest)
