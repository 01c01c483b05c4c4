"""tf.train.Coordinator: threads that stop together."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.core.errors import OutOfRangeError, type_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    pass


@export("train.Coordinator", "compat.v1.train.Coordinator")
class Coordinator:
    """Tells threads when to stop, waits for them, and passes on an exception that one raised.

    clean_stop_exception_types: exceptions that mean a normal end (OutOfRangeError by default).

    >>> import threading
    >>> import talweg as tf
    >>> coordinator = tf.train.Coordinator()
    >>> def work():
    ...     with coordinator.stop_on_exception():
    ...         while not coordinator.should_stop():
    ...             coordinator.request_stop()
    >>> thread = threading.Thread(target=work)
    >>> thread.start()
    >>> coordinator.join([thread])
    """

    def __init__(self, clean_stop_exception_types: Any = None):
        self._clean = tuple(clean_stop_exception_types or (OutOfRangeError,))
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._threads: list[Any] = []

    def request_stop(self, ex: object = None) -> None:
        """Ask all threads to stop.  `ex`, an exception, will be raised by `join`."""
        error = ex[1] if isinstance(ex, tuple) else ex
        if error is not None and not isinstance(error, BaseException):
            raise type_error("TW104", f"request_stop: {ex!r} is no exception")
        with self._lock:
            if self._joined and error is not None:
                raise error
            if not self._stop.is_set():
                if error is not None and not isinstance(error, self._clean):
                    self._error = error
                self._stop.set()

    def clear_stop(self) -> None:
        """Forget that a stop was asked for."""
        with self._lock:
            self._joined, self._error = False, None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Return whether a stop was asked for."""
        return self._stop.is_set()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until a stop is asked for; False if `timeout` seconds passed."""
        return self._stop.wait(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Return a context that asks for a stop if its block raises, and raises nothing itself."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 -- `join` raises it
            self.request_stop(error)

    def register_thread(self, thread: object) -> None:
        """Have `join` wait for this thread, too."""
        with self._lock:
            self._threads.append(thread)

    def forget_thread(self, thread: Any) -> None:
        """Have `join` not wait for a thread that nobody can end."""
        with self._lock:
            self._threads = [known for known in self._threads if known is not thread]

    def join(
        self,
        threads: Sequence[Any] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait for the threads, then raise the exception that one passed to `request_stop`.

        RuntimeError if threads are still alive `stop_grace_period_secs` after a stop was asked for.
        """
        waiting = [*self._threads, *[t for t in threads or () if t not in self._threads]]
        while any(thread.is_alive() for thread in waiting) and not self.wait_for_stop(0.05):
            pass
        until = time.monotonic() + stop_grace_period_secs
        for thread in waiting:
            thread.join(max(0.0, until - time.monotonic()))
        alive = [thread.name for thread in waiting if thread.is_alive()]
        with self._lock:
            self._joined = True
            self._threads = []
        self.raise_requested_exception()
        if alive and not ignore_live_threads:
            raise RuntimeError(
                f"Coordinator stopped with threads still running: {' '.join(alive)}  [TW207]"
            )

    @property
    def joined(self) -> bool:
        """Whether `join` is through."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raise the exception passed to `request_stop`, if there is one."""
        error = self._error
        if error is not None:
            raise error


@export("compat.v1.train.LooperThread")
class LooperThread(threading.Thread):
    """A thread that calls `target` again and again until its coordinator says stop.

    timer_interval_secs: how often; None: without a pause.

    >>> import talweg.compat.v1 as tf
    >>> coordinator, calls = tf.train.Coordinator(), []
    >>> def target():
    ...     calls.append(1)
    ...     coordinator.request_stop()
    >>> thread = tf.train.LooperThread.loop(coordinator, None, target)
    >>> coordinator.join([thread])
    >>> len(calls)
    1
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Any = None,
        args: Any = None,
        kwargs: Any = None,
    ):
        super().__init__(daemon=True)
        self._coordinator, self._interval = coord, timer_interval_secs
        self._call = target, tuple(args or ()), dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: str,
        args: Sequence[Any] | None = None,
        kwargs: dict[Any, Any] | None = None,
    ) -> LooperThread:
        """Return a looper that was started."""
        thread = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        thread.start()
        return thread

    def run(self) -> None:
        """Run the thread's loop until the coordinator stops it."""
        with self._coordinator.stop_on_exception():
            self.start_loop()
            due = time.monotonic()
            while not self._coordinator.should_stop():
                self.run_loop()
                if self._interval is not None:
                    due += self._interval
                    if self._coordinator.wait_for_stop(max(0.0, due - time.monotonic())):
                        break
            self.stop_loop()

    def start_loop(self) -> None:
        """Called once before the first round."""

    def stop_loop(self) -> None:
        """Called once after the last round."""

    def run_loop(self) -> None:
        """Run one round."""
        target, args, kwargs = self._call
        if target is not None:
            target(*args, **kwargs)
