"""tf.compat.v1.metrics: precision and recall among the k best classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.compat_v1.metrics.state import MetricState, ratio, total
from talweg.compat_v1.values import SparseTensorValue
from talweg.core.dtypes import float64, int64
from talweg.core.errors import value_error
from talweg.eager.composite import SparseTensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import TensorLike

Name = str | None
ABSENT = -(2**63)  # no class


def _classes(labels: object) -> Any:
    """Return classes [..., number of labels], `ABSENT` where a sparse row has no more."""
    if isinstance(labels, SparseTensorValue):
        labels = SparseTensor(*labels)
    if isinstance(labels, SparseTensor):
        wide = look_up("sparse.map_values")(look_up("cast"), labels, int64)
        return look_up("sparse.to_dense")(wide, default_value=ABSENT)
    return look_up("cast")(labels, int64)


def _match_rank(labels: Any, places: Any) -> Any:
    """Give labels of one class for each row the last axis that those of many classes have."""
    if labels.shape.rank is not None and labels.shape.rank < (places.shape.rank or 0):
        return look_up("expand_dims")(labels, -1)
    return labels


def _select_members(classes: Any, class_id: int | None) -> Any:
    """Mark the first of equal classes in each row (rows are sets), of those that are wanted."""
    equal, both = look_up("equal"), look_up("logical_and")
    same = equal(classes[..., :, None], classes[..., None, :])
    rank = look_up("range")(look_up("shape")(classes)[-1])
    again = look_up("reduce_any")(both(same, rank < rank[:, None]), -1)
    members = both(look_up("logical_not")(again), look_up("not_equal")(classes, ABSENT))
    return members if class_id is None else both(members, equal(classes, class_id))


def _count_members(members: Any) -> Any:
    return look_up("reduce_sum")(look_up("cast")(members, float64), -1)


def _hits(labels: Any, places: Any, class_id: int | None) -> tuple:
    """Count (true positives, predicted classes, labels) for each row, as sets."""
    labels = _match_rank(_classes(labels), places)
    guessed = _select_members(places, class_id)
    equal = look_up("equal")(places[..., :, None], labels[..., None, :])
    hits = look_up("logical_and")(look_up("reduce_any")(equal, -1), guessed)
    there = _select_members(labels, class_id)
    return _count_members(hits), _count_members(guessed), _count_members(there)


def _weigh(counts: Any, weights: Any) -> Any:
    """Multiply the counts of rows by weights: one for all, or one for each row.

    ValueError if the weights fit neither, InvalidArgumentError where only a run knows it.
    """
    if weights is None:
        return counts
    weights = look_up("cast")(weights, float64)
    return counts * look_up("__internal__.ops.broadcast_weights")(weights, counts)


def _check_places(places: Any) -> None:
    """Raise ValueError if there is no axis of rows."""
    if places.shape.rank is not None and places.shape.rank < 2:
        text = f"predictions_idx has shape {places.shape}"
        raise value_error("TW204", text, "[..., k], of two axes or more")


def _metric(
    name: Name,
    places: Any,
    labels: object,
    k: int | None,
    class_id: int | None,
    weights: Any,
    collections: tuple,
    recall: bool,
) -> tuple:
    """Make the metric of hits among all labels (`recall`) or among all predictions.

    NaN where there is nothing to divide by, as in TensorFlow.
    """
    _check_places(places)
    at = f"at_{'k' if k is None else k}{'' if class_id is None else f'_class{class_id}'}"
    metric = MetricState(name or f"{'recall' if recall else 'precision'}_{at}", *collections)
    right, guessed, there = _hits(labels, places, class_id)
    metric.add(total(_weigh(right, weights)), f"true_positive_{at}", float64)
    wrong = (there if recall else guessed) - right
    kind = "negative" if recall else "positive"
    metric.add(total(_weigh(wrong, weights)), f"false_{kind}_{at}", float64)
    return metric.give(lambda a, b: a / (a + b))


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
    both = metrics_collections, updates_collections
    predictions = look_up("convert_to_tensor")(predictions)
    places = _best(predictions, k)
    name = name or f"average_precision_at_{k}"
    count = predictions.shape.as_list()[-1]
    return _average_precision(name, places, labels, weights, both, count)


def average_precision_at_top_k(
    labels: Any,
    predictions_idx: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return `average_precision_at_k` of predictions that are classes [..., k], best first."""
    both = metrics_collections, updates_collections
    places = look_up("cast")(predictions_idx, int64)
    return _average_precision(name or "average_precision", places, labels, weights, both)


def _average_precision(
    name: str,
    places: Any,
    labels: object,
    weights: Any,
    collections: tuple,
    class_count: int | None = None,
) -> tuple:
    """Make the metric: precisions at the places of labels, over the number of labels or places.

    As in TensorFlow a dense row counts its labels that are classes, a sparse row its different
    labels, where all that are no classes are one.
    """
    metric = MetricState(name, *collections)
    _check_places(places)
    k = places.shape.as_list()[-1]
    if k is None:
        raise value_error("TW205", f"predictions_idx has shape {places.shape}", "a known k")
    is_sparse = isinstance(labels, (SparseTensor, SparseTensorValue))
    classes = _match_rank(_classes(labels), places)
    if class_count is not None:
        is_class = (classes >= 0) & (classes < class_count)
        out = look_up("not_equal")(classes, ABSENT) & look_up("logical_not")(is_class)
        classes = look_up("where")(out, look_up("constant")(-1, int64), classes)
    equal = look_up("equal")(places[..., :, None], classes[..., None, :])
    relevant = look_up("cast")(look_up("reduce_any")(equal, -1), float64)
    precision = look_up("cumsum")(relevant, -1) / (look_up("range")(k, dtype=float64) + 1.0)
    there = _select_members(classes, None) if is_sparse else classes >= 0
    count = look_up("minimum")(_count_members(there), float(k))
    precisions = look_up("reduce_sum")(precision * relevant, -1) / count
    metric.add(total(_weigh(look_up("ones_like")(precisions), weights)), "max_1", float64)
    metric.add(total(_weigh(precisions, weights)), "total", float64)
    return metric.give(lambda most, sum_: ratio(sum_, most))
