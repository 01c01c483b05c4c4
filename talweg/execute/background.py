"""Background compilation: the interpreter runs the program meanwhile.

One thread takes what is submitted, in order, and ends when there is nothing left.  It shares
Python's lock with the program: while it works, threads change places after `SLICE` in place of the
usual 5 ms, which a program of thousands of short kernels would wait for each time.  A caller may
await what it has submitted, for a while; compilation then has its core, too.  At the end of the
process, what is not done is given up.
"""

from __future__ import annotations

import atexit
import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from talweg.core import forks
from talweg.core.load import load

NAME = "talweg compiles aside"
SLICE = 5e-5  # seconds after which threads change places
LONG = 1.0  # seconds of compiling that are told


class StoppedError(BaseException):
    """Compilation is abandoned as the process ends: no fault that needs handling."""


class BackgroundCompiler:
    """The thread that compiles, and its queue of work."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: deque[tuple[str, Callable[[], Any]]] = deque()
        self.thread: threading.Thread | None = None
        self.stopped = False
        self.callers = 0  # that await something

    def submit(self, name: str, work: Callable[[], Any]) -> bool:
        """Queue `work`; False where no thread can be started."""
        with self.lock:
            if self.stopped:
                return False
            self.waiting.append((name, work))
            if self.thread is not None:
                return True
            self.thread = threading.Thread(target=self._run, name=NAME, daemon=True)
            try:
                self.thread.start()
            except RuntimeError:  # there may be no more threads
                self.thread = None
                self.waiting.clear()
                return False
            return True

    def _run(self) -> None:
        usual = sys.getswitchinterval()
        sys.setswitchinterval(SLICE)
        slice_in_force = sys.getswitchinterval()
        load.beside = 1  # a core less for the threads of products
        try:
            while True:
                with self.lock:
                    if self.stopped or not self.waiting:
                        self.thread = None
                        return
                    name, work = self.waiting.popleft()
                self._do(name, work)
                del work
        finally:
            load.beside = 0
            if sys.getswitchinterval() == slice_in_force:  # nobody else has set it
                sys.setswitchinterval(usual)

    def _do(self, name: str, work: Callable[[], Any]) -> None:
        log = logging.getLogger("talweg")
        start = time.perf_counter()
        try:
            work()
        except StoppedError:
            return
        except Exception as error:  # the call that the program makes next meets it again
            log.debug("%s was not compiled aside: %s", name, error)
        seconds = time.perf_counter() - start
        if seconds > LONG:
            log.info("%s was compiled aside in %.1f seconds", name, seconds)

    def await_job(self, over: threading.Event, seconds: float) -> bool:
        """Wait in a caller until a submitted job is over; False if that takes longer."""
        if self.is_here():
            return False
        with self.lock:
            self.callers += 1
        try:
            return over.wait(seconds)
        finally:
            with self.lock:
                self.callers -= 1

    def has_company(self) -> bool:
        """Return whether this is the compiling thread, and the program goes on beside it."""
        return self.is_here() and not self.callers

    def is_here(self) -> bool:
        """Return whether this is the compiling thread."""
        return threading.current_thread() is self.thread

    def check(self) -> None:
        """Raise StoppedError in the compiling thread once it is to stop."""
        if self.stopped and self.is_here():
            raise StoppedError

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the queue is empty."""
        thread = self.thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)

    def stop(self) -> None:
        """Abandon the queued work."""
        self.stopped = True
        self.waiting.clear()
        self.wait()

    def forget(self) -> None:
        """Reset the state in a forked child, which has no such thread."""
        self.lock = threading.Lock()
        self.waiting.clear()
        self.thread = None
        self.callers = 0
        load.beside = 0


background = BackgroundCompiler()
atexit.register(background.stop)
forks.in_child(background.forget)
