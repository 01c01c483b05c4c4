"""A clock for nested work: every nanosecond counts once, for the innermost thing under way."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, NamedTuple

MOST_EVENTS = 500_000  # kept for the trace; what is counted goes on


class Key(NamedTuple):
    """The key of a time: its kind, name and line."""

    kind: str  # operation, step, compiled, trace, compile, gradient
    name: str
    origin: Any  # the user's instruction, or None


@dataclass
class Spent:
    """The count and time of one key: without and with calls inside; bytes of results."""

    calls: int = 0
    own: int = 0  # nanoseconds
    whole: int = 0
    size: int = 0


class Event(NamedTuple):
    """An event that was timed."""

    key: Key
    thread: int
    start: int  # nanoseconds since the clock began
    length: int


class Clock:
    """Counts time by `Key`, in every thread."""

    def __init__(self) -> None:
        self.began = perf_counter_ns()
        self.ended: int | None = None
        self.spent: dict[Key, Spent] = {}
        self.events: list[Event] = []
        self.left_out = 0
        self.labels: dict[int, str] = {}  # what compiled programs are called, by identity
        self._local = threading.local()

    @property
    def stack(self) -> list[list[int]]:
        """The calls under way in this thread: their starts, and the time of calls inside."""
        try:
            return self._local.stack
        except AttributeError:
            found: list[list[int]] = []
            self._local.stack = found
            return found

    def enter(self) -> None:
        """Note that something begins."""
        self.stack.append([perf_counter_ns(), 0])

    def leave(self, key: Key, calls: int = 1, size: int = 0) -> int:
        """End the interval that began last; return its whole time."""
        now = perf_counter_ns()
        stack = self.stack
        start, inside = stack.pop()
        whole = now - start
        if stack:
            stack[-1][1] += whole
        spent = self.spent.get(key)
        if spent is None:
            spent = self.spent.setdefault(key, Spent())
        spent.calls += calls
        spent.own += whole - inside
        spent.whole += whole
        spent.size += size
        if len(self.events) < MOST_EVENTS:
            self.events.append(Event(key, threading.get_ident(), start - self.began, whole))
        else:
            self.left_out += 1
        return whole

    def stop(self) -> None:
        """Note that the program has ended."""
        self.ended = perf_counter_ns()

    @property
    def total(self) -> int:
        """Nanoseconds from begin to end."""
        return (self.ended or perf_counter_ns()) - self.began
