"""Handlers to run when the process forks; systems without fork have nothing to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any


class Ancestry:
    """The number of forks between the first process and this one."""

    generation = 0


ancestry = Ancestry()


def around(lock: Any) -> None:
    """Take a lock before a fork, so that it is free in the child, and nothing half done."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )


def in_child(function: Callable[[], None]) -> None:
    """Call a function in each forked child."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def _reset_after_fork() -> None:
    ancestry.generation += 1


in_child(_reset_after_fork)
