"""Dispatch of public functions: other functions, by their arguments, may answer in their place.

The question is put inside of a function when the first answer to it is there, so that nobody pays
before; every name of the function, in every module that took it, knows of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

WAITING: dict[str, Callable[[Any], None]] = {}  # what to do when a public name is exported


def ask_first(api: Any, question: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Wrap the function behind a public name: from now on `question(the function)` is called."""
    asking = functools.update_wrapper(question(api.in_eager_mode), api.in_eager_mode)
    place = api.__code__.co_freevars.index("function")
    api.__closure__[place].cell_contents = asking
    api.in_eager_mode = asking
