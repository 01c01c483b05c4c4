"""Arithmetic, comparison, logic, rounding, selection and casts.

Elementwise primitives broadcast their operands; the driver (`transform/rules.py`) sums a cotangent
back to its operand's shape, conjugates partials, skips integer operands, and turns a *mask* (a
partial of dtype bool) into a selection, so rules hold formulas and nothing else.

In every rule `x, y` are the operands, `z` the result (`y` where there is one operand only).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import ELEMENTWISE, elementwise, primitive
from talweg.core.dtypes import (
    ANY,
    EVERYTHING,
    INEXACT,
    NUMERIC,
    REAL,
    UNSIGNED,
    DType,
    bool_,
    float64,
    int32,
)
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample, later
from talweg.core.roles import Trait
from talweg.core.shapes import broadcast_dims
from talweg.core.value import Tensor
from talweg.kernels import casting
from talweg.prims.rounding import LOGICAL

if TYPE_CHECKING:
    from collections.abc import Callable

COMPARED = NoGradient(
    "a comparison is piecewise constant", "a smooth step such as tf.sigmoid(k * (x - y))"
)
INTEGERS = NoGradient("integers have no derivative")
PREDICATE = NoGradient("the condition only chooses", "a smooth weight instead of a condition")
MIXED = Reject([3], np.ones(3, np.int32), code="TW102")
RAGGED = Reject([2], [3], code="TW201")


# -- the four operations


@elementwise(numpy=np.add, accepts=NUMERIC, rejects=(MIXED, RAGGED))
class add:
    """z = x + y."""

    operands = "x y"
    tf_type = "AddV2"
    tf_name = "add"

    def dx(z, x, y):
        return 1

    def dy(z, x, y):
        return 1


@elementwise(numpy=np.subtract, accepts=NUMERIC, rejects=(MIXED, RAGGED))
class sub:
    """z = x - y."""

    operands = "x y"
    tf_name = "sub"

    def dx(z, x, y):
        return 1

    def dy(z, x, y):
        return -1


@elementwise(numpy=np.multiply, accepts=NUMERIC, rejects=(MIXED, RAGGED))
class mul:
    """z = x y."""

    operands = "x y"
    tf_name = "mul"

    def dx(z, x, y):
        return y

    def dy(z, x, y):
        return x


@elementwise(
    numpy=np.divide,
    accepts=INEXACT,
    domain={"y": (0.5, 3)},
    singular="y = 0",
    avoid="tf.math.divide_no_nan(x, y), or a small number added to a y that is never negative",
    rejects=(MIXED, RAGGED),
)
class div:
    """z = x / y.   dz/dy = -z / y."""

    operands = "x y"
    tf_type = "RealDiv"
    tf_name = "truediv"

    def dx(z, x, y):
        return 1 / y

    def dy(z: Tensor, x, y):
        return -z / y


def _power(x: np.ndarray, y: np.ndarray):
    if np.asarray(x).dtype.kind in "iu" and np.size(x) and np.any(np.less(y, 0)):
        raise invalid(
            "TW209",
            "Integers to negative integer powers are not allowed",
            "exponents of at least 0",
            "tf.cast(x, tf.float32) ** y",
        )
    return x**y


@elementwise(
    numpy=_power,
    accepts=NUMERIC - UNSIGNED,
    domain={"x": (0.3, 3)},
    singular="x = 0 with y < 1",
    avoid="tf.maximum(x, 1e-12) ** y; for a base of either sign tf.sign(x) * tf.abs(x) ** y",
    kinks={"y": "the derivative by y is taken as 0 where x <= 0"},
)
class pow_:
    """z = xʸ.   dz/dx = y xʸ⁻¹,  dz/dy = z log x."""

    operands = "x y"
    tf_name = "pow"

    def dx(z, x, y):
        return y, x ** (y - 1)

    def dy(z, x, y):
        if not isinstance(x, Tensor):
            x = x + zeros_of(y)
        positive = positive_or_nonzero(x)
        logarithm = later("log")(select(positive, x, one_like(x)))
        return select(positive, z, zeros_of(z)), logarithm

    def expand(t, x, y):
        if y.content is None or y.content.size != 1:
            return NotImplemented
        power = y.content.reshape(-1)[0].item()
        if power not in _SHORT_POWERS and not (y.dtype.is_integer and power >= 0):
            return NotImplemented
        if y.dtype.is_complex or (y.dtype.is_integer and power < 0):
            return NotImplemented
        dims = broadcast_dims("pow", x.dims, y.dims)
        x = t.reciprocal(x) if power < 0 else x
        result = _root(t, x) if abs(power) == 0.5 else _whole_power(t, x, int(abs(power)))
        return result if dims == x.dims else t.broadcast_to(result, shape=dims)


_SHORT_POWERS = frozenset((0.5, -0.5, *range(-4, 5)))


def _root(t, x: np.ndarray):
    """Return x to the power 1/2, which differs from √x at -inf and -0."""
    return t.select(t.equal(x, -np.inf), t.neg(x), t.add(t.sqrt(x), 0))


def _whole_power(t, x, power):
    """Return xⁿ by squarings."""
    found = None
    while power:
        if power & 1:
            found = x if found is None else t.mul(found, x)
        power >>= 1
        x = t.square(x) if power else x
    return t.add(t.zeros_of(x), 1) if found is None else found


def positive_or_nonzero(x):
    """Return the domain of log x in a power's derivative: x > 0; x != 0 for complex numbers."""
    compare = not_equal if x.dtype.is_complex else greater
    return compare(x, zeros_of(x))


def zero_like(x: object):
    """Return zeros of x's dtype and shape; 0 for a Python number."""
    return zeros_of(x) if isinstance(x, Tensor) else 0


def one_like(x):
    """Return ones of x's dtype and shape; 1 for a Python number."""
    return 1 + zeros_of(x) if isinstance(x, Tensor) else 1


@elementwise(numpy=np.zeros_like, accepts=ANY, scalar=lambda s, x: s.zero(x))
class zeros_of:
    """y = 0, in x's shape and dtype."""

    operands = "x"
    tf_type = "ZerosLike"
    tf_name = "zeros_like"
    no_gradient = NoGradient("the result is constant")


# -- one operand


@elementwise(numpy=np.negative, accepts=NUMERIC - UNSIGNED)
def neg(y, x):
    """y = -x."""
    return -1


@elementwise(
    numpy=np.abs,
    accepts=REAL - UNSIGNED,
    domain={"x": (0.2, 2)},
    kinks={"x": "the derivative at 0 is taken as 0"},
)
def abs_(y, x):
    """y = |x|.   dy/dx = sign x."""
    return sign(x)


def _sign(s, x):
    below = s.select(s.less(x, 0), s.number(-1, x), s.number(0, x))
    found = s.select(s.greater(x, 0), 1, below)
    return s.select(s.equal(x, x), found, x) if x.dtype.is_floating else found


@elementwise(
    numpy=np.sign,
    accepts=REAL - UNSIGNED,
    domain={"x": (0.2, 2)},
    kinks={"x": "jumps at 0"},
    scalar=_sign,
)
def sign(y, x):
    """y = -1, 0 or 1.   dy/dx = 0."""
    return 0


@elementwise(numpy=np.square, accepts=NUMERIC, scalar=lambda s, x: x * x)
def square(y, x):
    """y = x².   dy/dx = 2 x."""
    return x, 2


@elementwise(
    numpy=np.sqrt,
    accepts=INEXACT,
    domain={"x": (0.2, 3)},
    singular="x = 0",
    guarded=True,
    avoid="tf.sqrt(x + 1e-12) or tf.sqrt(tf.maximum(x, 1e-12))",
)
def sqrt(y, x):
    """y = √x.   dy/dx = 1 / (2 y)."""
    return 0.5 / y


@elementwise(
    numpy=lambda x: np.reciprocal(np.sqrt(x)),
    accepts=INEXACT,
    domain={"x": (0.2, 3)},
    singular="x = 0",
    avoid="tf.math.rsqrt(x + 1e-12) or tf.math.rsqrt(tf.maximum(x, 1e-12))",
    scalar=lambda s, x: 1 / s.sqrt(x),
)
def rsqrt(y, x):
    """y = 1 / √x.   dy/dx = -y / (2 x) = -y³ / 2."""
    return y * y, y, -0.5


@elementwise(
    numpy=np.positive,
    accepts=NUMERIC,
    scalar=lambda s, x: x,
    traits={Trait.CHEAP_TO_REPEAT, Trait.PASSES_ON, Trait.NO_ARITHMETIC},
    sizes="same",
    wants_sparse=True,
)
def identity(y, x):
    """y = x, a new tensor."""
    return 1


@elementwise(numpy=lambda x: x, accepts=EVERYTHING, scalar=lambda s, x: x)
class stop_gradient:
    """y = x, a constant as far as derivatives go."""

    operands = "x"
    sizes = "same"
    traits = {Trait.CHEAP_TO_REPEAT, Trait.PASSES_ON}
    no_gradient = NoGradient("stop_gradient makes it a constant", "leave stop_gradient out")


# -- two operands, piecewise


@elementwise(numpy=np.maximum, accepts=REAL, kinks={"x": "where x = y the derivative goes to x"})
class maximum:
    """z = max(x, y)."""

    operands = "x y"

    def dx(z, x, y):
        return greater_equal(x, y)

    def dy(z, x, y):
        return logical_not(greater_equal(x, y))


@elementwise(numpy=np.minimum, accepts=REAL, kinks={"x": "where x = y the derivative goes to x"})
class minimum:
    """z = min(x, y)."""

    operands = "x y"

    def dx(z, x, y):
        return less_equal(x, y)

    def dy(z, x, y):
        return logical_not(less_equal(x, y))


def _compare(kernel: Callable, accepts: frozenset[DType], text: str, name: str):
    body = type(name, (), {"__doc__": text, "operands": "x y", "no_gradient": COMPARED})
    return elementwise(numpy=kernel, accepts=accepts, result=bool_)(body)


equal = _compare(np.equal, EVERYTHING, "z = whether x = y.", "equal")
not_equal = _compare(np.not_equal, EVERYTHING, "z = whether x ≠ y.", "not_equal")
less = _compare(np.less, REAL, "z = whether x < y.", "less")
less_equal = _compare(np.less_equal, REAL, "z = whether x ≤ y.", "less_equal")
greater = _compare(np.greater, REAL, "z = whether x > y.", "greater")
greater_equal = _compare(np.greater_equal, REAL, "z = whether x ≥ y.", "greater_equal")


def _logical(kernel: Callable, operands: str, text: str, name: str):
    body = type(name, (), {"__doc__": text, "operands": operands, "no_gradient": LOGICAL})
    return elementwise(numpy=kernel, accepts=frozenset({bool_}))(body)


logical_and = _logical(np.logical_and, "x y", "z = x and y.", "logical_and")
logical_or = _logical(np.logical_or, "x y", "z = x or y.", "logical_or")
logical_not = _logical(np.logical_not, "x", "y = not x.", "logical_not")


def _select(c: np.generic | np.ndarray, x: np.generic | np.ndarray, y: np.generic | np.ndarray):
    dtype = x.dtype if hasattr(x, "dtype") else y.dtype
    return np.where(c, x, y).astype(dtype, copy=False)


@elementwise(
    numpy=_select,
    accepts=EVERYTHING,
    scalar=lambda s, c, x, y: s.select(c, x, y),
    same="x y",
    result=lambda c, x, y: x.dtype,
    samples=(
        Sample(np.array([True, False, True]), [3], [3]),
        Sample(np.array(True), [2, 3], [3]),
        Sample(np.array([[True], [False]]), [3], [1]),
    ),
    rejects=(Reject(np.array([True]), [3], np.ones(3, np.int32), code="TW102"),),
)
class select:
    """z = x where c, y elsewhere."""

    operands = "c x y"
    tf_type = "SelectV2"
    no_gradient = {"c": PREDICATE}

    def dx(z, c, x, y):
        return c

    def dy(z, c, x, y):
        return logical_not(c)


_BITS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def _gate(c: np.generic | np.ndarray, x: np.generic | np.ndarray):
    """Return the bits of x times 0 or 1:
    several times faster than `np.where` on an irregular mask.
    """
    if x.dtype.kind == "c" or np.ndim(x) == 0:
        return np.where(c, x, 0).astype(x.dtype, copy=False)
    bits = x.view(_BITS[x.dtype.itemsize])
    return np.multiply(bits, np.asarray(c).view(np.int8)).view(x.dtype)


@elementwise(
    numpy=_gate,
    accepts=NUMERIC,
    same="x",
    samples=(
        Sample(np.array([True, False, True]), [3]),
        Sample(np.array([[True], [False]]), [3]),
        Sample(np.array(False), []),
    ),
    rejects=(Reject(np.array([True, False]), [3], code="TW201"),),
    scalar=lambda s, c, x: s.select(c, x, s.zero(x)),
)
class gate:
    """z = x where c, 0 elsewhere, also where x is not finite."""

    operands = "c x"
    no_gradient = {"c": PREDICATE}

    def dx(z, c, x):
        return c


# -- change of dtype


@primitive
class cast:
    """y = x as another dtype: what does not fit is told in `kernels/casting.py`."""

    operands = "x"
    sizes = "same"
    tf_type = "Cast"
    tf_attributes = "cast"

    def infer(x, *, dtype):
        return Aval(x.dims, dtype)

    numpy = casting.cast

    def transpose_x(g, x, *, dtype):
        return cast(g, dtype=x.dtype)

    def scalar(s, x, *, dtype):
        return s.convert(x, dtype)

    batch = ELEMENTWISE
    memory = "map"
    traits = {Trait.KEEPS_LIMITS, Trait.NO_ARITHMETIC}
    samples = (Sample([3], dtype_=float64), Sample([2, 0], dtype_=int32))
