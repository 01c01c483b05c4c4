"""Rounding, and what floating-point numbers are: all of it piecewise constant but `next_after`."""

from __future__ import annotations

import numpy as np

from talweg.core.declare import elementwise
from talweg.core.dtypes import FLOATING, bool_, float32, float64
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
