"""The registry of replacements of Python's built-in functions; `builtins.py` fills it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OVERLOADS: dict[Any, Callable[..., Any]] = {}


def overload(function: Callable[..., Any] | type[Any]) -> Callable[[Any], Any]:
    """Register the replacement of a builtin."""

    def register(own: Callable[..., Any]) -> Any:
        OVERLOADS[function] = own
        return own

    return register
