"""Locks for state that threads share: the values of variables, the traces of functions.

**Values.**  A thread that changes a variable from what it is *holds* it meanwhile: the thread is
`variable._held`, None otherwise.  A run of a program holds all variables that it writes, and so is
one update of them all (`hold`).  Readers hold nothing: values are replaced whole.  Only a run that
writes into a value in place takes it away from the variable first (`variable._taken`), and who
reads it meanwhile waits.

That a variable is free and that one takes it, or replaces its value, is tested and done in one
statement, `if v._held is None: v._held = me`.  No thread comes in between: CPython lets others run
at calls and jumps backwards only.  Locks would make eager updates slower by a tenth.

A run that calls Python may wait there for another thread, which may want the same variable.  Such
a run (`eager/long_runs.py: LongRun`) has an entry in `_in_python` meanwhile.  Who reads a variable
that it writes in place is given a copy at once.  Who has waited for `PATIENCE` to change one takes
it over; the run adds its own change to that one's when it comes back, and never holds again.

**Turns.**  A `Turn` is held while a function is traced, in which anything may happen.  It is not
waited for where that would never end, because threads wait for each other in a circle.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from threading import get_ident
from typing import Any, TypeVar

from talweg.core import forks

Made = TypeVar("Made")

PATIENCE = 5.0  # seconds in Python after which what a run holds is taken over
LOOKING = 0.05  # seconds after which whoever waits looks again

_locks: Any = weakref.WeakSet()  # to be free in a forked child
_changed = threading.Condition()  # told when a variable is free that somebody waits for
_waiters = [0]  # how many threads wait for variables
_in_python: dict[int, tuple] = {}  # thread -> its runs that are in Python, outer before inner
_turns = threading.Condition()  # held for moments, by whoever takes, waits for or gives back a turn
_waiting: dict[int, Turn] = {}  # thread -> the turn that it waits for


def new_lock() -> Any:
    """Return a lock that a thread may take again, and that is free in a forked child."""
    made = threading.RLock()
    _locks.add(made)
    return made


def once(make: Callable[[], Made]) -> Callable[[], Made]:
    """Return `make`, which one thread carries out, once: what native code points at, nobody may
    replace.

    `functools.cache` keeps what the last of several threads has made, and drops the others'.
    """
    lock, made = new_lock(), []

    @functools.wraps(make)
    def get() -> Made:
        if not made:
            with lock:
                if not made:
                    made.append(make())
        return made[0]

    get.made = made  # type: ignore[attr-defined] -- empty until then
    return get


class _ThreadRuns(threading.local):
    inner: Any = None  # the innermost of this thread that may call Python
    beside: Any = None  # what calls a function of the user, or has its result already


runs = _ThreadRuns()


def hold(variables: list) -> list:
    """Hold variables, all threads in one order; gives those that were not held by this thread."""
    me, taken = get_ident(), []
    if len(variables) > 1:
        variables.sort(key=id)
    try:
        for variable in variables:
            if variable._held is None:
                variable._held = me
            elif variable._held == me:  # Python that is called from a run
                if variable._taken is not None:
                    wait_to_read(variable)
                continue
            else:
                _wait_for(variable, me)
            taken.append(variable)
    except BaseException:
        let_go(taken)
        raise
    return taken


def let_go(variables: list) -> None:
    """Let variables be free; a value that was taken away, and not replaced, is there again."""
    for variable in variables:
        let_go_one(variable)


def let_go_one(variable: Any) -> None:
    """Let a variable be free."""
    if variable._taken is not None:
        variable.put_back()
    variable._held = None
    if _waiters[0]:
        with _changed:
            _changed.notify_all()


def _wait_for(variable: Any, me: int) -> None:
    """Wait until a variable is free and hold it, or take it over from a thread long in Python."""
    with _changed:
        _waiters[0] += 1
        try:
            while True:
                _free_if_gone(variable)
                if variable._held is None:
                    variable._held = me
                    return
                run = _run_in_python(variable)
                if run is not None and time.monotonic() - run.since > PATIENCE:
                    run.lose(variable)
                    variable._held = me
                    return
                _changed.wait(LOOKING)
        finally:
            _waiters[0] -= 1


def wait_to_read(variable: Any) -> Any:
    """Wait for the value of a variable that was taken away: the next one, or its value by now."""
    with _changed:
        _waiters[0] += 1
        try:
            while (tensor := variable._tensor) is None:
                run = _run_in_python(variable)
                if run is not None and run.lend(variable):
                    continue
                if variable._held == get_ident():
                    variable.lend()
                    continue
                _free_if_gone(variable)
                if variable._held is not None:
                    _changed.wait(LOOKING)
            return tensor
        finally:
            _waiters[0] -= 1


def _free_if_gone(variable: Any) -> None:
    """Free a variable that a thread of the process holds that forked this one."""
    owner = variable._held
    if owner is not None and owner not in sys._current_frames():
        if variable._taken is not None:
            variable.put_back()
        variable._held = None


def _run_in_python(variable: Any) -> Any:
    """Return the run that holds a variable, if it is in Python."""
    for run in _in_python.get(variable._held, ()):
        if run.holds(variable):
            return run
    return None


class Holding:
    """Variables that are held in a block."""

    __slots__ = ("_taken", "_variables")

    def __init__(self, variables: Iterable[Any]):
        self._variables = [v._own() if hasattr(v, "_own") else v for v in variables]

    def __enter__(self) -> None:
        self._taken = hold(self._variables)

    def __exit__(self, *error: object) -> None:
        let_go(self._taken)


def holding(*variables: object) -> Holding:
    """Return a block in which variables are held."""
    return Holding(variables)


def call_python(call: Callable[..., Any], operands: tuple) -> Any:
    """Call a Python function from a run; threads waiting for the run's variables are told of it."""
    run, beside = runs.inner, runs.beside
    if beside is not None:
        call = beside.around(call)
    if run is None:
        return call(*operands)
    me = get_ident()
    before = _in_python.get(me, ())
    if run in before:
        return call(*operands)
    run.since = time.monotonic()
    _in_python[me] = (*before, run)
    try:
        return call(*operands)
    finally:
        if before:
            _in_python[me] = before
        else:
            del _in_python[me]
        if _waiters[0]:
            with _changed:  # so that nobody is copying what the run writes from now on
                pass


class Turn:
    """The lock of a function's tracing: a thread may take it again, and it cannot lock for ever."""

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
        """Return whether nobody else has it;
        a thread of the process that forked this one is nobody.
        """
        if self.owner is not None and self.owner != me and self.child != _child[0]:
            self.owner, self.count = None, 0
        return self.owner is None or self.owner == me

    def _leads_to(self, me: int) -> bool:
        """Return whether the holder waits, through others, for this thread."""
        turn: Turn | None = self
        while turn is not None and turn.owner is not None:
            if turn.owner == me:
                return True
            turn = _waiting.get(turn.owner)
        return False


_child = [0]  # how many forks lie before this process


def _reset_after_fork() -> None:
    """Release, in a forked child, all that threads held which are not there."""
    global _turns, _changed
    _child[0] += 1
    _turns, _changed = threading.Condition(), threading.Condition()
    _waiting.clear()
    _in_python.clear()
    _waiters[0] = 0
    for lock in list(_locks):
        if not lock._is_owned():
            lock._at_fork_reinit()


forks.in_child(_reset_after_fork)
