"""What metrics keep between runs, and how they are told of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.export import look_up
from talweg.compat_v1.graphs import default_graph
from talweg.compat_v1.variable_store import LOCAL_VARIABLES
from talweg.core import dispatch
from talweg.core.dtypes import bool_, float32
from talweg.core.errors import value_error
from talweg.eager.graph_variable import take_update

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike

METRIC_VARIABLES = "metric_variables"


class MetricState:
    """The variables of one metric, and what is listed of it.

    `give` makes the pair that a metric is: its value now, and the operation that takes in what the
    run gives, with the value afterwards.
    """

    def __init__(self, name: str, metrics: Any, updates: Any):
        if dispatch.context.base is None:
            raise RuntimeError(
                f"tf.metrics.{name} is not supported when eager execution is enabled.  [TW503]"
            )
        self.scope, self.metrics, self.updates = default_graph().unique_name(name), metrics, updates
        self.variables: list = []
        self.changes: list = []

    def add(self, change: Any, name: str, dtype: DTypeLike = float32) -> None:
        """A variable that grows by `change` in each run."""
        shape = change.shape.as_list() if change.shape.is_fully_defined() else []
        variable = look_up("compat.v1.Variable")(
            look_up("zeros")(shape, dtype),
            trainable=False,
            collections=[LOCAL_VARIABLES, METRIC_VARIABLES],
            name=f"{self.scope}/{name}",
        )
        self.variables.append(variable)
        self.changes.append(look_up("cast")(change, dtype))

    def give(self, compute: Callable[..., Any], updated: Any = None) -> tuple:
        """(the value, the update, which gives the value after it or `updated`)."""
        value = compute(*[v.read_value() for v in self.variables])
        pairs = zip(self.variables, self.changes)
        grown = [take_update(v.assign_add(change)) for v, change in pairs]
        with default_graph().control_dependencies(grown):
            update = (updated or compute)(*[look_up("identity")(x) for x in grown])
        for collections, x in ((self.metrics, value), (self.updates, update)):
            for collection in collections or ():
                default_graph().add_to_collection(collection, x)
        return value, update


def apply_weights(x: Any, weights: list[Any] | None, dtype: DTypeLike = float32) -> tuple:
    """(x times its weights, the weights of all elements); ValueError if they do not fit."""
    x = look_up("cast")(x, dtype)
    if weights is None:
        return x, look_up("ones_like")(x)
    w = look_up("cast")(weights, dtype)
    pairs = zip(reversed(w.shape.as_list() if w.shape.rank else ()), reversed(x.shape.as_list()))
    if w.shape.rank == x.shape.rank and any(n not in (1, size, None) for n, size in pairs):
        raise value_error(
            "TW204", f"weights of shape {w.shape} can not be broadcast to values of {x.shape}"
        )
    while w.shape.rank is not None and 0 < w.shape.rank < (x.shape.rank or 0):
        w = look_up("expand_dims")(w, -1)
    w = w * look_up("ones_like")(x)
    return x * w, w


def total(x: object) -> Any:
    """The sum of all elements."""
    return look_up("reduce_sum")(x)


def ratio(x: object, y: object) -> Any:
    """x / y, 0 where y is 0."""
    return look_up("math.divide_no_nan")(x, y)


def flags(x: object) -> Any:
    """Whether elements are not zero."""
    return look_up("cast")(x, bool_)


def match_ranks(labels: object, predictions: object) -> tuple:
    """Labels and predictions of one rank; ValueError for shapes that do not fit."""
    convert = look_up("convert_to_tensor")
    labels, predictions = convert(labels), convert(predictions)
    a, b = labels.shape.rank, predictions.shape.rank
    if a is not None and b is not None and abs(a - b) == 1:
        larger = labels if a > b else predictions
        if larger.shape.as_list()[-1] == 1:
            larger = look_up("squeeze")(larger, [-1])
            labels, predictions = (larger, predictions) if a > b else (labels, larger)
    if not labels.shape.is_compatible_with(predictions.shape):
        raise value_error(
            "TW204", f"labels of shape {labels.shape}, predictions of {predictions.shape}", "alike"
        )
    return labels, predictions
