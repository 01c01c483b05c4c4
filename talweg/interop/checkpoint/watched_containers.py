"""Lists and dictionaries that tell a restore when they get more elements.

An empty list that becomes an attribute, for which a checkpoint has elements, is replaced by one of
these, so that what is appended has its value at once.  It is replaced only where nobody else refers
to it: who does would go on filling the other one.  (Those are looked at again from time to time.)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from talweg.core.tracking import DEFERRED, AutoTrackable


def _telling(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *args: object, **kwargs: object) -> Any:
        result = method(self, *args, **kwargs)
        self._tell()
        return result

    return call


def _nothing() -> None:
    """Do nothing: copies that functions on nests make report no change."""


class WatchedList(list):
    """A list that tells of its changes."""

    _tell: Callable[[], None] = staticmethod(_nothing)
    append = _telling(list.append)
    extend = _telling(list.extend)
    insert = _telling(list.insert)
    __iadd__ = _telling(list.__iadd__)
    __setitem__ = _telling(list.__setitem__)

    def __reduce_ex__(self, protocol: object) -> tuple:
        return list, (list(self),)


class WatchedDict(dict):
    """A dictionary that tells of its changes."""

    _tell: Callable[[], None] = staticmethod(_nothing)
    update = _telling(dict.update)
    setdefault = _telling(dict.setdefault)
    __ior__ = _telling(dict.__ior__)
    __setitem__ = _telling(dict.__setitem__)

    def __reduce_ex__(self, protocol: object) -> tuple:
        return dict, (dict(self),)


def watch_container(value: Any, tell: Callable[[], None]) -> Any:
    """Return a copy of a list or dictionary that calls `tell` after each change."""
    found = WatchedList(value) if type(value) is list else WatchedDict(value)
    found._tell = tell
    return found


def is_unshared(value: object) -> bool:
    """Return whether a new attribute is a list or dictionary that nothing else refers to.

    To be asked by `Deferred.accept_child`, of its argument: references are counted, and those on
    the way there are known from a try.
    """
    return type(value) in (list, dict) and sys.getrefcount(value) == UNSHARED


class _MutationCounter:
    """Stands where `Deferred` does, and counts as `is_unshared` would."""

    counts: list[int]

    def __init__(self) -> None:
        self.counts = []

    def accept_child(self, parent: AutoTrackable, name: str, value: list[Any]) -> None:
        """Count the references of a new child."""
        self._count(value)

    def _count(self, value: list[Any]) -> None:
        self.counts.append(sys.getrefcount(value))


def _references_on_the_way() -> int:
    """Return the count for an unshared list; one that never comes where sharing does not show."""
    probe, counter = AutoTrackable(), _MutationCounter()
    probe.__dict__[DEFERRED] = counter
    probe.unshared = []  # type: ignore[attr-defined]
    other: list = []
    probe.shared = other  # type: ignore[attr-defined]
    first, second = counter.counts
    return first if second > first else -1


UNSHARED = _references_on_the_way()
