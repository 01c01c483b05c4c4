"""Exponentials, logarithms, trigonometric and hyperbolic functions.

Derivatives: NIST Digital Library of Mathematical Functions, chapter 4 (dlmf.nist.gov/4).
"""

from __future__ import annotations

import numpy as np

from talweg.core.declare import elementwise
from talweg.core.dtypes import FLOATING, INEXACT
from talweg.prims.arithmetic import abs_, maximum, minimum, rsqrt, stop_gradient

UNIT = {"x": (-0.9, 0.9)}
POSITIVE = {"x": (0.2, 3)}
LARGE = "tf.clip_by_value(x, -80.0, 80.0), or numbers of another scale"
STABLE = "what takes the largest off first: tf.nn.softmax, tf.reduce_logsumexp, tf.nn.softplus"
INSIDE = "tf.clip_by_value(x, -1 + 1e-6, 1 - 1e-6)"
ABOVE = (
    "tf.math.log(tf.maximum(x, 1e-12)); tf.math.xlogy(p, x) for p log x; tf.nn.log_softmax and "
    "the losses with from_logits=True for logs of probabilities"
)


@elementwise(numpy=np.exp, accepts=INEXACT, avoid=STABLE)
def exp(y, x):
    """y = eˣ.   dy/dx = y."""
    return y


@elementwise(numpy=np.expm1, accepts=INEXACT, avoid=STABLE)
def expm1(y, x):
    """y = eˣ - 1, accurate near 0.   dy/dx = eˣ."""
    return exp(x)


@elementwise(numpy=np.log, accepts=INEXACT, domain=POSITIVE, singular="x = 0", avoid=ABOVE)
def log(y, x):
    """y = ln x.   dy/dx = 1 / x."""
    return 1 / x


@elementwise(
    numpy=np.log1p,
    accepts=INEXACT,
    domain=UNIT,
    singular="x = -1",
    avoid="tf.math.log1p(tf.maximum(x, -1 + 1e-6))",
)
def log1p(y, x):
    """y = ln(1 + x), accurate near 0.   dy/dx = 1 / (1 + x)."""
    return 1 / (1 + x)


@elementwise(numpy=np.sin, accepts=INEXACT)
def sin(y, x):
    """y = sin x.   dy/dx = cos x."""
    return cos(x)


@elementwise(numpy=np.cos, accepts=INEXACT)
def cos(y, x):
    """y = cos x.   dy/dx = -sin x."""
    return -sin(x)


@elementwise(numpy=np.tan, accepts=INEXACT, domain=UNIT, singular="x = π/2 + kπ")
def tan(y, x):
    """y = tan x.   dy/dx = 1 + y²."""
    return 1 + y * y


@elementwise(
    numpy=np.arcsin,
    accepts=INEXACT,
    domain=UNIT,
    singular="|x| = 1",
    avoid=f"{INSIDE}, or tf.atan2(sine, cosine)",
)
def asin(y, x):
    """y = arcsin x.   dy/dx = 1 / √(1 - x²)."""
    return rsqrt(1 - x * x)


@elementwise(
    numpy=np.arccos,
    accepts=INEXACT,
    domain=UNIT,
    singular="|x| = 1",
    avoid=f"{INSIDE}, or tf.atan2(sine, cosine)",
)
def acos(y, x):
    """y = arccos x.   dy/dx = -1 / √(1 - x²)."""
    return -rsqrt(1 - x * x)


@elementwise(numpy=np.arctan, accepts=INEXACT)
def atan(y, x):
    """y = arctan x.   dy/dx = 1 / (1 + x²)."""
    return 1 / (1 + x * x)


def _along_circle(v, x, y):
    """Return v / (x² + y²), with the squares of numbers of at most 1."""
    size = minimum(maximum(abs(x), abs(y)), float(v.dtype.max))
    size = stop_gradient(size)  # of which the quotient does not depend
    x, y = x / size, y / size
    return v / size / (size * (x * x + y * y))


@elementwise(
    numpy=np.arctan2,
    accepts=FLOATING,
    domain={"x": (0.3, 2), "y": (0.3, 2)},
    singular="x = y = 0",
    avoid="tf.atan2(y, x + 1e-12) where both can be 0",
)
class atan2:
    """z = the angle of the point (y, x):  arctan(x / y) in the right quadrant.

    Operands are in the order of the call atan2(ordinate, abscissa).
    dz/dx = y / (x² + y²),  dz/dy = -x / (x² + y²).
    """

    operands = "x y"

    def dx(z, x, y):
        return _along_circle(y, x, y)

    def dy(z, x, y):
        return -_along_circle(x, x, y)


@elementwise(numpy=np.sinh, accepts=INEXACT, avoid=LARGE)
def sinh(y, x):
    """y = sinh x.   dy/dx = cosh x."""
    return cosh(x)


@elementwise(numpy=np.cosh, accepts=INEXACT, avoid=LARGE)
def cosh(y, x):
    """y = cosh x.   dy/dx = sinh x."""
    return sinh(x)


@elementwise(numpy=np.tanh, accepts=INEXACT)
def tanh(y, x):
    """y = tanh x.   dy/dx = 1 - y²."""
    return 1 - y * y


@elementwise(numpy=np.arcsinh, accepts=INEXACT)
def asinh(y, x):
    """y = arsinh x.   dy/dx = 1 / cosh y."""
    return 1 / cosh(y)


@elementwise(
    numpy=np.arccosh,
    accepts=INEXACT,
    domain={"x": (1.2, 3)},
    singular="x = 1",
    avoid="tf.math.acosh(tf.maximum(x, 1 + 1e-6))",
)
def acosh(y, x):
    """y = arcosh x.   dy/dx = 1 / sinh y."""
    return 1 / sinh(y)


@elementwise(numpy=np.arctanh, accepts=INEXACT, domain=UNIT, singular="|x| = 1", avoid=INSIDE)
def atanh(y, x):
    """y = artanh x.   dy/dx = 1 / (1 - x²)."""
    return 1 / (1 - x * x)


def sigmoid_array(x: np.ndarray):
    if x.dtype.kind == "c":
        return np.reciprocal(1 + np.exp(-x))
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, x.dtype.type(1)) / (1 + small)


@elementwise(numpy=sigmoid_array, accepts=INEXACT)
def sigmoid(y, x):
    """y = 1 / (1 + e⁻ˣ).   dy/dx = y (1 - y)."""
    return y * (1 - y)


@elementwise(numpy=lambda x: np.logaddexp(x, x.dtype.type(0)), accepts=FLOATING)
def softplus(y, x):
    """y = ln(1 + eˣ).   dy/dx = sigmoid x."""
    return sigmoid(x)


@elementwise(
    numpy=lambda x: x / (1 + np.abs(x)), accepts=FLOATING, scalar=lambda s, x: x / (1 + s.abs(x))
)
def softsign(y, x):
    """y = x / (1 + |x|).   dy/dx = 1 / (1 + |x|)²."""
    rest = 1 + abs_(x)
    return 1 / (rest * rest)
