"""Locks of what threads share: the values of variables, the traces of functions.

**Values.**  Whoever changes a variable holds its lock from the reading to the writing, so no update
is lost; a run of a program holds those of all variables that it writes (`Held`), and so is one
update of them all.  Readers hold nothing: values are replaced whole.  Only a run that writes into a
value in place takes it away from the variable first, and whoever reads it meanwhile waits.

A run that calls Python may wait there for another thread, which may want the same variable.  So the
variables that it writes have a `Patient` lock: a thread that has waited long for a run that is in
Python goes on without the lock.

**Turns.**  A `Turn` is held while a function is traced, in which anything may happen.  It is not
waited for where that would never end, because threads wait for each other in a circle.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from talweg.core import forks

PATIENCE = 5.0  # seconds in Python after which a run is not waited for
LOOKING = 0.05  # seconds after which whoever waits looks again

_locks: Any = weakref.WeakSet()  # those of variables
_turns = threading.Condition()  # held for moments, by whoever takes, waits for or gives back a turn
_waiting: dict[int, Turn] = {}  # thread -> what it waits for


def new_lock() -> Any:
    """A lock that a thread may take again, and that is free in a forked child."""
    made = threading.RLock()
    _locks.add(made)
    return made


class Patient:
    """A lock for variables that runs write which call Python."""

    __slots__ = ("lock", "run")

    def __init__(self, lock: Any):
        self.lock = lock
        self.run: Held | None = None  # the run that holds it

    def acquire(self) -> bool:
        """Take the lock, or go on without it if who has it has been in Python for long."""
        while not self.lock.acquire(timeout=LOOKING):
            since = None if self.run is None else self.run.since
            if since is not None and time.monotonic() - since > PATIENCE:
                return False
        return True

    def release(self) -> None:
        """Give the lock back, if this thread has it."""
        if self.lock._is_owned():
            self.lock.release()

    def _is_owned(self) -> bool:
        return False  # not so that values could be written in place: others may go on without it


class _Runs(threading.local):
    innermost: Held | None = None  # the run of this thread that calls Python


_runs = _Runs()


class Held:
    """The locks of the variables that a run of a program writes, all taken in one order."""

    __slots__ = ("outer", "patient", "since", "variables")

    def __init__(self, variables: Iterable[Any], calls_python: bool = False):
        self.variables: list = []
        self.since: float | None = None  # when it went into Python
        self.patient, self.outer = calls_python, _runs.innermost
        try:
            for variable in sorted(variables, key=id):
                lock = variable._lock
                if calls_python and type(lock) is not Patient:
                    lock = variable._lock = Patient(lock)
                lock.acquire()
                self.variables.append(variable)
                if calls_python:
                    lock.run = self
        except BaseException:
            self.release()
            raise
        if calls_python:
            _runs.innermost = self

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *error: Any) -> None:
        self.release()

    def release(self) -> None:
        """Give the locks back; a value that was taken away, and not replaced, is there again."""
        if self.patient:
            _runs.innermost = self.outer
        for variable in self.variables:
            if variable._taken is not None:
                variable.put_back()
            variable._lock.release()
        self.variables = []


def holding(*variables: Any) -> Held:
    """The locks of variables, held in a block."""
    return Held(variables)


def call_python(call: Callable[..., Any], operands: tuple) -> Any:
    """call(*operands), of which those know who wait for the run that this is a part of."""
    run = _runs.innermost
    if run is None:
        return call(*operands)
    before, run.since = run.since, time.monotonic()
    try:
        return call(*operands)
    finally:
        run.since = before


class Turn:
    """Who traces a function: a lock that a thread may take again, and that cannot lock for ever."""

    __slots__ = ("child", "count", "owner")

    def __init__(self) -> None:
        self.owner: int | None = None  # a thread
        self.count = self.child = 0

    def take(self) -> bool:
        """Wait for the turn and take it; False, and no turn, where threads wait in a circle."""
        me = threading.get_ident()
        with _turns:
            while not self._is_free(me):
                if self._leads_to(me):
                    return False
                _waiting[me] = self
                try:
                    _turns.wait()
                finally:
                    del _waiting[me]
            self.owner, self.child = me, _child[0]
            self.count += 1
        return True

    def give(self) -> None:
        """Give the turn back."""
        with _turns:
            self.count -= 1
            if not self.count:
                self.owner = None
                _turns.notify_all()

    def _is_free(self, me: int) -> bool:
        """Whether nobody else has it; a thread of the process that forked this one is nobody."""
        if self.owner is not None and self.owner != me and self.child != _child[0]:
            self.owner, self.count = None, 0
        return self.owner is None or self.owner == me

    def _leads_to(self, me: int) -> bool:
        """Whether who has it waits for somebody who waits ... for this thread."""
        turn: Turn | None = self
        while turn is not None and turn.owner is not None:
            if turn.owner == me:
                return True
            turn = _waiting.get(turn.owner)
        return False


_child = [0]  # how many forks lie before this process


def _forked() -> None:
    """In a forked child nobody holds anything but the thread that is there."""
    global _turns
    _child[0] += 1
    _turns = threading.Condition()
    _waiting.clear()
    for lock in list(_locks):
        if not lock._is_owned():
            lock._at_fork_reinit()


forks.in_child(_forked)
