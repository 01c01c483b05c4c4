"""Variables of metrics, which keep their sums between runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import require_sizes
from talweg.api.export import look_up
from talweg.compat_v1.graphs import default_graph
from talweg.compat_v1.variable_store import LOCAL_VARIABLES
from talweg.core import dispatch
from talweg.core.dims import broadcast, differ
from talweg.core.dtypes import bool_, float32
from talweg.core.errors import NeedsStaticError, invalid, value_error
from talweg.eager.graph_variable import take_update
from talweg.trace.opaque_calls import call_in_graph

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike

METRIC_VARIABLES = "metric_variables"


class MetricState:
    """Holds the variables of one metric, and the collections it belongs to.

    `give` makes the pair that a metric is: its value now, and the operation that takes in what the
    run gives, with the value afterwards.  Without a name it is in the scope that is open.
    """

    def __init__(self, name: str | None, metrics: Any, updates: Any):
        if dispatch.context.base is None:
            raise RuntimeError(
                f"tf.metrics.{name} is not supported when eager execution is enabled.  [TW503]"
            )
        name = name or f"{default_graph().get_name_scope()}/"
        with look_up("compat.v1.name_scope")(name) as self.scope:  # of its own, ends in a slash
            self.metrics, self.updates = metrics, updates
        self.variables: list = []
        self.changes: list = []

    def add(self, change: Any, name: str, dtype: DTypeLike = float32) -> None:
        """Add a variable that grows by `change` in each run."""
        shape = change.shape.as_list() if change.shape.is_fully_defined() else []
        with look_up("compat.v1.name_scope")(self.scope):
            variable = look_up("compat.v1.Variable")(
                look_up("zeros")(shape, dtype),
                trainable=False,
                collections=[LOCAL_VARIABLES, METRIC_VARIABLES],
                name=name,
            )
        self.variables.append(variable)
        self.changes.append(look_up("cast")(change, dtype))

    def give(self, compute: Callable[..., Any], updated: Any = None) -> tuple:
        """Return (the value, the update, which gives the value after it or `updated`)."""
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
    """Multiply: (x times its weights, the weights of all elements); ValueError if they do not
    fit.
    """
    x = look_up("cast")(x, dtype)
    if weights is None:
        return x, look_up("ones_like")(x)
    w = look_up("cast")(weights, dtype)
    if w.shape.rank != 0:
        run = None in (w.shape.rank, x.shape.rank)
        w = call_in_graph(_fit_in_a_run, (w, x), {}) if run else _fit_weights(w, x, value_error)
    w = w * look_up("ones_like")(x)
    return x * w, w


def _fit_weights(w: Any, x: Any, error: Callable[..., Exception]) -> Any:
    """Return weights in the rank of x; `error` unless each size is 1 or that of x."""
    rank, wanted = w.shape.rank, x.shape.rank
    if rank == wanted + 1:
        w = look_up("squeeze")(w, [-1])
    while 0 < w.shape.rank < wanted:
        w = look_up("expand_dims")(w, -1)
    text = f"weights of shape {w.shape} can not be broadcast to values of {x.shape}"
    pairs = list(zip(w.dims, x.dims))
    if w.shape.rank not in (0, wanted) or any(differ(n, 1) and differ(n, m) for n, m in pairs):
        raise error("TW204", text)
    return require_sizes(w, tuple([broadcast(n, m) for n, m in pairs]), x.dims, text)


def _fit_in_a_run(w: Any, x: Any, validate: bool = True) -> Any:
    """Return the weights that fit x; without `validate`, for a trial of ranks, something alike."""
    _require_ranks(w, x)
    if not validate:
        return look_up("zeros_like")(x, w.dtype)
    return w if w.shape.rank == 0 else _fit_weights(w, x, invalid)


def _require_ranks(*values: Any) -> None:
    if None in [x.shape.rank for x in values]:
        raise NeedsStaticError("the ranks of labels, predictions and weights")


def total(x: object) -> Any:
    """Return the sum of all elements."""
    return look_up("reduce_sum")(x)


def ratio(x: object, y: object) -> Any:
    """Compute x / y, 0 where y is 0."""
    return look_up("math.divide_no_nan")(x, y)


def flags(x: object) -> Any:
    """Return whether elements are not zero."""
    return look_up("cast")(x, bool_)


def match_ranks(labels: object, predictions: object) -> tuple:
    """Squeeze labels and predictions to one rank; ValueError for shapes that do not fit.

    Where only a run knows them, it is InvalidArgumentError.
    """
    convert = look_up("convert_to_tensor")
    labels, predictions = convert(labels), convert(predictions)
    if None in (labels.shape.rank, predictions.shape.rank):
        return tuple(call_in_graph(_match_in_a_run, (labels, predictions), {}))
    return _match(labels, predictions, value_error)


def _match_in_a_run(labels: Any, predictions: Any) -> tuple:
    _require_ranks(labels, predictions)
    return _match(labels, predictions, invalid)


def _match(labels: Any, predictions: Any, error: Callable[..., Exception]) -> tuple:
    a, b = labels.shape.rank, predictions.shape.rank
    if abs(a - b) == 1:
        larger = labels if a > b else predictions
        if larger.shape.as_list()[-1] in (1, None):
            larger = look_up("squeeze")(larger, [-1])
            labels, predictions = (larger, predictions) if a > b else (labels, larger)
    text = f"labels of shape {labels.shape}, predictions of {predictions.shape}"
    if not labels.shape.is_compatible_with(predictions.shape):
        raise error("TW204", text, "alike")
    return require_sizes(labels, labels.dims, predictions.dims, text), predictions
