"""Activations, softmax and cross entropies: what would lose speed or accuracy as a composition.

Softmax and its logarithm take the maximum m out first: eˣ⁻ᵐ / Σ eˣ⁻ᵐ (Blanchard, Higham and Higham
2021, "Accurately computing the log-sum-exp and softmax functions").  16-bit floats are computed in
float32.
"""

from __future__ import annotations

import math

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import check_dtype, elementwise, primitive
from talweg.core.dims import broadcast, differ, dims_differ, same_dims
from talweg.core.dtypes import FLOATING, NUMERIC, REAL, bool_, int32, int64
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.core.shapes import known_first
from talweg.prims.arithmetic import greater, less, logical_and, minimum, one_like, select
from talweg.prims.layout import batch_to_front, reshape
from talweg.prims.reduce import reduce_sum, sum_like
from talweg.prims.search import one_hot
from talweg.prims.transcendental import exp, sigmoid

SELU_SCALE = 1.0507009873554804934193349852946
SELU_ALPHA = 1.6732632423543772848170429916717
LABELS = NoGradient("a class number only chooses", "one-hot labels and the dense cross entropy")
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


def _leaky_relu(x, a):
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


def _elu(x):
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


def _selu(x):
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


def _normal_cdf(x):
    from scipy.special import ndtr

    if x.dtype.itemsize == 2:
        return ndtr(x.astype(np.float32)).astype(x.dtype)
    return ndtr(x)


def _normal_cdf_of_element(s, x):
    return 0.5 * s.erfc(x * -math.sqrt(0.5))


@elementwise(numpy=_normal_cdf, accepts=FLOATING, scalar=_normal_cdf_of_element)
def normal_cdf(y, x):
    """y = Φ(x), the distribution function of the standard normal.   dy/dx = e^(-x²/2) / √(2π)."""
    return normal_density(x)


def normal_density(x):
    """e^(-x²/2) / √(2π)."""
    return exp(-0.5 * (x * x)) * (1 / math.sqrt(2 * math.pi))


@elementwise(
    numpy=lambda x: np.multiply(x, _normal_cdf(x)),
    accepts=FLOATING,
    scalar=lambda s, x: x * _normal_cdf_of_element(s, x),
)
def gelu(y, x):
    """y = x Φ(x).   dy/dx = Φ(x) + x φ(x).   Hendrycks and Gimpel 2016, arXiv:1606.08415."""
    return normal_cdf(x) + x * normal_density(x)


# -- softmax


def _wide(x):
    """`x`, 16-bit floats as float32."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def _shifted(x, axis):
    """x - max x along `axis`, a new array."""
    wide = _wide(x)
    if not wide.shape[axis]:
        return wide.copy()
    return wide - np.maximum.reduce(wide, axis, None, None, True)


def _softmax(x, *, axis):
    result = _shifted(x, axis)
    np.exp(result, out=result)
    result /= np.add.reduce(result, axis, None, None, True)
    return result.astype(x.dtype, copy=False)


def _log_softmax(x, *, axis):
    result = _shifted(x, axis)
    result -= np.log(np.add.reduce(np.exp(result), axis, keepdims=True))
    return result.astype(x.dtype, copy=False)


def _infer_softmax(name):
    def infer(x, *, axis):
        check_dtype(name, "logits", x.dtype, FLOATING)
        return Aval(x.dims, x.dtype)

    return infer


def total(x, axis):
    """Σ x along `axis`, which stays with size 1."""
    return reduce_sum(x, axes=(axis,), keepdims=True)


SOFTMAX_SAMPLES = (Sample([4], axis=0), Sample([2, 3], axis=1), Sample([2, 3, 2], axis=1),
                   Sample([0, 3], axis=1), Sample([3, 0], axis=1))  # fmt: skip


@primitive
class softmax:
    """y = eˣ / Σ eˣ along axis.   dy = y (dx - Σ y dx)."""

    operands = "x"
    infer = _infer_softmax("softmax")
    numpy = _softmax

    def vjp(g, y, x, *, axis):
        return y * (g - total(y * g, axis))

    def jvp(t, y, x, *, axis):
        return y * (t - total(y * t, axis))

    def batch(size, batched, x, *, axis):
        return softmax(x, axis=axis + 1)

    def expand(t, x, *, axis):
        e = t.exp(_below_maximum(t, x, axis))
        return t.div(e, t.reduce_sum(e, axes=(axis % len(x.dims),), keepdims=True))

    memory = "reduce"
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
        x = _below_maximum(t, x, axis)
        total = t.reduce_sum(t.exp(x), axes=(axis % len(x.dims),), keepdims=True)
        return t.sub(x, t.log(total))

    memory = "reduce"
    samples = SOFTMAX_SAMPLES
    rejects = (Reject(np.ones(2, np.int32), axis=0, code="TW102"),)


def _below_maximum(t, x, axis):
    """x - max x along `axis`, for `expand` rules."""
    return t.sub(x, t.reduce_max(x, axes=(axis % len(x.dims),), keepdims=True))


# -- cross entropies


def _shaped(g, x):
    """`g` summed to the shape of x, from which it may have been broadcast."""
    return g if same_dims(g.dims, x.dims) else sum_like(g, x)


def with_last(g):
    """`g` [...] as [..., 1]."""
    return reshape(g, shape=(*g.dims, 1))


def _last_sum(x):
    return reduce_sum(x, axes=(len(x.dims) - 1,), keepdims=False)


@primitive
class softmax_cross_entropy:
    """z = -Σ l ln softmax(x) along the last axis.   l [..., c], x [..., c], broadcast -> [...].

    dz/dl = -ln softmax(x);  dz/dx = softmax(x) - l, which holds where Σ l = 1: labels are taken to
    be distributions, as in TensorFlow.
    """

    operands = "labels logits"
    tf_type = "SoftmaxCrossEntropyWithLogits"

    def infer(labels, logits):
        check_dtype("softmax_cross_entropy_with_logits", "logits", logits.dtype, FLOATING)
        check_dtype("softmax_cross_entropy_with_logits", "labels", labels.dtype, {logits.dtype})
        pairs = list(zip(labels.dims, logits.dims))
        wrong = any(differ(a, b) and differ(a, 1) and differ(b, 1) for a, b in pairs)
        if wrong or not pairs or labels.ndim != logits.ndim:
            raise invalid(
                "TW204",
                f"softmax_cross_entropy_with_logits: labels have shape {labels.dims}, logits "
                f"{logits.dims}",
                "one shape, of rank 1 or more",
            )
        dims = tuple([broadcast(a, b) for a, b in pairs])
        return Aval(dims[:-1], logits.dtype)

    def numpy(labels, logits):
        x = _shifted(logits, -1)
        normalizer = np.log(np.add.reduce(np.exp(x), -1, keepdims=True))
        x = np.subtract(normalizer, x, out=x)
        x = np.multiply(x, labels, out=x if x.shape == labels.shape else None)
        return np.add.reduce(x, -1).astype(logits.dtype, copy=False)

    def vjp(g, z, labels, logits):
        g = with_last(g)
        axis = len(logits.dims) - 1
        return (
            lambda: _shaped(-(g * log_softmax(logits, axis=axis)), labels),
            lambda: _shaped(g * (softmax(logits, axis=axis) - labels), logits),
        )

    def jvp(t, z, labels, logits):
        axis = len(logits.dims) - 1
        by_labels = t[0] * log_softmax(logits, axis=axis)
        by_logits = t[1] * (softmax(logits, axis=axis) - labels)
        return _last_sum(by_logits - by_labels)

    def batch(size, batched, labels, logits):
        operands = [batch_to_front(size, x, b) for x, b in zip((labels, logits), batched)]
        return softmax_cross_entropy(*operands)

    memory = "reduce"
    samples = (
        Sample(np.array([[0.5, 0.25, 0.25], [0, 1, 0]], np.float32), [2, 3]),
        Sample(np.array([0.5, 0.5], np.float32), [2]),
        Sample(np.zeros((0, 3), np.float32), [0, 3]),
    )
    rejects = (Reject([2, 3], [2, 4], code="TW204"), Reject([], [], code="TW204"))


CLASSES = (
    Sample(np.array([0, 2], np.int32), [2, 3]),
    Sample(np.array(1, np.int64), [2]),
    Sample(np.zeros((0,), np.int32), [0, 3]),
)
NO_CLASSES = (
    Reject(np.array([0, 1, 1], np.int32), [2, 3], code="TW204"),
    Reject(np.array([0, 1], np.int8), [2, 3], code="TW102"),
)


def _infer_classes(labels, logits):
    name = "sparse_softmax_cross_entropy_with_logits"
    check_dtype(name, "logits", logits.dtype, FLOATING)
    check_dtype(name, "labels", labels.dtype, {int32, int64})
    if not logits.dims or dims_differ(labels.dims, logits.dims[:-1]):
        raise invalid(
            "TW204",
            f"{name}: labels have shape {labels.dims}, logits {logits.dims}",
            "the shape of logits without its last dimension",
        )


def _check_classes(labels, logits):
    """InvalidArgumentError unless every label is the number of a class."""
    classes = logits.shape[-1]
    unsigned = labels.view(f"u{labels.itemsize}")  # a negative number is a large one there
    if labels.size and np.maximum.reduce(unsigned, None) >= classes:
        wrong = (labels < 0) | (labels >= classes)
        bad = np.asarray(labels)[np.asarray(wrong)].reshape(-1)[0]
        raise invalid(
            "TW206",
            f"Received a label value of {bad} which is outside the valid range of [0, {classes}).",
            f"labels from 0 to {classes - 1}, for logits of shape {logits.shape}",
        )


def _is_class(t, labels, logits):
    """Whether an element of the logits is that of the label's class, for `expand` rules."""
    classes = logits.dims[-1]
    t.require(t.logical_and(t.greater_equal(labels, 0), t.less(labels, classes)))
    return t.apply(one_hot, labels, depth=classes, axis=len(labels.dims), dtype=bool_)


def _places(labels, classes):
    """Where x[..., label] stands in the flat x, for each label."""
    return np.arange(0, labels.size * classes, classes).reshape(labels.shape) + labels


@primitive
class sparse_softmax_cross_entropy:
    """z = -ln softmax(x)[l] along the last axis.   l [...] integers, x [..., c] -> [...].

    dz/dx = softmax(x) - one_hot(l).
    """

    operands = "labels logits"
    tf_type = "SparseSoftmaxCrossEntropyWithLogits"

    def infer(labels, logits):
        _infer_classes(labels, logits)
        return Aval(known_first(labels.dims, logits.dims), logits.dtype)

    def numpy(labels, logits):
        _check_classes(labels, logits)
        x = _shifted(logits, -1)
        chosen = x.take(_places(labels, x.shape[-1]))
        np.exp(x, out=x)
        result = np.log(np.add.reduce(x, -1)) - chosen
        return result.astype(logits.dtype, copy=False)

    def vjp(g, z, labels, logits):
        return None, with_last(g) * softmax_minus_one_hot(labels, logits)

    def jvp(t, z, labels, logits):
        return _last_sum(t[1] * softmax_minus_one_hot(labels, logits))

    no_gradient = {"labels": LABELS}

    def batch(size, batched, labels, logits):
        operands = [batch_to_front(size, x, b) for x, b in zip((labels, logits), batched)]
        return sparse_softmax_cross_entropy(*operands)

    def expand(t, labels, logits):
        axis = len(logits.dims) - 1
        x = _below_maximum(t, logits, axis)
        total = t.reduce_sum(t.exp(x), axes=(axis,), keepdims=False)
        chosen = t.select(_is_class(t, labels, logits), x, t.zeros_of(x))
        return t.sub(t.log(total), t.reduce_sum(chosen, axes=(axis,), keepdims=False))

    memory = "reduce"
    samples = CLASSES
    rejects = (*NO_CLASSES, Reject(np.array([0, 3], np.int32), [2, 3], code="TW206"))


@primitive
class softmax_minus_one_hot:
    """z = softmax(x) - one_hot(l), the cross entropy's derivative.  [...] [..., c] -> [..., c]."""

    operands = "labels logits"

    def infer(labels, logits):
        _infer_classes(labels, logits)
        return Aval(logits.dims, logits.dtype)

    def numpy(labels, logits):
        result = _softmax(logits, axis=-1)
        result.reshape(-1)[_places(labels, result.shape[-1]).reshape(-1)] -= 1
        return result

    def vjp(g, z, labels, logits):
        y = softmax(logits, axis=len(logits.dims) - 1)
        return None, y * (g - total(y * g, len(y.dims) - 1))

    def jvp(t, z, labels, logits):
        y = softmax(logits, axis=len(logits.dims) - 1)
        return y * (t[1] - total(y * t[1], len(y.dims) - 1))

    no_gradient = {"labels": LABELS}

    def batch(size, batched, labels, logits):
        operands = [batch_to_front(size, x, b) for x, b in zip((labels, logits), batched)]
        return softmax_minus_one_hot(*operands)

    def expand(t, labels, logits):
        y = softmax.lowering["expand"](t, logits, axis=len(logits.dims) - 1)
        return t.select(_is_class(t, labels, logits), t.sub(y, 1), y)

    memory = "reduce"
    samples = CLASSES
    rejects = NO_CLASSES


def _sigmoid_cross_entropy(labels, logits):
    result = np.log1p(np.exp(-np.abs(logits)))
    return result + (np.maximum(logits, 0) - logits * labels)


@elementwise(
    numpy=_sigmoid_cross_entropy,
    accepts=FLOATING,
    domain={"labels": (0, 1)},
    scalar=lambda s, l, x: s.log1p(s.exp(-s.abs(x))) + (s.maximum(x, 0) - x * l),
)
class sigmoid_cross_entropy:
    """z = max(x, 0) - x l + ln(1 + e^-|x|).   dz/dx = σ(x) - l,  dz/dl = -x."""

    operands = "labels logits"
    tf_name = "logistic_loss"

    def dlabels(z, labels, logits):
        return -logits

    def dlogits(z, labels, logits):
        return sigmoid(logits) - labels


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

    def numpy(x, b, *, axis):
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

    memory = "map"
    samples = (Sample([2, 3], [3], axis=1), Sample([2, 3, 2, 2], [3], axis=1),
               Sample([0, 3], [3], axis=1))  # fmt: skip
    rejects = (Reject([3], [3], axis=0, code="TW203"), Reject([2, 3], [2], axis=1, code="TW204"),
               Reject([2, 3], [1, 3], axis=1, code="TW203"))  # fmt: skip


__all__ = [
    "bias_add", "elu", "gelu", "leaky_relu", "log_softmax", "normal_cdf", "relu",
    "relu6", "selu", "sigmoid_cross_entropy", "softmax", "softmax_cross_entropy",
    "softmax_minus_one_hot", "sparse_softmax_cross_entropy",
]  # fmt: skip
