"""Background work: prefetching, and functions called in several threads.

A worker holds what it works on and a `Channel`, never the iterator; the iterator holds the channel
through a `Holder`, and when that goes, for whatever reason, the workers are told to stop.

A forked child has none of its parent's threads.  Calls that were under way are made anew there; an
iterator that a thread was reading ahead of cannot go on, since nobody knows how far it had come.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from talweg.core import dispatch
from talweg.core.errors import FailedPreconditionError, compose
from talweg.core.forks import ancestry
from talweg.pipeline.run import End, Next

AUTOTUNE = -1
AHEAD = 8  # elements prefetched where the number is left to us
WORKERS = 8  # threads where the number is left to us
HANDING = 1e-4  # seconds an element has to take before handing it from thread to thread pays
PATIENCE = 2e-3  # seconds that are spent waiting for such elements before there is a thread


class Channel:
    """Results on their way from one thread to another, in order."""

    def __init__(self, size: int):
        self.size = size
        self.results: deque = deque()
        self.changed = threading.Condition()
        self.waiting = 0  # threads that wait for a change
        self.stopped = False
        self.generation = ancestry.generation

    def put(self, result: tuple) -> bool:
        """Add a result when there is room; False once nobody wants any."""
        results = self.results
        if len(results) >= self.size:
            with self.changed:
                self.waiting += 1
                while len(results) >= self.size and not self.stopped:
                    self.changed.wait()
                self.waiting -= 1
        if self.stopped:
            return False
        results.append(result)
        self._tell()
        return True

    def get(self) -> tuple:
        """Return the next result, when it is there."""
        results = self.results
        if self.generation != ancestry.generation:
            raise FailedPreconditionError(
                None,
                None,
                compose(
                    "TW502",
                    "this iterator was begun before the process forked, and a thread that only "
                    "the parent has was reading ahead of it",
                    "an iterator that is made in the forked process: iter(dataset)",
                ),
            )
        while True:
            try:
                result = results.popleft()
                break
            except IndexError:
                with self.changed:
                    self.waiting += 1
                    while not results:
                        self.changed.wait()
                    self.waiting -= 1
        if self.waiting and len(results) <= self.size // 2:
            self._tell()
        return result

    def _tell(self) -> None:
        if self.waiting:
            with self.changed:
                self.changed.notify_all()

    def stop(self) -> None:
        """Let the workers end; a forked child has none, and perhaps their locks."""
        if self.generation != ancestry.generation:
            self.stopped = True
            return
        with self.changed:
            self.stopped = True
            self.results.clear()
            self.changed.notify_all()


class UnwantedError(BaseException):
    """The consumer does not want the result any more that a worker is computing."""


class _Worker(threading.local):
    """The channel that a thread is a worker of."""

    channel: Channel | None = None


_worker = _Worker()


def check_wanted() -> None:
    """End a worker, between two of the elements that it needs for one, if nobody wants that."""
    channel = _worker.channel
    if channel is not None and channel.stopped:
        raise UnwantedError


class Holder:
    """Keeps workers going as long as somebody keeps it."""

    __slots__ = ("__weakref__", "channel")

    def __init__(self, channel: Channel | Pool):
        self.channel = channel

    def __del__(self) -> None:
        self.channel.stop()


def in_background(source: Next, size: int, waits: bool) -> Next:
    """Return elements computed ahead by a thread, `size` at most; errors arrive at their places.

    Elements that take less time than handing them over are computed when they are asked for, unless
    the source may wait for the world.
    """
    size = AHEAD if size < 0 else size
    holder: Any = None
    ended = False
    waited, clock = PATIENCE if waits else 0.0, time.perf_counter

    def step() -> tuple:
        nonlocal holder, ended, waited
        if ended:
            raise End
        if holder is None and waited < PATIENCE:
            start = clock()
            flat = source()
            waited += max(0.0, clock() - start - HANDING)
            return flat
        if holder is None:
            holder = Holder(Channel(size))
            _thread("talweg-prefetch", _fetch, source, holder.channel)
        flat, error = holder.channel.get()
        if error is None:
            return flat
        if type(error) is End:
            ended = True
            holder = None
        raise error

    return step


def _fetch(source: Next, channel: Channel) -> None:
    """Fetch, as a worker, element after element, until the end or until nobody wants any."""
    dispatch.context.base, dispatch.context.recorders = None, ()
    _worker.channel = channel
    while True:
        try:
            result = (source(), None)
        except BaseException as error:  # noqa: BLE001 -- raised where the element is asked for
            result = (None, error.with_traceback(None))
        if not channel.put(result) or type(result[1]) is End:
            return


def _thread(name: str, target: Callable[..., None], *args: object) -> None:
    threading.Thread(target=target, args=args, name=name, daemon=True).start()


# -- functions in threads


class Pool:
    """Threads that call one function; results are taken in the order of the calls."""

    def __init__(self, call: Callable[[tuple], tuple], count: int):
        self.call, self.count = call, count
        self.tasks: deque = deque()
        self.changed = threading.Condition()
        self.stopped = False
        self.threads = 0
        self.generation = ancestry.generation

    def submit(self, flat: tuple) -> Task:
        """Return a call, to be made when a thread is free."""
        task = Task(flat)
        self._add(task)
        return task

    def make_anew(self, tasks: Iterable[Task]) -> None:
        """Start, in a forked child, the threads and the calls that were not done."""
        if self.generation == ancestry.generation:
            return
        self.generation, self.threads = ancestry.generation, 0
        self.tasks, self.changed = deque(), threading.Condition()
        for task in tasks:
            if not (task.done.is_set() or task.error is not None):
                task.done = threading.Event()
                self._add(task)

    def _add(self, task: Task) -> None:
        with self.changed:
            self.tasks.append(task)
            if self.threads < self.count:
                self.threads += 1
                _thread("talweg-map", _work, self)
            self.changed.notify()

    def stop(self) -> None:
        """Let the threads end; a forked child has none, and perhaps their locks."""
        if self.generation != ancestry.generation:
            return
        with self.changed:
            self.stopped = True
            self.tasks.clear()
            self.changed.notify_all()


class Task:
    """A call under way."""

    __slots__ = ("done", "error", "flat", "result")

    def __init__(self, flat: tuple):
        self.flat: Any = flat
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = threading.Event()

    def get(self) -> tuple:
        """Return the result, when it is there; or the error."""
        self.done.wait()
        if self.error is not None:
            raise self.error
        return self.result


def _work(pool: Pool) -> None:
    dispatch.context.base, dispatch.context.recorders = None, ()
    while True:
        with pool.changed:
            while not pool.tasks and not pool.stopped:
                pool.changed.wait()
            if pool.stopped:
                return
            task = pool.tasks.popleft()
        try:
            task.result = pool.call(task.flat)
        except BaseException as error:  # noqa: BLE001 -- raised where the element is asked for
            task.error = error.with_traceback(None)
        task.done.set()


def in_parallel(source: Next, call: Callable[[tuple], tuple], count: int) -> Next:
    """Return `call` of the elements, several at a time,
    in threads (`count`; negative: our choice).
    """
    count = WORKERS if count < 0 else max(1, count)
    holder: Any = None
    under_way: deque = deque()
    ended: Any = None

    def step() -> tuple:
        nonlocal holder, ended
        check_wanted()
        if holder is None:
            holder = Holder(Pool(call, count))
        holder.channel.make_anew(under_way)
        while ended is None and len(under_way) < count:
            try:
                under_way.append(holder.channel.submit(source()))
            except End as end:
                ended = end
            except Exception as error:
                under_way.append(_failure(error))
        if not under_way:
            holder = None
            raise End
        return under_way.popleft().get()

    return step


def _failure(error: Exception) -> Task:
    task = Task(())
    task.error = error
    task.done.set()
    return task
