"""Private names of TensorFlow's first generation, as TF-Slim imports them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from talweg.api.export import look_up
from talweg.compat_v1.metrics.state import match_ranks


@dataclass
class InputSpec:
    """Describes the inputs of a layer: dtype, shape, rank or its bounds, sizes of axes."""

    dtype: Any = None
    shape: Any = None
    ndim: int | None = None
    max_ndim: int | None = None
    min_ndim: int | None = None
    axes: dict[int, int | None] | None = None


def make_all(module_name: str, doc_string_modules: Any = None) -> list[str]:
    """Return the public names of a module."""
    return [name for name in vars(sys.modules[module_name]) if not name.startswith("_")]


def remove_undocumented(module_name: str, *args: Any, **kwargs: Any) -> None:
    """Take undocumented names out of a module: they may stay."""


def reveal_undocumented(symbol_name: str, target_module: Any = None) -> None:
    """Put an undocumented name back: it was not taken out."""


def remove_squeezable_dimensions(predictions: Any, labels: Any, weights: Any) -> tuple:
    """Squeeze a last axis of size 1 of predictions, labels or weights that the others have not."""
    predictions = look_up("convert_to_tensor")(predictions)
    if labels is not None:
        labels, predictions = match_ranks(labels, predictions)
    if weights is not None:
        weights = look_up("convert_to_tensor")(weights)
        if weights.shape.rank and weights.shape.rank - 1 == predictions.shape.rank:
            weights = look_up("squeeze")(weights, [-1])
    return predictions, labels, weights


def aggregate_variable(v: Any, collections: Any) -> Any:
    """Return a variable of a metric, which is its value; add it to collections."""
    if collections:
        look_up("compat.v1.add_to_collections")(collections, v)
    return v


def metric_variable(
    shape: Any, dtype: Any, validate_shape: bool = True, name: str | None = None
) -> Any:
    """Return a local variable of zeros in which a metric counts."""
    v1 = look_up("compat.v1")
    return v1.Variable(
        lambda: look_up("zeros")(shape, dtype),
        trainable=False,
        collections=[v1.GraphKeys.LOCAL_VARIABLES, v1.GraphKeys.METRIC_VARIABLES],
        validate_shape=validate_shape,
        name=name,
    )


def safe_scalar_div(numerator: Any, denominator: Any, name: str | None = None) -> Any:
    """Return a quotient; 0 where the denominator is not positive."""
    return look_up("math.divide_no_nan")(numerator, denominator)


def squeeze_labels(
    labels: Any, predictions: Any, expected_rank_diff: int = 0, name: str | None = None
) -> tuple:
    """Squeeze a last axis of size 1 of labels or predictions that the other has not."""
    return match_ranks(labels, predictions)
