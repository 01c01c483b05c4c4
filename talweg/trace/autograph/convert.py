"""The interface of AutoGraph to the other packages."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from talweg.core.tracebacks import pass_out
from talweg.trace.autograph.calls import as_called, convert_root, converted_call
from talweg.trace.autograph.operators import RECURSIVE
from talweg.trace.autograph.status import converting, status

OPERATORS = RECURSIVE  # imported so that it is there when the first function is converted


def convert_function(function: Callable[..., Any], printing: bool = False) -> Callable[..., Any]:
    """Convert `function` and its callees: control flow on tensors becomes graph control flow.

    printing: whether `print` of tensors prints their values, whenever the graph runs.
    """

    def call(*args: object, **kwargs: object) -> Any:
        before = status.converting, status.printing
        status.converting, status.printing = True, printing
        try:
            convert_root(function)
            return converted_call(function, args, kwargs)
        except Exception as error:
            pass_out(error)
            raise
        finally:
            status.converting, status.printing = before

    return _name_like(call, function)


def prints_values(features: Any) -> bool:
    """Return whether these `Feature`s, or this one, make `print` of tensors a part of the graph."""
    asked = features if isinstance(features, (list, tuple, set, frozenset)) else (features,)
    names = {getattr(feature, "name", None) for feature in asked}
    return bool(names & {"ALL", "BUILTIN_FUNCTIONS"})


def print_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a converted function in which `print` of tensors is a part of the graph."""

    def call(*args: object, **kwargs: object) -> Any:
        before, status.printing = status.printing, True
        try:
            return function(*args, **kwargs)
        finally:
            status.printing = before

    return _name_like(call, function)


def do_not_convert_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `function` so that neither it nor its callees are converted."""

    def call(*args: object, **kwargs: object) -> Any:
        with converting(False):
            return function(*args, **kwargs)

    return _name_like(call, function)


def adopt_function(function: Callable[..., Any]) -> Any:
    """Convert a callback of talweg's functions (`tf.map_fn`, `tf.cond`) as its caller is.

    Converted if the code that gives it is.
    """
    return as_called(function) if status.converting else function


def _name_like(call: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """Give `call` the name and signature of `function`."""
    return functools.update_wrapper(call, function, updated=())
