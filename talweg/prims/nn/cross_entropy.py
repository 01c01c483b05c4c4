"""Cross entropies of logits, and their derivatives.

As in softmax the maximum is taken out first, and 16-bit floats are computed in float32.
"""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import check_dtype, elementwise, primitive
from talweg.core.dims import broadcast, differ, dims_differ, same_dims
from talweg.core.dtypes import FLOATING, bool_, int32, int64
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.core.roles import Trait
from talweg.core.shapes import merge_equal_shapes
from talweg.prims.indexing import gather
from talweg.prims.layout import batch_to_front, reshape
from talweg.prims.nn.activations import (
    below_maximum,
    log_softmax,
    softmax,
    softmax_array,
    subtract_max,
    total,
)
from talweg.prims.reduce import narrow, reduce_sum, sum_like, widen
from talweg.prims.search import one_hot
from talweg.prims.transcendental import sigmoid

LABELS = NoGradient("a class number only chooses", "one-hot labels and the dense cross entropy")


def _sum_to_shape(g, x):
    """Return `g` summed to the shape of x, from which it may have been broadcast."""
    return g if same_dims(g.dims, x.dims) else sum_like(g, x)


def with_last(g):
    """Return `g` [...] as [..., 1]."""
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

    def numpy(labels: np.ndarray, logits):
        x = subtract_max(logits, -1)
        normalizer = np.log(np.add.reduce(np.exp(x), -1, keepdims=True))
        x = np.subtract(normalizer, x, out=x)
        x = np.multiply(x, labels, out=x if x.shape == labels.shape else None)
        return np.add.reduce(x, -1).astype(logits.dtype, copy=False)

    def vjp(g, z, labels, logits):
        g = with_last(g)
        axis = len(logits.dims) - 1
        return (
            lambda: _sum_to_shape(-(g * log_softmax(logits, axis=axis)), labels),
            lambda: _sum_to_shape(g * (softmax(logits, axis=axis) - labels), logits),
        )

    def jvp(t: tuple, z, labels, logits):
        axis = len(logits.dims) - 1
        by_labels = t[0] * log_softmax(logits, axis=axis)
        by_logits = t[1] * (softmax(logits, axis=axis) - labels)
        return _last_sum(by_logits - by_labels)

    def batch(size, batched, labels, logits):
        operands = [batch_to_front(size, x, b) for x, b in zip((labels, logits), batched)]
        return softmax_cross_entropy(*operands)

    def expand(t, labels, logits):
        axes, wide = (len(logits.dims) - 1,), widen(t, labels)
        below = below_maximum(t, widen(t, logits), -1)
        normalizer = t.log(t.reduce_sum(t.exp(below), axes=axes, keepdims=True))
        parts = t.mul(t.sub(normalizer, below), wide)
        return narrow(t, t.reduce_sum(parts, axes=axes, keepdims=False), logits.dtype)

    memory = "reduce"
    traits = {Trait.NORMALIZES}
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


def _check_classes(labels, logits: np.ndarray):
    """Raise InvalidArgumentError unless every label is the number of a class."""
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
    """Return whether an element of the logits is that of the label's class, for `expand` rules."""
    classes = logits.dims[-1]
    t.require_below(labels, classes)
    labels = t.cast(labels, dtype=int32)  # as wide as the logits: as many in a vector
    return t.apply(one_hot, labels, depth=classes, axis=len(labels.dims), dtype=bool_)


def _places(labels, classes):
    """Locate x[..., label] in the flat x, for each label."""
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
        return Aval(merge_equal_shapes(labels.dims, logits.dims), logits.dtype)

    def numpy(labels, logits):
        _check_classes(labels, logits)
        x = subtract_max(logits, -1)
        chosen = x.take(_places(labels, x.shape[-1]))
        np.exp(x, out=x)
        result = np.log(np.add.reduce(x, -1)) - chosen
        return result.astype(logits.dtype, copy=False)

    def vjp(g, z, labels, logits):
        return None, with_last(g) * softmax_minus_one_hot(labels, logits)

    def jvp(t: tuple, z, labels, logits):
        return _last_sum(t[1] * softmax_minus_one_hot(labels, logits))

    no_gradient = {"labels": LABELS}

    def batch(size, batched, labels, logits):
        operands = [batch_to_front(size, x, b) for x, b in zip((labels, logits), batched)]
        return sparse_softmax_cross_entropy(*operands)

    def expand(t, labels, logits):
        axes = (len(logits.dims) - 1,)
        x, axis = widen(t, logits), axes[0]
        top = t.reduce_max(x, axes=axes, keepdims=True)
        sums = t.reduce_sum(t.exp(t.sub(x, top)), axes=axes, keepdims=False)
        chosen = t.apply(gather, x, labels, axis=axis, batch_dims=axis)
        chosen = t.sub(chosen, t.reshape(top, shape=labels.dims))
        return narrow(t, t.sub(t.log(sums), chosen), logits.dtype)

    memory = "reduce"
    traits = {Trait.NORMALIZES}
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
        result = np.ascontiguousarray(softmax_array(logits, axis=-1))  # logits' order otherwise
        result.reshape(-1)[_places(labels, result.shape[-1]).reshape(-1)] -= 1
        return result

    def vjp(g, z, labels, logits):
        y = softmax(logits, axis=len(logits.dims) - 1)
        return None, y * (g - total(y * g, len(y.dims) - 1))

    def jvp(t: tuple, z, labels, logits):
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
    traits = {Trait.NORMALIZES}
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
