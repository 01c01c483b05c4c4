"""tf.compat.v1.losses: weighted losses, listed in the collection LOSSES of the graph."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from talweg.api.arguments import require_sizes
from talweg.api.array.creating import ones_like
from talweg.api.array.sequences import range_ as range_of
from talweg.api.array.shapes import rank as rank_of
from talweg.api.array.shapes import shape as shape_of
from talweg.api.array.shapes import squeeze
from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.api.math import arithmetic
from talweg.api.math.arithmetic import absolute
from talweg.api.math.exponential import log
from talweg.api.math.reductions import reduce_sum
from talweg.api.nn import loss as nn
from talweg.api.nn.activation import relu
from talweg.api.tensors import cast
from talweg.compat_v1.graphs import default_graph
from talweg.compat_v1.variable_scopes import operation_scope
from talweg.compat_v1.variable_store import REGULARIZATION_LOSSES
from talweg.core import dispatch
from talweg.core.annotations import TensorLike
from talweg.core.dims import broadcast, differ
from talweg.core.dtypes import float32
from talweg.core.errors import NeedsStaticError, invalid, value_error
from talweg.eager.convert import convert_to_tensor
from talweg.prims.arithmetic import maximum, minimum, not_equal, stop_gradient
from talweg.prims.checking import require_same_shape
from talweg.trace.opaque_calls import call_in_graph

LOSSES = "losses"


@export("compat.v1.losses.Reduction")
class Reduction:
    """Names the reductions of weighted losses to one number."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple:
        """Return all of them."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """Check the name of a reduction; ValueError for others."""
        if key not in cls.all():
            raise value_error("TW207", f"Invalid Reduction Key {key}.", ", ".join(cls.all()))


BY_WEIGHTS = Reduction.SUM_BY_NONZERO_WEIGHTS


@contextlib.contextmanager
def _name_scope_of(scope: str | None, default: str) -> Iterator[None]:
    if dispatch.context.base is None:
        yield
        return
    with operation_scope(scope or default):
        yield


def _fitting(losses: Any, weights: Any) -> Any:
    """Return the weights;
    ValueError unless they are a scalar, or each size is 1 or that of the losses.
    """
    if weights.shape.rank == 0:
        return weights
    if None in (weights.shape.rank, losses.shape.rank):
        return call_in_graph(_fitting_in_a_run, (losses, weights), {})
    if not _fit(losses, weights):
        raise value_error("TW201", _misfit(losses, weights))
    together = tuple(map(broadcast, weights.dims, losses.dims))
    return require_sizes(weights, together, losses.dims, _misfit(losses, weights))


def _misfit(losses: Any, weights: Any) -> str:
    text = "weights can not be broadcast to values: weights.shape={}, values.shape={}"
    return text.format(weights.shape, losses.shape)


def _fitting_in_a_run(losses: Any, weights: Any) -> Any:
    if None in (weights.shape.rank, losses.shape.rank):
        raise NeedsStaticError("the ranks of weights and losses")
    if weights.shape.rank and not _fit(losses, weights):
        raise invalid("TW201", _misfit(losses, weights))
    return weights


def _fit(losses: Any, weights: Any) -> bool:
    unequal = any(differ(w, 1) and differ(w, n) for w, n in zip(weights.dims, losses.dims))
    return weights.shape.rank == losses.shape.rank and not unequal


@export("compat.v1.losses.compute_weighted_loss")
@as_it_is
def compute_weighted_loss(
    losses: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: Any = LOSSES,
    reduction: str = BY_WEIGHTS,
) -> Any:
    """Return losses times weights, as one number (or as they are with reduction NONE).

    weights: a scalar, or of the rank of the losses, each size equal or 1.  reduction: the sum, the
    sum divided by the number of losses, of weights that are not 0, or by the sum of the weights.
    0 where that is 0.  ValueError for weights that do not fit and other reductions.

    >>> import talweg.compat.v1 as tf
    >>> float(tf.losses.compute_weighted_loss([1.0, 2.0, 6.0], [1.0, 1.0, 0.0]))
    1.5
    """
    Reduction.validate(reduction)
    with _name_scope_of(scope, "weighted_loss"):
        losses = convert_to_tensor(losses)
        dtype, losses = losses.dtype, cast(losses, float32)
        weights = _fitting(losses, cast(convert_to_tensor(weights), float32))
        weighted = losses * weights
        if reduction != Reduction.NONE:
            weighted = reduce_sum(weighted)
            everywhere = ones_like(losses)
            if reduction == Reduction.MEAN:
                weighted = arithmetic.divide_no_nan(weighted, reduce_sum(everywhere * weights))
            elif reduction == BY_WEIGHTS:
                weighted = arithmetic.divide_no_nan(weighted, _count(everywhere, weights))
            elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                weighted = arithmetic.divide_no_nan(weighted, reduce_sum(everywhere))
        weighted = cast(weighted, dtype)
        add_loss(weighted, loss_collection)
        return weighted


def _count(everywhere: object, weights: object, axis: TensorLike | None = None) -> Any:
    """Count the losses whose weight is not 0."""
    present = cast(not_equal(weights, 0.0), float32) * everywhere
    return reduce_sum(present, axis, keepdims=axis is not None)


def _pair(
    labels: object, predictions: object, function: str, names: tuple = ("labels", "predictions")
) -> tuple[Any, Any]:
    """Convert labels and predictions to float32 tensors of one shape; ValueError for None."""
    for value, name in zip((labels, predictions), names):
        if value is None:
            raise value_error("TW401", f"{function}: Argument `{name}` must not be None.")
    predictions = cast(convert_to_tensor(predictions), float32)
    labels = cast(convert_to_tensor(labels), float32)
    _compare_shapes(predictions, labels, function)
    return labels, require_same_shape(predictions, labels, f"{function}: predictions, and labels")


def _compare_shapes(x: Any, y: Any, function: str) -> None:
    if not x.shape.is_compatible_with(y.shape):
        raise value_error("TW204", f"{function}: Shapes {x.shape} and {y.shape} are incompatible")


@export("compat.v1.losses.absolute_difference")
@as_it_is
def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: Any = LOSSES,
    reduction: str = BY_WEIGHTS,
) -> Any:
    """Return |predictions - labels|, weighted; see `compute_weighted_loss`.

    >>> import talweg.compat.v1 as tf
    >>> float(tf.losses.absolute_difference([1.0, 2.0], [2.0, 4.0]))
    1.5
    """
    with _name_scope_of(scope, "absolute_difference"):
        labels, predictions = _pair(labels, predictions, "absolute_difference")
        losses = absolute(predictions - labels)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


@export("compat.v1.losses.cosine_distance")
@as_it_is
def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: Any = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: Any = LOSSES,
    reduction: str = BY_WEIGHTS,
    dim: int | None = None,
) -> Any:
    """Return 1 - the product along `axis` of vectors of length 1, weighted.

    >>> import talweg.compat.v1 as tf
    >>> float(tf.losses.cosine_distance([[1.0, 0.0]], [[0.0, 1.0]], axis=1))
    1.0
    """
    axis = dim if axis is None else axis
    if axis is None:
        raise value_error("TW401", "cosine_distance: You must specify argument `axis`.")
    with _name_scope_of(scope, "cosine_distance_loss"):
        labels, predictions = _pair(labels, predictions, "cosine_distance")
        losses = 1.0 - reduce_sum(predictions * labels, (axis,), keepdims=True)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


@export("compat.v1.losses.hinge_loss")
@as_it_is
def hinge_loss(
    labels: Any,
    logits: Any,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: Any = LOSSES,
    reduction: str = BY_WEIGHTS,
) -> Any:
    """Return max(0, 1 - (2 labels - 1) logits), weighted; labels are 0 or 1.

    >>> import talweg.compat.v1 as tf
    >>> float(tf.losses.hinge_loss([1.0, 0.0], [0.5, 0.5]))
    1.0
    """
    with _name_scope_of(scope, "hinge_loss"):
        labels, logits = _pair(labels, logits, "hinge_loss", ("labels", "logits"))
        losses = relu(1.0 - (2.0 * labels - 1.0) * logits)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


@export("compat.v1.losses.huber_loss")
@as_it_is
def huber_loss(
    labels: Any,
    predictions: Any,
    weights: TensorLike = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: Any = LOSSES,
    reduction: str = BY_WEIGHTS,
) -> Any:
    """Return d² / 2 for differences d up to `delta`, linear beyond, weighted (Huber 1964).

    >>> import talweg.compat.v1 as tf
    >>> float(tf.losses.huber_loss([0.0], [3.0]))
    2.5
    """
    with _name_scope_of(scope, "huber_loss"):
        labels, predictions = _pair(labels, predictions, "huber_loss")
        error = absolute(predictions - labels)
        small = minimum(error, convert_to_tensor(delta, dtype=float32))
        losses = 0.5 * small * small + delta * (error - small)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


@export("compat.v1.losses.log_loss")
@as_it_is
def log_loss(
    labels: Any,
    predictions: Any,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: Any = LOSSES,
    reduction: str = BY_WEIGHTS,
) -> Any:
    """Return -labels log(p + epsilon) - (1 - labels) log(1 - p + epsilon), weighted; p:
    predictions.

    >>> import talweg.compat.v1 as tf
    >>> round(float(tf.losses.log_loss([1.0], [0.5])), 4)
    0.6931
    """
    with _name_scope_of(scope, "log_loss"):
        labels, predictions = _pair(labels, predictions, "log_loss")
        losses = -labels * log(predictions + epsilon) - (1.0 - labels) * log(
            1.0 - predictions + epsilon
        )
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


@export("compat.v1.losses.mean_squared_error")
@as_it_is
def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str = LOSSES,
    reduction: str = BY_WEIGHTS,
) -> Any:
    """Return (predictions - labels)², weighted; see `compute_weighted_loss`.

    >>> import talweg.compat.v1 as tf
    >>> float(tf.losses.mean_squared_error([1.0, 2.0], [2.0, 4.0]))
    2.5
    """
    with _name_scope_of(scope, "mean_squared_error"):
        labels, predictions = _pair(labels, predictions, "mean_squared_error")
        losses = arithmetic.squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


@export("compat.v1.losses.mean_pairwise_squared_error")
@as_it_is
def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str = LOSSES,
) -> Any:
    """Compute squared differences between pairs of differences in each example, with its weight.

    >>> import talweg.compat.v1 as tf
    >>> float(tf.losses.mean_pairwise_squared_error([[0.0, 1.0]], [[0.0, 3.0]]))
    4.0
    """
    with _name_scope_of(scope, "mean_pairwise_squared_error"):
        labels, predictions = _pair(labels, predictions, "mean_pairwise_squared_error")
        weights = cast(convert_to_tensor(weights), float32)
        gaps = predictions - labels
        weights = _fitting(gaps, weights)
        rank = gaps.shape.rank
        rest = range_of(1, rank_of(gaps)) if rank is None else tuple(range(1, rank))
        count = _count(ones_like(gaps), weights, rest)
        fewer = maximum(count - 1.0, 0.0)
        squares = reduce_sum(gaps * gaps, rest, keepdims=True)
        sums = reduce_sum(gaps, rest, keepdims=True)
        spread = arithmetic.divide_no_nan(squares, fewer) - arithmetic.divide_no_nan(
            sums * sums, count * fewer
        )
        difference = reduce_sum(2.0 * spread * weights)
        add_loss(difference, loss_collection)
        return difference


@export("compat.v1.losses.sigmoid_cross_entropy")
@as_it_is
def sigmoid_cross_entropy(
    multi_class_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: Any = LOSSES,
    reduction: str = BY_WEIGHTS,
) -> Any:
    """Return `tf.nn.sigmoid_cross_entropy_with_logits`, weighted; smoothing moves labels to 1/2.

    >>> import talweg.compat.v1 as tf
    >>> round(float(tf.losses.sigmoid_cross_entropy([1.0], [0.0])), 4)
    0.6931
    """
    with _name_scope_of(scope, "sigmoid_cross_entropy_loss"):
        logits = convert_to_tensor(logits)
        labels = cast(convert_to_tensor(multi_class_labels), logits.dtype)
        _compare_shapes(logits, labels, "sigmoid_cross_entropy")
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


@export("compat.v1.losses.softmax_cross_entropy")
@as_it_is
def softmax_cross_entropy(
    onehot_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str = LOSSES,
    reduction: str = BY_WEIGHTS,
) -> Any:
    """Return `tf.nn.softmax_cross_entropy_with_logits`, weighted; no gradient by the labels.

    >>> import talweg.compat.v1 as tf
    >>> round(float(tf.losses.softmax_cross_entropy([[1.0, 0.0]], [[0.0, 0.0]])), 4)
    0.6931
    """
    with _name_scope_of(scope, "softmax_cross_entropy_loss"):
        logits = convert_to_tensor(logits)
        labels = cast(convert_to_tensor(onehot_labels), logits.dtype)
        _compare_shapes(logits, labels, "softmax_cross_entropy")
        if label_smoothing > 0:
            classes = cast(shape_of(labels)[-1], logits.dtype)
            labels = labels * (1 - label_smoothing) + label_smoothing / classes
        losses = nn.softmax_cross_entropy_with_logits(stop_gradient(labels), logits)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


@export("compat.v1.losses.sparse_softmax_cross_entropy")
@as_it_is
def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str = LOSSES,
    reduction: str = BY_WEIGHTS,
) -> Any:
    """Return `tf.nn.sparse_softmax_cross_entropy_with_logits`, weighted.

    >>> import talweg.compat.v1 as tf
    >>> round(float(tf.losses.sparse_softmax_cross_entropy([1], [[0.0, 0.0]])), 4)
    0.6931
    """
    with _name_scope_of(scope, "sparse_softmax_cross_entropy_loss"):
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        weights = convert_to_tensor(weights)
        rank = logits.shape.rank
        if rank is not None and labels.shape.rank == rank and labels.shape.as_list()[-1] == 1:
            labels = squeeze(labels, [-1])
        if weights.shape.rank == rank and rank and weights.shape.as_list()[-1] == 1:
            weights = squeeze(weights, [-1])
        losses = nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


# -- lists of losses


@export("compat.v1.losses.add_loss")
@as_it_is
def add_loss(loss: TensorLike, loss_collection: Any = LOSSES) -> None:
    """Put a loss into a collection of the graph; nothing happens outside of graphs, or for None."""
    if loss_collection and dispatch.context.base is not None:
        default_graph().add_to_collection(loss_collection, loss)


@export("compat.v1.losses.get_losses")
@as_it_is
def get_losses(scope: str | None = None, loss_collection: Any = LOSSES) -> list[Any]:
    """Return the losses of a collection; scope: a pattern with which their names begin."""
    return default_graph().get_collection(loss_collection, scope)


@export("compat.v1.losses.get_regularization_losses")
@as_it_is
def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Return the regularization losses."""
    return default_graph().get_collection(REGULARIZATION_LOSSES, scope)


def _sum(losses: list, name: str) -> Any:
    if not losses:
        return convert_to_tensor(0.0)
    total = losses[0]
    for loss in losses[1:]:
        total = total + loss
    return total


@export("compat.v1.losses.get_regularization_loss")
@as_it_is
def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Any:
    """Compute the sum of the regularization losses; 0 if there are none."""
    return _sum(get_regularization_losses(scope), name)


@export("compat.v1.losses.get_total_loss")
@as_it_is
def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Any:
    """Compute the sum of the losses, and of the regularization losses if asked for.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     loss = tf.losses.mean_squared_error([1.0], [3.0])
    ...     float(session.run(tf.losses.get_total_loss()))
    4.0
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope)
    return _sum(losses, name)
