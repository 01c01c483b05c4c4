"""Products and quotients in which a zero wins over whatever stands beside it, and (x - y)².

`0 log 0`, `0 / 0` and `0 * inf` are 0 here, in the value and in the derivatives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from talweg.core.declare import elementwise
from talweg.core.dtypes import FLOATING, INEXACT, int32, int64
from talweg.core.primitive import Sample
from talweg.core.value import Tensor
from talweg.prims.arithmetic import MIXED, RAGGED, cast, not_equal, one_like, zeros_of

if TYPE_CHECKING:
    from collections.abc import Callable

# x = 0 is a kink: finite differences see the slope of the smooth side, TensorFlow takes 0.
ZEROS = Sample(
    np.array([0, 1, 2], np.float32),
    np.array([0.5, 1.5, 0.7], np.float32),
    skip=("forward", "reverse", "second"),
)
POSITIVE = {"x": (0.2, 2), "y": (0.3, 3)}


def is_nonzero(x):
    """1 where x ≠ 0, 0 where x = 0, in x's dtype."""
    return cast(not_equal(x, zeros_of(x)), dtype=x.dtype)


def _zero_wins(compute: Callable):
    """Return the kernel x, y -> compute(x, y), with 0 where x = 0."""

    def kernel(x: np.generic | np.ndarray, y: np.generic | np.ndarray):
        return np.where(x == 0, 0, compute(x, y)).astype(np.result_type(x, y), copy=False)

    return kernel


@elementwise(
    numpy=_zero_wins(lambda x, y: x * np.log(y)),
    scalar=lambda s, x, y: s.select(s.equal(x, 0), 0, x * s.log(y)),
    accepts=INEXACT,
    domain=POSITIVE,
    singular="y = 0",
    kinks={"x": "at x = 0 the value and the derivatives are 0"},
    samples=(Sample([3], [3]), Sample([2, 1], [3]), ZEROS),
    rejects=(MIXED, RAGGED),
)
class xlogy:
    """z = x ln y, and 0 where x = 0.   dz/dx = ln y,  dz/dy = x / y, both 0 where x = 0."""

    operands = "x y"

    def dx(z, x, y):
        return xlogy(is_nonzero(x), y)

    def dy(z, x, y):
        return xdivy(x, y)


@elementwise(
    numpy=_zero_wins(lambda x, y: x * np.log1p(y)),
    scalar=lambda s, x, y: s.select(s.equal(x, 0), 0, x * s.log1p(y)),
    accepts=INEXACT,
    domain=POSITIVE,
    singular="y = -1",
    kinks={"x": "at x = 0 the value and the derivatives are 0"},
    samples=(Sample([3], [3]), Sample([2, 1], [3]), ZEROS),
    rejects=(MIXED, RAGGED),
)
class xlog1py:
    """z = x ln(1 + y), and 0 where x = 0.   dz/dx = ln(1 + y),  dz/dy = x / (1 + y)."""

    operands = "x y"

    def dx(z, x, y):
        return xlog1py(is_nonzero(x), y)

    def dy(z, x, y):
        return xdivy(x, y + 1)


@elementwise(
    numpy=_zero_wins(lambda x, y: x / y),
    scalar=lambda s, x, y: s.select(s.equal(x, 0), 0, x / y),
    accepts=INEXACT,
    domain=POSITIVE,
    singular="y = 0",
    kinks={"x": "at x = 0 the value and the derivatives are 0"},
    samples=(Sample([3], [3]), Sample([2, 1], [3]), ZEROS),
    rejects=(MIXED, RAGGED),
)
class xdivy:
    """z = x / y, and 0 where x = 0.   dz/dx = 1 / y,  dz/dy = -z / y, both 0 where x = 0."""

    operands = "x y"

    def dx(z, x, y):
        return xdivy(is_nonzero(x), y)

    def dy(z: Tensor, x, y):
        return xdivy(-z, y)


def _div_no_nan(x: np.generic | np.ndarray, y: np.generic | np.ndarray):
    zero = y == 0
    if not np.count_nonzero(zero):
        return np.divide(x, y)
    return np.where(zero, 0, x / np.where(zero, 1, y)).astype(np.result_type(x, y), copy=False)


@elementwise(
    numpy=_div_no_nan,
    scalar=lambda s, x, y: s.select(s.equal(y, 0), 0, x / y),
    accepts=INEXACT,
    domain={"y": (0.5, 3)},
    kinks={"y": "where y = 0 the value and both derivatives are 0"},
    rejects=(MIXED, RAGGED),
)
class div_no_nan:
    """z = x / y, and 0 where y = 0."""

    operands = "x y"

    def dx(z, x, y):
        return div_no_nan(one_like(y), y)

    def dy(z: Tensor, x, y):
        return div_no_nan(-z, y)


@elementwise(
    numpy=lambda x, y: np.where(y == 0, 0, x * y).astype(np.result_type(x, y), copy=False),
    scalar=lambda s, x, y: s.select(s.equal(y, 0), 0, x * y),
    accepts=INEXACT,
    rejects=(MIXED, RAGGED),
)
class mul_no_nan:
    """z = x y, and 0 where y = 0 even if x is not finite."""

    operands = "x y"

    def dx(z, x, y):
        return y

    def dy(z, x, y):
        return x


@elementwise(
    numpy=lambda x, y: np.square(np.subtract(x, y)),
    scalar=lambda s, x, y: s.square(x - y),
    accepts=FLOATING | {int32, int64},
    rejects=(MIXED, RAGGED),
)
class squared_difference:
    """z = (x - y)².   dz/dx = 2 (x - y) = -dz/dy.   Complex numbers: see the function in `api`."""

    operands = "x y"

    def dx(z, x, y):
        return x - y, 2

    def dy(z, x, y):
        return x - y, -2


@elementwise(
    numpy=np.reciprocal,
    accepts=INEXACT,
    domain={"x": (0.3, 3)},
    singular="x = 0",
    avoid="tf.math.divide_no_nan(1.0, x)",
    scalar=lambda s, x: 1 / x,
)
def reciprocal(y, x):
    """y = 1 / x.   dy/dx = -y²."""
    return y, -y
