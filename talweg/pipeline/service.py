"""tf.data's service in one process: dispatchers, workers, and the datasets that they share.

A dispatcher is known by its address in this process alone.  A worker is a turn in reading: with
sharding OFF each goes over the whole dataset, else all of them give each element once.  Consumers
of a named job take elements from one iteration; the n-th pass of one dataset goes with the n-th
of another.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any

from talweg.core.errors import NotFoundError, UnavailableError, compose, invalid, value_error
from talweg.pipeline.nesting import interleave
from talweg.pipeline.run import End, IterationRun, Next
from talweg.pipeline.stage import INFINITE, UNKNOWN, PassOn, Stage

_ports = itertools.count(1)
_dispatchers: weakref.WeakValueDictionary[str, Dispatcher] = weakref.WeakValueDictionary()
OFF = 0


class Dispatcher:
    """The server state at one address: datasets by id, workers, and iterations under way."""

    def __init__(self, port: int):
        self.address = f"localhost:{port}" if port else f"in-process:{next(_ports)}"
        if self.address in _dispatchers:
            raise value_error("TW104", f"{self.address} has a dispatcher already")
        self.workers: list = []
        self.datasets: dict[str, Any] = {}
        self.iterations: dict[tuple, SharedIteration] = {}
        self.lock = threading.Lock()
        self._ids = itertools.count(1000)
        _dispatchers[self.address] = self

    def register(self, dataset: Any, key: str | None) -> str:
        """Keep a dataset; its id."""
        with self.lock:
            key = key or str(next(self._ids))
            known = self.datasets.setdefault(key, dataset)
        if known.element_spec != dataset.element_spec:
            raise invalid("TW208", f"the id {key!r} has a dataset of other elements")
        return key

    def dataset(self, key: str) -> Any:
        """Return the dataset of an id; NotFoundError if nobody registered it."""
        if key not in self.datasets:
            text = f"Dataset id {key} not found at {self.address}"
            hint = "tf.data.experimental.service.register_dataset"
            raise NotFoundError(None, None, compose("TW207", text, hint=hint))
        return self.datasets[key]

    def stop(self) -> None:
        """Remove the service for those that come; another one that has the address now stays."""
        if _dispatchers.get(self.address) is self:
            del _dispatchers[self.address]


def find_dispatcher(address: str) -> Dispatcher:
    """Return the dispatcher at an address; UnavailableError if this process has none there."""
    found = _dispatchers.get(address.rpartition("://")[2])
    if found is None:
        text = f"this process has no tf.data dispatcher at {address!r}"
        hint = "DispatchServer here: the service reaches no further than one process"
        raise UnavailableError(None, None, compose("TW402", text, hint=hint))
    return found


class SharedIteration:
    """One pass that several consumers take elements from."""

    def __init__(self, step: Next):
        self._step, self._lock = step, threading.Lock()
        self.ended = False

    def next(self) -> tuple:
        """Return the next element, for the consumer that asks first."""
        with self._lock:
            if self.ended:
                raise End
            try:
                return self._step()
            except End:
                self.ended = True
                raise


class Distribute(PassOn):
    """The elements of a dataset, as the workers of a dispatcher give them."""

    name = "_DataServiceDatasetV2"
    moves_rows = False

    def __init__(self, source: Stage, dispatcher: Dispatcher, sharding: int, job: str | None):
        super().__init__(source)
        self.dispatcher, self.sharding, self.job = dispatcher, sharding, job
        self._passes = itertools.count()

    def size(self, run: IterationRun) -> int:
        """Return None: there may be more workers when it begins."""
        return INFINITE if self.inputs[0].size(run) == INFINITE else UNKNOWN

    def rows(self, run: IterationRun) -> None:
        """Return None: the consumer of an element is not known before."""

    def start(self, run: IterationRun) -> Next:
        """Iterate on its own, or with the job."""
        dispatcher, number = self.dispatcher, next(self._passes)
        if self.job is None:
            return self._begin(run)
        key = (self.job, self.sharding, number)
        with dispatcher.lock:
            going = {k: one for k, one in dispatcher.iterations.items() if not one.ended}
            if key not in going:
                going[key] = SharedIteration(self._begin(run))
            dispatcher.iterations = going
            return going[key].next

    def _begin(self, run: IterationRun) -> Next:
        dispatcher, source = self.dispatcher, self.inputs[0]
        if not dispatcher.workers:
            text = f"the dispatcher at {dispatcher.address} has no worker"
            hint = "tf.data.experimental.service.WorkerServer"
            raise UnavailableError(None, None, compose("TW503", text, hint=hint))
        if self.sharding != OFF:
            return source.start(run)
        count = len(dispatcher.workers)
        left = iter(range(count))

        def open_next() -> Next:
            for _ in left:
                return source.start(run if count == 1 else IterationRun(run.values, {}))
            raise End

        return interleave(open_next, count, 1)
