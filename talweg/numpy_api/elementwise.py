"""NumPy's functions of each element: `UNARY` and `BINARY` name the primitive and the dtype.

Functions of numbers that are no integers take integers as the default float; those of two operands
take both in their common dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.gathering import where
from talweg.api.export import export, look_up
from talweg.api.tensors import cast
from talweg.core.dtypes import bool_, float32, float64
from talweg.core.errors import type_error, value_error
from talweg.core.value import Tensor
from talweg.numpy_api.creation import PREFIX
from talweg.numpy_api.promotion import (
    as_array,
    common_dtype,
    default_float,
    inexact,
    inexact_pair,
    promote,
    to_dtype,
)
from talweg.prims.arithmetic import div

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

ANY, INEXACT, REAL, BOOL = "any", "inexact", "real", "bool"
QUOTIENT = "quotient"  # as INEXACT; integers of 8 and 16 bits as float32

UNARY: dict[str, tuple[str, str]] = {  # name: (what computes it, what it takes)
    "abs": ("abs", ANY),
    "absolute": ("abs", ANY),
    "fabs": ("abs", ANY),
    "arccos": ("acos", INEXACT),
    "arccosh": ("acosh", INEXACT),
    "arcsin": ("asin", INEXACT),
    "arcsinh": ("asinh", INEXACT),
    "arctan": ("atan", INEXACT),
    "arctanh": ("atanh", INEXACT),
    "bitwise_not": ("bitwise.invert", ANY),
    "conj": ("math.conj", ANY),
    "conjugate": ("math.conj", ANY),
    "cos": ("cos", INEXACT),
    "cosh": ("cosh", INEXACT),
    "exp": ("exp", INEXACT),
    "expm1": ("math.expm1", INEXACT),
    "log": ("math.log", INEXACT),
    "log1p": ("math.log1p", INEXACT),
    "logical_not": ("logical_not", BOOL),
    "negative": ("negative", ANY),
    "reciprocal": ("math.reciprocal", ANY),
    "sin": ("sin", INEXACT),
    "sinh": ("sinh", INEXACT),
    "sqrt": ("sqrt", INEXACT),
    "square": ("square", ANY),
    "tan": ("tan", INEXACT),
    "tanh": ("tanh", INEXACT),
    "ceil": ("math.ceil", INEXACT),
    "floor": ("floor", INEXACT),
    "isfinite": ("math.is_finite", INEXACT),
    "isinf": ("math.is_inf", INEXACT),
    "isnan": ("math.is_nan", INEXACT),
}

BINARY: dict[str, tuple[str, str]] = {
    "add": ("add", ANY),
    "arctan2": ("atan2", INEXACT),
    "bitwise_and": ("bitwise.bitwise_and", ANY),
    "bitwise_or": ("bitwise.bitwise_or", ANY),
    "bitwise_xor": ("bitwise.bitwise_xor", ANY),
    "divide": ("divide", QUOTIENT),
    "equal": ("equal", ANY),
    "floor_divide": ("math.floordiv", ANY),
    "greater": ("greater", ANY),
    "greater_equal": ("greater_equal", ANY),
    "less": ("less", ANY),
    "less_equal": ("less_equal", ANY),
    "logical_and": ("logical_and", BOOL),
    "logical_or": ("logical_or", BOOL),
    "logical_xor": ("math.logical_xor", BOOL),
    "maximum": ("maximum", ANY),
    "minimum": ("minimum", ANY),
    "mod": ("math.floormod", ANY),
    "multiply": ("multiply", ANY),
    "nextafter": ("math.nextafter", REAL),
    "not_equal": ("not_equal", ANY),
    "power": ("pow", ANY),
    "remainder": ("math.floormod", ANY),
    "subtract": ("subtract", ANY),
    "true_divide": ("divide", QUOTIENT),
}

IN_BOOL = {  # what stands for arithmetic of bool
    "add": "logical_or",
    "multiply": "logical_and",
    "maximum": "logical_or",
    "minimum": "logical_and",
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "bitwise_xor": "math.logical_xor",
    "bitwise_not": "logical_not",
    "square": "identity",
    "abs": "identity",
    "absolute": "identity",
    "less": "experimental.numpy.less",
}
_ORDERED = frozenset(("less", "less_equal", "greater", "greater_equal"))
_NARROW = frozenset(("floor_divide", "mod", "remainder", "power"))  # of bool: of int8


def _cast_operand(takes: str, values: tuple[Any, ...]) -> list[Any]:
    """Cast values to the dtype in which a function takes them."""
    if takes == BOOL:
        return [cast(as_array(value), bool_) for value in values]
    if takes == ANY:
        return promote(*values) if values[1:] else [as_array(x) for x in values]
    if takes == QUOTIENT:
        x, y = promote(*values)
        narrow = x.dtype.is_integer and x.dtype.size < 4
        return [cast(x, float32), cast(y, float32)] if narrow else inexact_pair(*values)
    return inexact_pair(values[0], values[1]) if values[1:] else [inexact(x) for x in values]


def _unary(name: str, computed: str, takes: str) -> Callable[[Any], Tensor]:
    def function(x: Any) -> Tensor:
        (operand,) = _cast_operand(takes, (x,))
        if operand.dtype.is_bool and name in IN_BOOL:
            return look_up(IN_BOOL[name])(operand)
        return look_up(computed)(operand)

    return function


def _binary(name: str, computed: str, takes: str) -> Callable[[Any, Any], Tensor]:
    def function(x1: Any, x2: Any) -> Tensor:
        x, y = _cast_operand(takes, (x1, x2))
        if x.dtype.is_bool:
            if name in IN_BOOL and name not in _ORDERED:
                return look_up(IN_BOOL[name])(x, y)
            if name in _ORDERED or name in _NARROW:
                x, y = cast(x, "int8"), cast(y, "int8")
        return div(x, y) if computed == "divide" else look_up(computed)(x, y)

    return function


def _set_name(function: Callable[..., Tensor], name: str, text: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    function.__module__ = __name__
    export(f"{PREFIX}{name}")(function)
    globals()[name] = function


for _name, (_computed, _takes) in UNARY.items():
    _set_name(
        _unary(_name, _computed, _takes),
        _name,
        f"Apply `tf.{_computed}` to each element, for what NumPy's `{_name}` takes.\n\n"
        "    x: a tensor, or what becomes one; integers count as floats where NumPy's do.\n    ",
    )
for _name, (_computed, _takes) in BINARY.items():
    _set_name(
        _binary(_name, _computed, _takes),
        _name,
        f"Apply `tf.{_computed}` to two operands in their common dtype, like NumPy's `{_name}`.\n\n"
        "    Shapes are broadcast; TypeError where the dtypes have no common one.\n    ",
    )

_logical_not = globals()["logical_not"]


@export("experimental.numpy.clip")
def clip(a: TensorLike, a_min: TensorLike | None, a_max: TensorLike | None) -> Tensor:
    """Clip `a` to the range from `a_min` to `a_max`; None stands for no limit.

    ValueError for no limit at all.

    >>> import talweg as tf
    >>> tf.experimental.numpy.clip([1, 5, 9], 2, None).numpy()
    array([2, 5, 9])
    """
    if a_min is None and a_max is None:
        raise value_error("TW207", "clip: a_min and a_max are None", "a limit")
    x = as_array(a)
    bounds = [bound for bound in (a_max, a_min) if bound is not None]
    x, *ends = promote(a, *bounds) if bounds else (x,)
    if a_max is not None:
        x = look_up("minimum")(x, ends[0])
    return x if a_min is None else look_up("maximum")(x, ends[-1])


@export("experimental.numpy.divmod")
def divmod(x1: TensorLike, x2: TensorLike) -> tuple[Tensor, Tensor]:  # noqa: A001
    """Return (quotient rounded down, remainder) of a division.

    >>> import talweg as tf
    >>> [x.numpy().tolist() for x in tf.experimental.numpy.divmod([7, -7], 3)]
    [[2, -3], [1, 2]]
    """
    x, y = promote(x1, x2)
    return look_up("math.floordiv")(x, y), look_up("math.floormod")(x, y)


@export("experimental.numpy.positive")
def positive(x: TensorLike) -> Tensor:
    """Return `x` as it is.

    >>> import talweg as tf
    >>> tf.experimental.numpy.positive([-1]).numpy()
    array([-1])
    """
    return as_array(x)


@export("experimental.numpy.float_power")
def float_power(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return x1 to the power of x2, in the floats or complex numbers of both; integers in float64.

    >>> import talweg as tf
    >>> tf.experimental.numpy.float_power(2, -1).numpy().item()
    0.5
    """
    dtype = common_dtype(x1, x2)
    if not (dtype.is_floating or dtype.is_complex):
        dtype = common_dtype(x1, x2, float64)
    return look_up("pow")(as_array(x1, dtype), as_array(x2, dtype))


@export("experimental.numpy.hypot")
def hypot(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Compute the hypotenuse sqrt(x1² + x2²).

    >>> import talweg as tf
    >>> tf.experimental.numpy.hypot(3, 4).numpy().item()
    5.0
    """
    x, y = inexact_pair(x1, x2)
    return look_up("sqrt")(x * x + y * y)


@export("experimental.numpy.logaddexp")
def logaddexp(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return log(exp(x1) + exp(x2)), without overflow.

    >>> import talweg as tf
    >>> tf.experimental.numpy.logaddexp(1000.0, 1000.0).numpy().round(6).item()
    1000.693147
    """
    x, y = inexact_pair(x1, x2)
    high = look_up("maximum")(x, y)
    delta = x - y
    sum_of = high + look_up("math.log1p")(look_up("exp")(-look_up("abs")(delta)))
    return where(look_up("math.is_nan")(delta), x + y, sum_of)


@export("experimental.numpy.logaddexp2")
def logaddexp2(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return log2(2**x1 + 2**x2), without overflow.

    >>> import talweg as tf
    >>> tf.experimental.numpy.logaddexp2(3.0, 3.0).numpy().round(6).item()
    4.0
    """
    x, y = inexact_pair(x1, x2)
    ln2 = math.log(2)
    return logaddexp(x * ln2, y * ln2) / ln2


@export("experimental.numpy.heaviside")
def heaviside(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return 0 where x1 < 0, 1 where x1 > 0, x2 where it is 0; NaN stays.

    >>> import talweg as tf
    >>> tf.experimental.numpy.heaviside([-1.0, 0.0, 2.0], 0.5).numpy()
    array([0. , 0.5, 1. ])
    """
    x, y = inexact_pair(x1, x2)
    zero, one = as_array(0, x.dtype), as_array(1, x.dtype)
    found = where(x < zero, zero, where(x > zero, one, y))
    return where(look_up("math.is_nan")(x), x, found)


@export("experimental.numpy.gcd")
def gcd(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Compute the greatest common divisor of integers; ValueError for others.

    >>> import talweg as tf
    >>> tf.experimental.numpy.gcd(12, [8, 9]).numpy()
    array([4, 3])
    """
    x, y = _integers("gcd", x1, x2)
    loop = look_up("while_loop")
    x, y = x + (y - y), y + (x - x)  # one shape
    divisors = loop(
        lambda a, b: look_up("reduce_any")(b != as_array(0, b.dtype)),
        _euclid,
        (look_up("abs")(x), look_up("abs")(y)),
    )
    return divisors[0]


def _euclid(a: Tensor, b: Tensor) -> tuple:
    """Return a step of Euclid's algorithm where it has not ended."""
    zero = as_array(0, b.dtype)
    ended = look_up("equal")(b, zero)
    rest = look_up("math.floormod")(a, where(ended, as_array(1, b.dtype), b))
    return where(ended, a, b), where(ended, zero, rest)


@export("experimental.numpy.lcm")
def lcm(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Compute the least common multiple of integers; ValueError for others.

    >>> import talweg as tf
    >>> tf.experimental.numpy.lcm(4, [6, 0]).numpy()
    array([12,  0])
    """
    x, y = _integers("lcm", x1, x2)
    divisor = gcd(x, y)
    ok = where(look_up("equal")(divisor, as_array(0, x.dtype)), as_array(1, x.dtype), divisor)
    product = look_up("abs")(x // ok * y)
    return product


def _integers(function: str, x1: object, x2: object) -> list[Any]:
    x, y = promote(x1, x2)
    if not x.dtype.is_integer:
        raise value_error("TW102", f"{function}: the operands are {x.dtype.name}", "integers")
    return [x, y]


@export("experimental.numpy.cbrt")
def cbrt(x: TensorLike) -> Tensor:
    """Return the real cube root.

    >>> import talweg as tf
    >>> tf.experimental.numpy.cbrt([-8.0, 27.0]).numpy().round(6).tolist()
    [-2.0, 3.0]
    """
    x = inexact(x)
    return look_up("sign")(x) * look_up("pow")(look_up("abs")(x), as_array(1 / 3, x.dtype))


@export("experimental.numpy.exp2")
def exp2(x: TensorLike) -> Tensor:
    """Return 2 to the power of x.

    >>> import talweg as tf
    >>> tf.experimental.numpy.exp2(3.0).numpy().round(6).item()
    8.0
    """
    return look_up("exp")(inexact(x) * math.log(2))


@export("experimental.numpy.log2")
def log2(x: TensorLike) -> Tensor:
    """Compute the logarithm with base 2.

    >>> import talweg as tf
    >>> tf.experimental.numpy.log2(8.0).numpy().round(6).item()
    3.0
    """
    return look_up("math.log")(inexact(x)) / math.log(2)


@export("experimental.numpy.log10")
def log10(x: TensorLike) -> Tensor:
    """Compute the logarithm with base 10.

    >>> import talweg as tf
    >>> tf.experimental.numpy.log10(100.0).numpy().round(6).item()
    2.0
    """
    return look_up("math.log")(inexact(x)) / math.log(10)


@export("experimental.numpy.deg2rad")
def deg2rad(x: TensorLike) -> Tensor:
    """Convert degrees to radians.

    >>> import talweg as tf
    >>> tf.experimental.numpy.deg2rad(180.0).numpy().round(6).item()
    3.141593
    """
    return inexact(x) * (math.pi / 180)


@export("experimental.numpy.rad2deg")
def rad2deg(x: TensorLike) -> Tensor:
    """Convert radians to degrees.

    >>> import talweg as tf
    >>> tf.experimental.numpy.rad2deg(tf.experimental.numpy.pi).numpy().round(6).item()
    180.0
    """
    return inexact(x) * (180 / math.pi)


@export("experimental.numpy.sinc")
def sinc(x: TensorLike) -> Tensor:
    """Return sin(πx) / (πx), and 1 at 0.

    >>> import talweg as tf
    >>> tf.experimental.numpy.sinc([0.0, 0.5]).numpy().round(6).tolist()
    [1.0, 0.63662]
    """
    x = inexact(x) * math.pi
    zero = look_up("equal")(x, as_array(0, x.dtype))
    one = as_array(1, x.dtype)
    safe = where(zero, one, x)
    return where(zero, one, look_up("sin")(safe) / safe)


@export("experimental.numpy.fix")
def fix(x: TensorLike) -> Tensor:
    """Return the integer next to x towards 0, as a float.

    >>> import talweg as tf
    >>> tf.experimental.numpy.fix([-1.7, 1.7]).numpy()
    array([-1.,  1.])
    """
    x = inexact(x)
    return where(x < as_array(0, x.dtype), look_up("math.ceil")(x), look_up("floor")(x))


@export("experimental.numpy.around", "experimental.numpy.round")
def around(a: TensorLike, decimals: int = 0) -> Tensor:
    """Return `a` rounded to a number of decimals, halves to the even digit; a negative number
    rounds to tens, hundreds and so on.

    >>> import talweg as tf
    >>> tf.experimental.numpy.around([1.25, 2.5]).numpy()
    array([1., 2.])
    """
    x = as_array(a)
    factor = 10.0**decimals
    if x.dtype.is_integer:
        if decimals >= 0:
            return x
        scaled = cast(x, default_float()) * factor
        return cast(look_up("round")(scaled) / factor, x.dtype)
    if x.dtype.is_bool:
        x = cast(x, to_dtype(np.float16))
    if decimals == 0:
        return look_up("round")(x)
    scale = as_array(factor, x.dtype)
    return look_up("round")(x * scale) / scale


@export("experimental.numpy.sign")
def sign(x: TensorLike, out: object = None, where: object = None, **kwargs: object) -> Tensor:
    """Return -1, 0 or 1; of complex numbers z / |z|.

    ValueError for `out`, `where` or other keywords, which NumPy's function has.

    >>> import talweg as tf
    >>> tf.experimental.numpy.sign([-3, 0, 2]).numpy()
    array([-1,  0,  1])
    """
    if out is not None or where is not None or kwargs:
        raise value_error("TW207", "sign: tensors are given with out, where or others", "x alone")
    x = as_array(x)
    if x.dtype.is_bool:
        raise type_error("TW102", "sign: x is bool", "numbers")
    return look_up("sign")(x)


@export("experimental.numpy.signbit")
def signbit(x: TensorLike) -> Tensor:
    """Return whether the sign bit is set: x < 0, or -0.0.

    >>> import talweg as tf
    >>> tf.experimental.numpy.signbit([-0.0, 1.0]).numpy()
    array([ True, False])
    """
    x = as_array(x)
    if x.dtype.is_bool:
        return look_up("zeros_like")(x)
    zero = as_array(0, x.dtype)
    if x.dtype.is_integer:
        return x < zero
    below = look_up("math.reciprocal")(x) < zero
    return look_up("logical_or")(x < zero, look_up("logical_and")(look_up("equal")(x, zero), below))
