"""Functions that build several operations, and name them themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def as_it_is(function: F) -> F:
    """Let `export` leave a function alone: its result is not given the function's `name`.

    In a graph other functions label their result with the argument `name`, and are kept as one
    operation where they need sizes that are not known.  A function that makes variables or enters
    scopes does neither.
    """
    function.in_eager_mode = function  # type: ignore[attr-defined]
    return function
