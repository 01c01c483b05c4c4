"""Fallback dispatchers, asked where a public function refuses its arguments.

Keras 2 makes layers of functions that are called with its symbolic tensors: the function fails, and
what was registered here (`tf.__internal__.dispatch.GlobalOpDispatcher`) is asked.  Nobody pays
before something fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.core.hooks import hooks

NOT_SUPPORTED = object()
FALLBACKS: list[Any] = []  # objects with handle(function, args, kwargs)
REFUSALS = (TypeError, ValueError, NotImplementedError, AttributeError)
OPERATORS = {  # hook of an operator -> the public function that it is
    "add": "__operators__.add",
    "subtract": "math.subtract",
    "multiply": "math.multiply",
    "truediv": "math.truediv",
    "floordiv": "math.floordiv",
    "mod": "math.floormod",
    "pow": "math.pow",
    "matmul": "linalg.matmul",
    "bitwise_and": "math.logical_and",
    "bitwise_or": "math.logical_or",
    "bitwise_xor": "math.logical_xor",
    "negative": "math.negative",
    "abs": "math.abs",
    "invert": "math.logical_not",
    "less": "math.less",
    "less_equal": "math.less_equal",
    "greater": "math.greater",
    "greater_equal": "math.greater_equal",
    "equal_operator": "__operators__.eq",
    "not_equal_operator": "__operators__.ne",
    "getitem": "__operators__.getitem",
}


def fall_back(error: Exception, function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Return another library's result of a call that failed; NOT_SUPPORTED if none has one."""
    if isinstance(error, REFUSALS) and not hasattr(function, "is_hook"):
        for dispatcher in FALLBACKS:
            found = dispatcher.handle(function, args, kwargs)
            if found is not NOT_SUPPORTED:
                return found
    return NOT_SUPPORTED


def operator_falls_back(error: Exception, operation: str, *operands: object) -> Any:
    """Fall back as `fall_back` does, for a Python operator."""
    return fall_back(error, hooks.look_up_export(OPERATORS[operation]), operands, {})
