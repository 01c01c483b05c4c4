"""Functions that build several operations, and name them themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from talweg.core.tracebacks import boundary

F = TypeVar("F", bound=Callable[..., Any])


def as_it_is(function: F) -> F:
    """Let `export` leave a function alone: its result is not given the function's `name`.

    In a graph other functions label their result with the argument `name`, and are kept as one
    operation where they need sizes that are not known.  A function that makes variables or enters
    scopes does neither.
    """
    called: Any = boundary(function)
    called.in_eager_mode = function
    return called
