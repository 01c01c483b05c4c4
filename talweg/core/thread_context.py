"""The context that a worker thread takes over from the thread it works for: its scopes.

A module that keeps what is in force in a thread registers its `threading.local`.  A replica of a
program (`tf.distribute`) runs in a thread of its own, and yet is part of the program.
"""

from __future__ import annotations

import threading
from typing import TypeVar

CARRIED: list[threading.local] = []

T = TypeVar("T", bound=threading.local)


def carry_context(own: T) -> T:
    """Let threads that work for another one begin with what this holds there."""
    CARRIED.append(own)
    return own


class ThreadContext:
    """A copy of the dispatch context of the thread that makes it."""

    def __init__(self) -> None:
        self._values = [dict(vars(own)) for own in CARRIED]

    def take_over(self) -> None:
        """Let it be in force in the present thread too."""
        for own, values in zip(CARRIED, self._values):
            vars(own).update(values)
