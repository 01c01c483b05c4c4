"""The strategy that a thread is in (`tf.distribute`), and the replica, if it is in one.

A thread has a stack of contexts; at its bottom is the default strategy, whose one replica
everything runs in.  The strategies themselves are in `strategies/`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

from talweg.core.errors import compose


class Contexts(threading.local):
    """The strategies a thread is in, each with its replica context or None; inner ones last."""

    bottom: ClassVar[Any] = None  # the default strategy of all threads, once it is made

    def __init__(self) -> None:
        self.stack: list[tuple[Any, Any]] = []
        self.traced: Any = None  # the context of the replica that is traced for all of them
        self.default: Any = None  # set by experimental_set_strategy


contexts = Contexts()


def strategy_in_force() -> Any:
    """Return the strategy that the thread is in; None where that is the default one."""
    present = contexts.stack[-1][0] if contexts.stack else contexts.default
    return None if present is Contexts.bottom else present


@contextlib.contextmanager
def enter(strategy: object, replica: object) -> Iterator[Any]:
    """Enter a strategy in the block: in a replica, or for all of them if `replica` is None."""
    contexts.stack.append((strategy, replica))
    try:
        yield strategy
    finally:
        contexts.stack.pop()


def check_alone(strategy: object) -> None:
    """Raise RuntimeError where another strategy is in force."""
    present = contexts.stack[-1][0] if contexts.stack else contexts.default
    if present is not None and present is not strategy:
        raise RuntimeError(
            compose(
                "TW510",
                f"Mixing different tf.distribute.Strategy objects: {present} is not {strategy}",
                "one strategy at a time",
            )
        )
