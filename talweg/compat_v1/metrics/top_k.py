"""tf.compat.v1.metrics: precision and recall among the k best classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.compat_v1.metrics.state import MetricState, ratio, total
from talweg.compat_v1.values import SparseTensorValue
from talweg.core.dtypes import float64, int64
from talweg.eager.composite import SparseTensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import TensorLike

Name = str | None


def _classes(labels: object) -> Any:
    """Return classes [..., number of labels], -1 where there is none."""
    if isinstance(labels, SparseTensorValue):
        labels = SparseTensor(*labels)
    if isinstance(labels, SparseTensor):
        return look_up("cast")(look_up("sparse.to_dense")(labels, default_value=-1), int64)
    return look_up("cast")(labels, int64)


def _hits(labels: Any, places: Any, class_id: int | None) -> tuple:
    """Count (true positives, predicted classes, labels) for each row."""
    labels = _classes(labels)
    if labels.shape.rank is not None and labels.shape.rank < (places.shape.rank or 0):
        labels = look_up("expand_dims")(labels, -1)
    equal = look_up("equal")(places[..., :, None], labels[..., None, :])
    hits = look_up("reduce_any")(equal, -1)
    there = labels >= 0
    guessed = look_up("ones_like")(hits)
    if class_id is not None:
        own = look_up("equal")(places, class_id)
        hits, guessed = look_up("logical_and")(hits, own), own
        there = look_up("equal")(labels, class_id)
    cast = look_up("cast")
    sums = [look_up("reduce_sum")(cast(x, float64), -1) for x in (hits, guessed, there)]
    return tuple(sums)


def _metric(
    name: Name,
    places: object,
    labels: object,
    k: int | None,
    class_id: int | None,
    weights: list[Any] | None,
    collections: tuple,
    recall: bool,
) -> tuple:
    """Make the metric of hits among all labels (`recall`) or among all predictions."""
    at = f"at_{'k' if k is None else k}{'' if class_id is None else f'_class{class_id}'}"
    metric = MetricState(name or f"{'recall' if recall else 'precision'}_{at}", *collections)
    right, guessed, there = _hits(labels, places, class_id)
    w = 1.0 if weights is None else look_up("cast")(weights, float64)
    metric.add(total(right * w), f"true_positive_{at}", float64)
    kind = "negative" if recall else "positive"
    metric.add(total(((there if recall else guessed) - right) * w), f"false_{kind}_{at}", float64)
    return metric.give(lambda a, b: ratio(a, a + b))


def _best(predictions: object, k: int) -> Any:
    return look_up("cast")(look_up("math.top_k")(predictions, k)[1], int64)


@export("compat.v1.metrics.precision_at_k", "compat.v1.metrics.sparse_precision_at_k")
def precision_at_k(
    labels: TensorLike,
    predictions: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the share of the k best predictions that are labels, the update)."""
    both = metrics_collections, updates_collections
    return _metric(name, _best(predictions, k), labels, k, class_id, weights, both, False)


@export("compat.v1.metrics.precision_at_top_k")
def precision_at_top_k(
    labels: TensorLike,
    predictions_idx: TensorLike,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the share of predicted classes that are labels, the update)."""
    both = metrics_collections, updates_collections
    places = look_up("cast")(predictions_idx, int64)
    return _metric(name, places, labels, k, class_id, weights, both, False)


@export("compat.v1.metrics.recall_at_k")
def recall_at_k(
    labels: TensorLike,
    predictions: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the share of labels among the k best predictions, the update)."""
    both = metrics_collections, updates_collections
    return _metric(name, _best(predictions, k), labels, k, class_id, weights, both, True)


@export("compat.v1.metrics.recall_at_top_k")
def recall_at_top_k(
    labels: TensorLike,
    predictions_idx: TensorLike,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the share of labels among predicted classes, the update)."""
    both = metrics_collections, updates_collections
    places = look_up("cast")(predictions_idx, int64)
    return _metric(name, places, labels, k, class_id, weights, both, True)


@export(
    "compat.v1.metrics.average_precision_at_k", "compat.v1.metrics.sparse_average_precision_at_k"
)
def average_precision_at_k(
    labels: Any,
    predictions: TensorLike,
    k: int,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the mean of the precisions at 1 to k where there is a label, the update)."""
    metric = MetricState(
        name or f"average_precision_at_{k}", metrics_collections, updates_collections
    )
    labels, places = _classes(labels), _best(predictions, k)
    if labels.shape.rank is not None and labels.shape.rank < (places.shape.rank or 0):
        labels = look_up("expand_dims")(labels, -1)
    cast = look_up("cast")
    equal = look_up("equal")(places[..., :, None], labels[..., None, :])
    relevant = cast(look_up("reduce_any")(equal, -1), float64)
    precision = look_up("cumsum")(relevant, -1) / (look_up("range")(k, dtype=float64) + 1.0)
    count = look_up("reduce_sum")(cast(labels >= 0, float64), -1)
    precisions = ratio(
        look_up("reduce_sum")(precision * relevant, -1), look_up("minimum")(count, float(k))
    )
    w = look_up("ones_like")(precisions) * (1.0 if weights is None else cast(weights, float64))
    metric.add(total(w), "max_1", float64)  # TensorFlow's name, too
    metric.add(total(precisions * w), "total", float64)
    return metric.give(lambda most, sum_: ratio(sum_, most))
