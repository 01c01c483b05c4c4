"""tf.__internal__: predicates and classes of values, as far as Keras uses them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from talweg.api.array.passing import get_static_value
from talweg.api.control import cond
from talweg.api.export import export, export_value
from talweg.core import dispatch
from talweg.core.errors import NeedsStaticError, type_error
from talweg.core.tracking import AutoTrackable, Trackable, no_automatic_dependency_tracking
from talweg.core.value import Operators, Tensor
from talweg.eager.tensor import EagerTensor
from talweg.eager.variable import Variable
from talweg.graph.contents import elements
from talweg.graph.function_graph import FunctionGraph
from talweg.graph.node import Node
from talweg.graph.symbol import Symbol, constant_of
from talweg.strategies.current import maybe_merge_call, strategy_supports_no_merge_call

export_value(EagerTensor, "__internal__.EagerTensor")
export_value(FunctionGraph, "__internal__.FuncGraph")
export_value(Operators, "__internal__.types.Tensor")
export_value(Trackable, "__internal__.tracking.Trackable")
export_value(AutoTrackable, "__internal__.tracking.AutoTrackable")
export_value(
    no_automatic_dependency_tracking, "__internal__.tracking.no_automatic_dependency_tracking"
)
export_value(maybe_merge_call, "__internal__.distribute.interim.maybe_merge_call")
export_value(
    strategy_supports_no_merge_call, "__internal__.distribute.strategy_supports_no_merge_call"
)


@export("__internal__.eager_context.eager_mode")
def eager_mode() -> contextlib.AbstractContextManager:
    """Return a block whose operations run at once, even inside a function that is traced."""
    return dispatch.eagerly()


@export("__internal__.tf2.enabled")
def tf2_enabled() -> bool:
    """Return whether TensorFlow 2's behaviour is in force."""
    return True


@export("__internal__.smart_cond.smart_cond")
def smart_cond(
    pred: Any, true_fn: Callable | None = None, false_fn: Callable | None = None, name: str = ""
) -> Any:
    """Return the result of `true_fn` or `false_fn`; only one is traced where the graph knows
    `pred`.

    pred: a bool, 0 or 1, or a tensor.  TypeError for functions that cannot be called, and for
    predicates of other types.

    >>> import talweg as tf
    >>> tf.__internal__.smart_cond.smart_cond(True, lambda: 1, lambda: 2)
    1
    """
    for function, what in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(function):
            raise type_error("TW104", f"Argument `{what}` must be callable. Received: {function}")
    known = smart_constant_value(pred)
    if known is None:
        return cond(pred, true_fn, false_fn)
    return true_fn() if known else false_fn()  # type: ignore[misc]


def _follows(node: Node, depth: int = 8) -> Any:
    """Compute the value of a node that follows from known sizes, as that of tf.shape(x)[-1] > 1;
    None.
    """
    if node.aval.dtype.is_integer and node.aval.dims == ():
        try:
            size = elements(node)[()]
        except NeedsStaticError:
            return None
        if type(size) is int:
            return node.aval.dtype.numpy_dtype.type(size)
    content = constant_of(node)
    if content is not None:
        return content.array
    if not depth or not node.prim.elementwise:
        return None
    values = [_follows(operand, depth - 1) for operand in node.operands]
    return None if any(x is None for x in values) else node.prim.numpy(*values, **node.params)


def smart_constant_value(pred: Any) -> bool | None:
    """Return the truth of a predicate; None where only running the graph gives it."""
    if isinstance(pred, (bool, int)) and pred in (0, 1):
        return bool(pred)
    if isinstance(pred, Variable):
        return None
    if isinstance(pred, (Tensor, Operators)):
        value = get_static_value(pred)
        if value is None and type(pred) is Symbol:
            value = _follows(pred.node)
        return None if value is None else bool(value)
    raise type_error(
        "TW104", f"Argument `pred` must be a Tensor, or a Python bool, or 1 or 0. Received: {pred}"
    )
