"""Long calls of libraries, which handlers of signals can interrupt.

Python runs handlers in the main thread, between its instructions: what LAPACK does in one call
would keep them waiting until its end.  So the main thread has a long call made by a thread of its
own, and waits for that.  What a handler raises ends the wait; the abandoned call goes on to its
end, on operands that it keeps alive, and nobody takes its result.  The end of the interpreter waits
for such calls: OpenBLAS cannot end its threads while somebody computes with them.
"""

from __future__ import annotations

import atexit
import contextvars
import functools
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core import forks
from talweg.core.room import check_room

LONG = 1 << 28  # multiplications that take longer than some milliseconds
PATIENCE = 0.1  # seconds after which a wait that no signal interrupts looks for one (Windows)
NAME = "talweg calls a library"


class LibraryCall:
    """One call of a kernel by a thread of its own."""

    def __init__(self, kernel: Callable[..., Any], arrays: tuple, params: dict):
        self.kernel, self.params = kernel, params
        self.arrays = tuple([_lasting(x) for x in arrays])
        self.context = contextvars.copy_context()  # with NumPy's treatment of invalid numbers
        self.errors = np.geterr()  # which is the thread's in NumPy 1
        self.result: Any = None
        self.error: BaseException | None = None
        self.over = threading.Lock()

    def begin(self) -> None:
        """Start the thread; RuntimeError or MemoryError where there can be none."""
        self.over.acquire()
        run = self.context.run
        thread = threading.Thread(target=run, args=(self._run,), name=NAME, daemon=True)
        running.add(self)
        try:
            thread.start()
        except (RuntimeError, MemoryError):
            running.discard(self)
            raise

    def _run(self) -> None:
        try:
            with np.errstate(**self.errors):
                self.result = self.kernel(*self.arrays, **self.params)
        except BaseException as error:  # noqa: BLE001 -- raised in the thread that waits
            self.error = error
        finally:
            running.discard(self)
            self.over.release()

    def wait(self) -> None:
        """Wait for its end; handlers of signals run meanwhile."""
        while not self.over.acquire(timeout=PATIENCE):
            pass


running: set[LibraryCall] = set()


def _lasting(x: Any) -> Any:
    """Return `x`, copied if its memory belongs to a compiled program,
    which may use it for others.
    """
    owner = x
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return x if owner.base is None else x.copy()


def count_per_element(cost: float) -> Callable[..., float]:
    """Return the work of a kernel that takes so many multiplications
    for each element of its operand.
    """
    return lambda x, *_, **__: cost * x.size


def make_interruptible(
    work: Callable[..., float], kernel: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Return a decorator of kernels: those calls whose `work` (of the operands) is `LONG` or more
    run so that the main thread can abandon them.
    """
    if kernel is None:
        return functools.partial(make_interruptible, work)

    @functools.wraps(kernel)
    def run(*arrays: Any, **params: object) -> Any:
        if work(*arrays, **params) < LONG or not _is_main():
            return kernel(*arrays, **params)
        call = _begin_call(kernel, arrays, params)
        if call is None:  # there is no room for a thread
            return kernel(*arrays, **params)
        call.wait()
        try:
            if call.error is not None:
                raise call.error
            return call.result
        finally:
            call.error = call.result = None  # its traceback holds this frame: no circle

    return run


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _begin_call(kernel: Callable[..., Any], arrays: tuple, params: dict) -> LibraryCall | None:
    """Return a call that has begun; None where there can be no thread for it."""
    try:
        check_room()
        call = LibraryCall(kernel, arrays, params)
        call.begin()
    except (RuntimeError, MemoryError):
        return None
    return call


def _at_exit() -> None:
    """Wait for abandoned calls; a second Ctrl-C ends the process as it ends others."""
    try:
        for call in list(running):
            call.wait()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)


atexit.register(_at_exit)
forks.in_child(running.clear)
