"""tf.compat.v1.metrics: means, errors and classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.compat_v1.metrics.state import MetricState, apply_weights, match_ranks, ratio, total
from talweg.core.dtypes import float32, float64, int64
from talweg.core.errors import value_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import TensorLike

Name = str | None


def _mean(
    x: object, weights: list[Any] | None, metrics: object, updates: object, name: str
) -> tuple:
    """Return the mean of all elements in all runs, as a metric."""
    metric = MetricState(name, metrics, updates)
    product, w = apply_weights(x, weights)
    metric.add(total(product), "total")
    metric.add(total(w), "count")
    return metric.give(ratio)


@export("compat.v1.metrics.mean")
def mean(
    values: TensorLike,
    weights: Any = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the weighted mean of all values so far, the operation that takes in more).

    As all metrics it is for graphs, and keeps what it needs in local variables.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.placeholder(tf.float32, [2])
    ...     value, update = tf.metrics.mean(x)
    ...     session.run(tf.local_variables_initializer())
    ...     for row in ([1.0, 2.0], [3.0, 6.0]):
    ...         _ = session.run(update, {x: row})
    ...     float(session.run(value))
    3.0
    """
    return _mean(values, weights, metrics_collections, updates_collections, name or "mean")


@export("compat.v1.metrics.mean_tensor")
def mean_tensor(
    values: TensorLike,
    weights: Any = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the weighted mean of each element, the update)."""
    metric = MetricState(name or "mean", metrics_collections, updates_collections)
    product, w = apply_weights(values, weights)
    metric.add(product, "total_tensor")
    metric.add(w, "count_tensor")
    return metric.give(ratio)


@export("compat.v1.metrics.accuracy")
def accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    weights: Any = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (how often predictions equal labels, the update)."""
    labels, predictions = match_ranks(labels, predictions)
    labels = look_up("cast")(labels, predictions.dtype)
    equal = look_up("equal")(predictions, labels)
    return _mean(equal, weights, metrics_collections, updates_collections, name or "accuracy")


@export("compat.v1.metrics.percentage_below")
def percentage_below(
    values: TensorLike,
    threshold: TensorLike,
    weights: Any = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the share of values below a threshold, the update)."""
    below = look_up("less")(values, threshold)
    label = name or "percentage_below_threshold"
    return _mean(below, weights, metrics_collections, updates_collections, label)


@export("compat.v1.metrics.mean_absolute_error")
def mean_absolute_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: Any = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the mean of |predictions - labels|, the update)."""
    labels, predictions = match_ranks(labels, predictions)
    error = look_up("abs")(predictions - look_up("cast")(labels, predictions.dtype))
    label = name or "mean_absolute_error"
    return _mean(error, weights, metrics_collections, updates_collections, label)


@export("compat.v1.metrics.mean_squared_error")
def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: Any = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the mean of (predictions - labels)², the update)."""
    labels, predictions = match_ranks(labels, predictions)
    error = look_up("square")(predictions - look_up("cast")(labels, predictions.dtype))
    label = name or "mean_squared_error"
    return _mean(error, weights, metrics_collections, updates_collections, label)


@export("compat.v1.metrics.root_mean_squared_error")
def root_mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: Any = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the root of the mean of (predictions - labels)², the update)."""
    labels, predictions = match_ranks(labels, predictions)
    error = look_up("square")(predictions - look_up("cast")(labels, predictions.dtype))
    metric = MetricState(
        name or "root_mean_squared_error", metrics_collections, updates_collections
    )
    product, w = apply_weights(error, weights)
    metric.add(total(product), "total")
    metric.add(total(w), "count")
    return metric.give(lambda s, n: look_up("sqrt")(ratio(s, n)))


@export("compat.v1.metrics.mean_relative_error")
def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the mean of |labels - predictions| / normalizer, the update)."""
    labels, predictions = match_ranks(labels, predictions)
    error = ratio(look_up("abs")(labels - predictions), normalizer)
    label = name or "mean_relative_error"
    return _mean(error, weights, metrics_collections, updates_collections, label)


@export("compat.v1.metrics.mean_cosine_distance")
def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the mean of 1 - the sum of products along an axis, the update)."""
    labels, predictions = match_ranks(labels, predictions)
    products = look_up("reduce_sum")(labels * predictions, dim, keepdims=True)
    if weights is not None:
        weights = look_up("convert_to_tensor")(weights, float32)
        if weights.shape.rank == (products.shape.rank or 0) - 1:
            weights = look_up("expand_dims")(weights, dim)
    metric = MetricState(name or "mean_cosine_distance", metrics_collections, updates_collections)
    product, w = apply_weights(products, weights)
    metric.add(total(product), "total")
    metric.add(total(w), "count")
    return metric.give(lambda s, n: 1.0 - ratio(s, n))


def _confusion(
    labels: object,
    predictions: object,
    classes: int,
    weights: list[Any] | None,
    metric: MetricState,
) -> None:
    reshape = look_up("reshape")
    flat = [look_up("cast")(reshape(x, [-1]), int64) for x in (labels, predictions)]
    if weights is not None:
        weights = reshape(look_up("convert_to_tensor")(weights), [-1])
    matrix = look_up("math.confusion_matrix")(*flat, classes, weights=weights, dtype=float64)
    metric.add(matrix, "total_confusion_matrix", float64)


@export("compat.v1.metrics.mean_iou")
def mean_iou(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the mean over classes of intersection over union, the confusion matrix as update)."""
    metric = MetricState(name or "mean_iou", metrics_collections, updates_collections)
    _confusion(labels, predictions, num_classes, weights, metric)

    def compute(matrix: Any) -> Any:
        rows, columns = (look_up("reduce_sum")(matrix, axis) for axis in (0, 1))
        hits = look_up("linalg.diag_part")(matrix)
        union = rows + columns - hits
        there = look_up("cast")(look_up("not_equal")(union, 0), float64)
        return look_up("cast")(ratio(total(ratio(hits, union)), total(there)), float32)

    return metric.give(compute, look_up("identity"))


@export("compat.v1.metrics.mean_per_class_accuracy")
def mean_per_class_accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the mean of the accuracies of the classes, the update)."""
    if num_classes < 1:
        raise value_error("TW207", f"num_classes is {num_classes}", "at least 1")
    label = name or "mean_accuracy"
    metric = MetricState(label, metrics_collections, updates_collections)
    hot = look_up("one_hot")(look_up("reshape")(labels, [-1]), num_classes)
    equal = look_up("cast")(look_up("equal")(*match_ranks(labels, predictions)), float32)
    if weights is not None:
        w = look_up("reshape")(look_up("cast")(weights, float32), [-1, 1])
        hot = hot * w
    hits = hot * look_up("reshape")(equal, [-1, 1])
    metric.add(look_up("reduce_sum")(hot, 0), "total")
    metric.add(look_up("reduce_sum")(hits, 0), "count")

    def accuracies(all_: Any, right: Any) -> Any:
        return ratio(right, all_)

    return metric.give(lambda *counts: look_up("reduce_mean")(accuracies(*counts)), accuracies)
