"""Which of Python's own functions do something else in converted code; `builtins.py` fills it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OVERLOADS: dict[Any, Callable[..., Any]] = {}


def overload(function: Callable[..., Any] | type[Any]) -> Callable[[Any], Any]:
    """Register what is called in the place of a builtin."""

    def register(own: Callable[..., Any]) -> Any:
        OVERLOADS[function] = own
        return own

    return register
