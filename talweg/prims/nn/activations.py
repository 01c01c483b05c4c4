"""Activations, softmax and biases: what would lose speed or accuracy as a composition.

Softmax and its logarithm take the maximum m out first: eˣ⁻ᵐ / Σ eˣ⁻ᵐ (Blanchard, Higham and Higham
2021, "Accurately computing the log-sum-exp and softmax functions").  16-bit floats are computed in
float32.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import check_dtype, elementwise, primitive
from talweg.core.dims import differ
from talweg.core.dtypes import FLOATING, INEXACT, NUMERIC, REAL
from talweg.core.errors import invalid
from talweg.core.primitive import Reject, Sample
from talweg.core.roles import Trait
from talweg.prims.arithmetic import greater, less, logical_and, minimum, one_like, select
from talweg.prims.layout import batch_to_front, reshape
from talweg.prims.reduce import narrow, reduce_sum, widen
from talweg.prims.transcendental import exp, sigmoid, sigmoid_array

SELU_SCALE = 1.0507009873554804934193349852946
SELU_ALPHA = 1.6732632423543772848170429916717
AWAY_FROM_0 = {"x": (0.2, 2)}


# -- activations


@elementwise(
    numpy=lambda x: np.maximum(x, 0),
    scalar=lambda s, x: s.maximum(x, 0),
    accepts=REAL,
    domain=AWAY_FROM_0,
    kinks={"x": "the derivative at 0 is 0"},
)
def relu(y, x):
    """y = max(x, 0).   dy/dx = [y > 0]."""
    return greater(y, 0)


@elementwise(
    numpy=lambda x: np.minimum(np.maximum(x, 0), 6),
    scalar=lambda s, x: s.minimum(s.maximum(x, 0), 6),
    accepts=REAL,
    domain=AWAY_FROM_0,
    kinks={"x": "the derivative at 0 and at 6 is 0"},
)
def relu6(y, x):
    """y = min(max(x, 0), 6).   dy/dx = [0 < y < 6]."""
    return logical_and(greater(y, 0), less(y, 6))


def _leaky_relu(x: np.ndarray, a: np.ndarray):
    a = np.asarray(a, np.asarray(x).dtype)  # NumPy has no weak scalars for bfloat16
    if a.ndim == 0 and 0 < a <= 1:
        return np.maximum(x, np.multiply(x, a))
    low = np.multiply(np.minimum(x, 0), a)
    return np.add(np.maximum(x, 0), low)


@elementwise(
    numpy=_leaky_relu,
    scalar=lambda s, x, a: s.maximum(x, 0) + s.minimum(x, 0) * a,
    accepts=FLOATING,
    domain={"x": (-2, -0.2), "a": (0.1, 0.9)},
    kinks={"x": "the derivative at 0 is a"},
)
class leaky_relu:
    """z = x where x > 0, a x elsewhere.   dz/dx = 1 or a,  dz/da = min(x, 0)."""

    operands = "x a"

    def dx(z, x, a):
        return select(greater(x, 0), one_like(x), a * one_like(x))

    def da(z, x, a):
        return minimum(x, 0)


def _elu(x: np.generic | np.ndarray):
    return np.add(np.maximum(x, 0), np.expm1(np.minimum(x, 0)))


@elementwise(
    numpy=_elu,
    scalar=lambda s, x: s.maximum(x, 0) + s.expm1(s.minimum(x, 0)),
    accepts=FLOATING,
    domain={"x": (-2, -0.2)},
    kinks={"x": "the second derivative at 0 is 0"},
)
def elu(y, x):
    """y = x where x ≥ 0, eˣ - 1 elsewhere.   dy/dx = 1, y + 1."""
    return select(less(y, 0), y + 1, one_like(y))


def _selu(x: np.generic | np.ndarray):
    number = np.asarray(x).dtype.type
    low = np.expm1(np.minimum(x, 0)) * number(SELU_SCALE * SELU_ALPHA)
    return np.add(np.maximum(x, 0) * number(SELU_SCALE), low)


def _selu_of_element(s, x):
    low = s.expm1(s.minimum(x, 0)) * (SELU_SCALE * SELU_ALPHA)
    return s.maximum(x, 0) * SELU_SCALE + low


@elementwise(
    numpy=_selu,
    scalar=_selu_of_element,
    accepts=FLOATING,
    domain={"x": (-2, -0.2)},
    kinks={"x": "the derivative at 0 is the scale s"},
)
def selu(y, x):
    """y = s x where x ≥ 0, s a (eˣ - 1) elsewhere.   dy/dx = s, y + s a.

    Klambauer et al. 2017, "Self-normalizing neural networks".
    """
    rising = SELU_SCALE * one_like(y)
    return select(less(y, 0), y + SELU_SCALE * SELU_ALPHA, rising)


def _normal_cdf(x: np.generic | np.ndarray):
    from scipy.special import ndtr

    if x.dtype.itemsize == 2:
        return ndtr(x.astype(np.float32)).astype(x.dtype)
    return ndtr(x)


@elementwise(
    numpy=_normal_cdf,
    accepts=FLOATING,
    # right to units of 1, as in TensorFlow: erfc, right in its tail too, takes 2.6 times as long
    scalar=lambda s, x: 0.5 * (1 + s.erf(x * math.sqrt(0.5))),
)
def normal_cdf(y, x):
    """y = Φ(x), the distribution function of the standard normal.   dy/dx = e^(-x²/2) / √(2π)."""
    return normal_density(x)


def normal_density(x):
    """Return e^(-x²/2) / √(2π)."""
    return exp(-0.5 * (x * x)) * (1 / math.sqrt(2 * math.pi))


@elementwise(
    numpy=lambda x: np.multiply(x, _normal_cdf(x)),
    accepts=FLOATING,
    scalar=lambda s, x: 0.5 * x * (1 + s.erf(x * math.sqrt(0.5))),  # as TensorFlow has it
)
def gelu(y, x):
    """y = x Φ(x).   dy/dx = Φ(x) + x φ(x).   Hendrycks and Gimpel 2016, arXiv:1606.08415."""
    return normal_cdf(x) + x * normal_density(x)


@elementwise(
    numpy=lambda x: np.multiply(x, sigmoid_array(x)),
    accepts=INEXACT,
    scalar=lambda s, x: x * s.sigmoid(x),
)
def silu(y, x):
    """y = x s,  s = 1 / (1 + e⁻ˣ).   dy/dx = s (1 + x (1 - s)).

    Elfwing, Uchibe and Doya 2018, "Sigmoid-weighted linear units".
    """
    s = sigmoid(x)
    return s * (1 + x * (1 - s))


STEEP = 2 * math.sqrt(2 / math.pi)
CURVED = 0.044715 * STEEP


def _gelu_tanh(x: np.ndarray):
    wide: Any = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    one = wide.dtype.type
    s = sigmoid_array(wide * (one(STEEP) + one(CURVED) * (wide * wide)))
    return np.multiply(wide, s).astype(x.dtype, copy=False)


@elementwise(
    numpy=_gelu_tanh,
    accepts=FLOATING,
    scalar=lambda s, x: x * s.sigmoid(x * (STEEP + CURVED * (x * x))),
)
def gelu_tanh(y, x):
    """y = x s,  s = (1 + tanh u/2) / 2 = 1 / (1 + e⁻ᵘ),  u = √(8/π) (x + 0.044715 x³).

    dy/dx = s + x s (1 - s) du/dx.  The logistic function keeps its digits for u far below 0; where
    |x| is 32, s is 0 or 1, so that du/dx, which would overflow, does not count beyond.
    """
    square = x * x
    s = sigmoid(x * (STEEP + CURVED * square))
    return s + (x * s) * ((1 - s) * (STEEP + 3 * CURVED * minimum(square, 1024)))


# -- softmax


def _wide(x: np.ndarray):
    """Return `x`, 16-bit floats as float32."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def subtract_max(x: np.ndarray, axis: int):
    """Return x - max x along `axis`, a new array."""
    wide = _wide(x)
    if not wide.shape[axis]:
        return wide.copy()
    return wide - np.maximum.reduce(wide, axis, keepdims=True)


def softmax_array(x: np.ndarray, *, axis: int):
    result = subtract_max(x, axis)
    np.exp(result, out=result)
    result /= np.add.reduce(result, axis, keepdims=True)
    return result.astype(x.dtype, copy=False)


def _log_softmax(x: np.ndarray, *, axis: int):
    result = subtract_max(x, axis)
    result -= np.log(np.add.reduce(np.exp(result), axis, keepdims=True))
    return result.astype(x.dtype, copy=False)


def _infer_softmax(name: str):
    def infer(x, *, axis: int):
        check_dtype(name, "logits", x.dtype, FLOATING)
        return Aval(x.dims, x.dtype)

    return infer


def total(x: object, axis: int):
    """Return Σ x along `axis`, which stays with size 1."""
    return reduce_sum(x, axes=(axis,), keepdims=True)


SOFTMAX_SAMPLES = (
    Sample([4], axis=0),
    Sample([2, 3], axis=1),
    Sample([2, 3, 2], axis=1),
    Sample([0, 3], axis=1),
    Sample([3, 0], axis=1),
)


@primitive
class softmax:
    """y = eˣ / Σ eˣ along axis.   dy = y (dx - Σ y dx)."""

    operands = "x"
    infer = _infer_softmax("softmax")
    numpy = softmax_array

    def vjp(g, y, x, *, axis):
        return y * (g - total(y * g, axis))

    def jvp(t, y, x, *, axis):
        return y * (t - total(y * t, axis))

    def batch(size, batched, x, *, axis):
        return softmax(x, axis=axis + 1)

    def expand(t, x, *, axis):
        e = t.exp(below_maximum(t, widen(t, x), axis))
        sums = t.reduce_sum(e, axes=(axis % len(x.dims),), keepdims=True)
        return narrow(t, t.mul(e, t.reciprocal(sums)), x.dtype)  # sums are 1 or more

    memory = "reduce"
    traits = {Trait.NORMALIZES}
    samples = SOFTMAX_SAMPLES
    rejects = (Reject(np.ones(2, np.int32), axis=0, code="TW102"),)


@primitive
class log_softmax:
    """y = x - ln Σ eˣ along axis.   dy = dx - Σ eʸ dx;  x̄ = ȳ - eʸ Σ ȳ."""

    operands = "x"
    infer = _infer_softmax("log_softmax")
    numpy = _log_softmax

    def vjp(g, y, x, *, axis):
        return g - softmax(x, axis=axis) * total(g, axis)

    def jvp(t, y, x, *, axis):
        return t - total(softmax(x, axis=axis) * t, axis)

    def batch(size, batched, x, *, axis):
        return log_softmax(x, axis=axis + 1)

    def expand(t, x, *, axis):
        below = below_maximum(t, widen(t, x), axis)
        sums = t.reduce_sum(t.exp(below), axes=(axis % len(x.dims),), keepdims=True)
        return narrow(t, t.sub(below, t.log(sums)), x.dtype)

    memory = "reduce"
    traits = {Trait.NORMALIZES}
    samples = SOFTMAX_SAMPLES
    rejects = (Reject(np.ones(2, np.int32), axis=0, code="TW102"),)


def below_maximum(t, x, axis: int):
    """Return x - max x along `axis`, for `expand` rules."""
    return t.sub(x, t.reduce_max(x, axes=(axis % len(x.dims),), keepdims=True))


# -- bias


@primitive
class bias_add:
    """z = x + b along one axis of x.   x [..., c, ...], b [c]."""

    operands = "x b"
    linear = "x b"

    def infer(x, b, *, axis):
        check_dtype("bias_add", "value", x.dtype, NUMERIC)
        check_dtype("bias_add", "bias", b.dtype, {x.dtype})
        if x.ndim < 2:
            raise invalid("TW203", f"bias_add: value has shape {x.dims}", "a rank of at least 2")
        if b.ndim != 1:
            raise invalid("TW203", f"bias_add: bias has shape {b.dims}", "rank 1")
        if differ(b.dims[0], x.dims[axis]):
            raise invalid(
                "TW204",
                f"bias_add: bias has shape {b.dims}, value {x.dims}",
                f"as many biases as dimension {axis} of value has elements, {x.dims[axis]}",
            )
        return x

    def numpy(x: np.ndarray, b, *, axis):
        after = x.ndim - axis - 1
        return np.add(x, b.reshape(-1, *(1,) * after) if after else b)

    def transpose_x(g, x, b, *, axis):
        return g

    def transpose_b(g, x, b, *, axis):
        others = tuple(i for i in range(len(g.dims)) if i != axis)
        return reduce_sum(g, axes=others, keepdims=False)

    def batch(size, batched, x, b, *, axis):
        x = batch_to_front(size, x, batched[0])
        if not batched[1]:
            return bias_add(x, b, axis=axis + 1)
        after = len(x.dims) - axis - 2
        return x + reshape(b, shape=(size, *(1,) * axis, b.dims[1], *(1,) * after))

    def expand(t, x, b, *, axis):
        after = len(x.dims) - axis - 1
        return t.add(x, t.reshape(b, shape=(*b.dims, *(1,) * after)))

    memory = "map"
    samples = (
        Sample([2, 3], [3], axis=1),
        Sample([2, 3, 2, 2], [3], axis=1),
        Sample([0, 3], [3], axis=1),
    )
    rejects = (
        Reject([3], [3], axis=0, code="TW203"),
        Reject([2, 3], [2], axis=1, code="TW204"),
        Reject([2, 3], [1, 3], axis=1, code="TW203"),
    )


__all__ = [
    "bias_add",
    "elu",
    "gelu",
    "leaky_relu",
    "log_softmax",
    "normal_cdf",
    "relu",
    "relu6",
    "selu",
    "softmax",
]
