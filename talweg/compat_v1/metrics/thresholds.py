"""tf.compat.v1.metrics of predictions: true and false ones, at one threshold or many."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export, look_up
from talweg.compat_v1.graphs import default_graph
from talweg.compat_v1.metrics.state import MetricState, apply_weights, flags, match_ranks, ratio
from talweg.core.dtypes import float32
from talweg.core.errors import value_error
from talweg.eager.graph_variable import take_update

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import TensorLike

Name = str | None
EPSILON, AREA_EPSILON = 1e-7, 1e-6  # TensorFlow's
KINDS = {
    "tp": "true_positives",
    "fn": "false_negatives",
    "tn": "true_negatives",
    "fp": "false_positives",
}


def _counts(
    metric: MetricState,
    labels: object,
    predictions: object,
    thresholds: list | None,
    weights: list[Any],
    kinds: str,
) -> None:
    """Make variables for true and false positives and negatives, those in `kinds`."""
    labels, predictions = match_ranks(labels, predictions)
    reshape = look_up("reshape")
    _, w = apply_weights(look_up("zeros_like")(labels, float32), weights)
    w = reshape(w, [1, -1])
    actual = reshape(flags(labels), [1, -1])
    if thresholds is None:
        guessed = reshape(flags(predictions), [1, -1])
    else:
        predictions = look_up("cast")(predictions, float32)
        text = "predictions must be in [0, 1]"
        below = look_up("debugging.assert_greater_equal")(predictions, 0.0, text)
        above = look_up("debugging.assert_less_equal")(predictions, 1.0, text)
        with default_graph().control_dependencies([below, above]):
            predictions = look_up("identity")(predictions)
        rows = look_up("constant")(np.array(thresholds, np.float32)[:, None])
        guessed = reshape(predictions, [1, -1]) > rows
    no = look_up("logical_not")
    both = look_up("logical_and")
    counters = {
        "tp": both(actual, guessed),
        "fn": both(actual, no(guessed)),
        "tn": both(no(actual), no(guessed)),
        "fp": both(no(actual), guessed),
    }
    for kind in kinds.split():
        change = look_up("reduce_sum")(look_up("cast")(counters[kind], float32) * w, 1)
        if thresholds is not None:
            metric.add(change, KINDS[kind])
        else:
            metric.add(change[0], "count" if kind == kinds else f"{KINDS[kind]}/count")


def _confusion_counts(
    name: str,
    given: tuple,
    thresholds: list[Any] | None,
    kinds: str,
    compute: Callable[..., Any],
) -> tuple:
    labels, predictions, weights, metrics, updates = given
    metric = MetricState(name, metrics, updates)
    rows = None if thresholds is None else [float(t) for t in thresholds]
    _counts(metric, labels, predictions, rows, weights, kinds)
    return metric.give(compute)


def confusion_matrix_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    includes: Sequence[str] | None = None,
) -> tuple[dict, dict]:
    """Count (what was found until now, the updates) for each of "tp", "fn", "tn" and "fp"."""
    kinds = list(KINDS) if includes is None else [str(kind) for kind in includes]
    metric = MetricState(None, None, None)
    _counts(metric, labels, predictions, list(thresholds), weights, " ".join(kinds))
    updates = [take_update(v.assign_add(x)) for v, x in zip(metric.variables, metric.changes)]
    values = [v.read_value() for v in metric.variables]
    return dict(zip(kinds, values)), dict(zip(kinds, updates))


@export("compat.v1.metrics.true_positives")
def true_positives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the number of true positives, the update)."""
    given = labels, predictions, weights, metrics_collections, updates_collections
    return _confusion_counts(name or "true_positives", given, None, "tp", lambda n: n)


@export("compat.v1.metrics.true_positives_at_thresholds")
def true_positives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Any,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the number of true positives at each threshold, the update)."""
    given = labels, predictions, weights, metrics_collections, updates_collections
    return _confusion_counts(name or "true_positives", given, thresholds, "tp", lambda n: n)


@export("compat.v1.metrics.false_negatives")
def false_negatives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the number of false negatives, the update)."""
    given = labels, predictions, weights, metrics_collections, updates_collections
    return _confusion_counts(name or "false_negatives", given, None, "fn", lambda n: n)


@export("compat.v1.metrics.false_negatives_at_thresholds")
def false_negatives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Any,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the number of false negatives at each threshold, the update)."""
    given = labels, predictions, weights, metrics_collections, updates_collections
    return _confusion_counts(name or "false_negatives", given, thresholds, "fn", lambda n: n)


@export("compat.v1.metrics.true_negatives")
def true_negatives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the number of true negatives, the update)."""
    given = labels, predictions, weights, metrics_collections, updates_collections
    return _confusion_counts(name or "true_negatives", given, None, "tn", lambda n: n)


@export("compat.v1.metrics.true_negatives_at_thresholds")
def true_negatives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Any,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the number of true negatives at each threshold, the update)."""
    given = labels, predictions, weights, metrics_collections, updates_collections
    return _confusion_counts(name or "true_negatives", given, thresholds, "tn", lambda n: n)


@export("compat.v1.metrics.false_positives")
def false_positives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the number of false positives, the update)."""
    given = labels, predictions, weights, metrics_collections, updates_collections
    return _confusion_counts(name or "false_positives", given, None, "fp", lambda n: n)


@export("compat.v1.metrics.false_positives_at_thresholds")
def false_positives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Any,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the number of false positives at each threshold, the update)."""
    given = labels, predictions, weights, metrics_collections, updates_collections
    return _confusion_counts(name or "false_positives", given, thresholds, "fp", lambda n: n)


@export("compat.v1.metrics.precision")
def precision(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Compute precision: (the share of positive predictions that are true, the update)."""
    given = labels, predictions, weights, metrics_collections, updates_collections
    return _confusion_counts(
        name or "precision", given, None, "tp fp", lambda a, b: ratio(a, a + b)
    )


@export("compat.v1.metrics.precision_at_thresholds")
def precision_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Any,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Compute precision at thresholds: (the shares of positive predictions that are true, the
    update).
    """
    given = labels, predictions, weights, metrics_collections, updates_collections
    return _confusion_counts(
        name or "precision_at_thresholds",
        given,
        thresholds,
        "tp fp",
        lambda a, b: a / (a + b + EPSILON),
    )


@export("compat.v1.metrics.recall")
def recall(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Compute recall: (the share of positives that were predicted, the update)."""
    given = labels, predictions, weights, metrics_collections, updates_collections
    return _confusion_counts(name or "recall", given, None, "tp fn", lambda a, b: ratio(a, a + b))


@export("compat.v1.metrics.recall_at_thresholds")
def recall_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Any,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Compute recall at thresholds: (the shares of positives that were predicted, the update)."""
    given = labels, predictions, weights, metrics_collections, updates_collections
    return _confusion_counts(
        name or "recall_at_thresholds",
        given,
        thresholds,
        "tp fn",
        lambda a, b: a / (a + b + EPSILON),
    )


def _thresholds(count: int) -> list[float]:
    """Return numbers from below 0 to above 1."""
    inner = [(i + 1) / (count - 1) for i in range(count - 2)]
    return [0.0 - EPSILON, *inner, 1.0 + EPSILON]


@export("compat.v1.metrics.auc")
def auc(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    curve: str = "ROC",
    name: Name = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[Any] | None = None,
) -> tuple:
    """Return (the area under a curve, the update).

    curve: "ROC" (recall over false alarms) or "PR" (precision over recall).  summation_method:
    "trapezoidal", "minoring", "majoring", or for PR "careful_interpolation" (Davis and Goadrich
    2006).  ValueError for others.
    """
    if curve not in ("ROC", "PR"):
        raise value_error("TW207", f"curve must be either ROC or PR, {curve} unknown")
    rows = _thresholds(num_thresholds) if thresholds is None else sorted(thresholds)
    if thresholds is not None:
        rows = [0.0 - EPSILON, *rows, 1.0 + EPSILON]
    area = (
        _careful if summation_method == "careful_interpolation" else _area(curve, summation_method)
    )
    given = labels, predictions, weights, metrics_collections, updates_collections
    return _confusion_counts(name or "auc", given, rows, "tp fn tn fp", area)


def _careful(tp: Any, fn: Any, tn: object, fp: Any) -> Any:
    """Compute the area under the curve of precision and recall, by Davis and Goadrich."""
    maximum = look_up("maximum")
    step = tp[:-1] - tp[1:]
    guessed = tp + fp
    slope = ratio(step, maximum(guessed[:-1] - guessed[1:], 0))
    intercept = tp[1:] - slope * guessed[1:]
    safe = look_up("where")(
        look_up("logical_and")(guessed[:-1] > 0, guessed[1:] > 0),
        ratio(guessed[:-1], maximum(guessed[1:], 0)),
        look_up("ones_like")(guessed[1:]),
    )
    parts = ratio(
        slope * (step + intercept * look_up("math.log")(safe)), maximum(tp[1:] + fn[1:], 0)
    )
    return look_up("reduce_sum")(parts)


def _area(curve: str, method: str) -> Callable[..., Any]:
    heights = {
        "trapezoidal": lambda y: (y[:-1] + y[1:]) / 2.0,
        "minoring": lambda y: look_up("minimum")(y[:-1], y[1:]),
        "majoring": lambda y: look_up("maximum")(y[:-1], y[1:]),
    }
    if method not in heights:
        raise value_error("TW207", f"Invalid summation_method: {method}", f"of {[*heights]}")

    def area(tp: Any, fn: object, tn: Any, fp: Any) -> Any:
        recall_ = (tp + AREA_EPSILON) / (tp + fn + AREA_EPSILON)
        if curve == "ROC":
            x, y = fp / (fp + tn + AREA_EPSILON), recall_
        else:
            x, y = recall_, (tp + AREA_EPSILON) / (tp + fp + AREA_EPSILON)
        return look_up("reduce_sum")((x[:-1] - x[1:]) * heights[method](y))

    return area


def _nearest(values: Any, wanted: float) -> Any:
    return look_up("argmin")(look_up("abs")(values - wanted), 0)


@export("compat.v1.metrics.sensitivity_at_specificity")
def sensitivity_at_specificity(
    labels: TensorLike,
    predictions: TensorLike,
    specificity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the recall at the threshold of a specificity, the update)."""

    def compute(tp: Any, fn: Callable[..., Any], tn: Any, fp: Any) -> Any:
        nearest = _nearest(tn / (tn + fp + EPSILON), specificity)
        return look_up("gather")(tp / (tp + fn + EPSILON), nearest)

    given = labels, predictions, weights, metrics_collections, updates_collections
    rows = _thresholds(num_thresholds)
    return _confusion_counts(
        name or "sensitivity_at_specificity", given, rows, "tp fn tn fp", compute
    )


@export("compat.v1.metrics.specificity_at_sensitivity")
def specificity_at_sensitivity(
    labels: TensorLike,
    predictions: TensorLike,
    sensitivity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    name: Name = None,
) -> tuple:
    """Return (the specificity at the threshold of a recall, the update)."""

    def compute(tp: Any, fn: Callable[..., Any], tn: Any, fp: Any) -> Any:
        apart = look_up("abs")(tp / (tp + fn + EPSILON) - sensitivity)
        best = look_up("equal")(apart, look_up("reduce_min")(apart))
        index = look_up("argmax")(look_up("cumsum")(look_up("cast")(best, float32)), 0)
        return look_up("gather")(tn / (tn + fp + EPSILON), index)

    given = labels, predictions, weights, metrics_collections, updates_collections
    rows = _thresholds(num_thresholds)
    return _confusion_counts(
        name or "specificity_at_sensitivity", given, rows, "tp fn tn fp", compute
    )
