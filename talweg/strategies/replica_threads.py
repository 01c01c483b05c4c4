"""Several replicas of one function, which run in turn and meet where they combine their values.

Each replica is a thread, so that it can stop in the middle; only one of them runs at a time, in the
order of their numbers, so that a program does the same each time.  A replica runs until it is over
or asks for a merge.  When all of them have come to one, the thread that started them calls the
function that merges, and then each goes on with its part of the result.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.errors import compose
from talweg.core.thread_context import ThreadContext
from talweg.eager.replicated import part_of, place_in_replica, regroup
from talweg.graph import structure

if TYPE_CHECKING:
    from talweg.strategies.replica_context import ReplicaThreadContext
    from talweg.trace.concrete import TraceGraph

STATE = ("scope", "controls", "device_scopes", "derivatives")  # of the graph under construction


class Stopped(BaseException):
    """Ends a replica that another one's failure made useless."""


class Replica:
    """One replica: its thread, and the requests and answers that it exchanges."""

    def __init__(
        self, context: ReplicaThreadContext, task: Callable[[], Any], back: threading.Semaphore
    ):
        self.context, self._task, self._back = context, task, back
        self._go = threading.Semaphore(0)
        self._carried = ThreadContext()
        self._graph_state: dict | None = None
        self.merge: tuple | None = None  # what it asked for: function, arguments
        self.answer: Any = None
        self.error: BaseException | None = None
        self.result: Any = None
        self.done = self.stopped = False
        self._thread = threading.Thread(target=self._work, daemon=True)

    # -- in the thread of whoever started it

    def resume(self) -> None:
        """Let the replica run until it is over or asks for a merge; raise its error."""
        graph = dispatch.context.base
        before = _state_of(graph)
        _set_state(graph, before if self._graph_state is None else self._graph_state)
        if not self._thread.is_alive():
            self._thread.start()
        self._go.release()
        self._back.acquire()
        self._graph_state = _state_of(graph)
        _set_state(graph, before)
        if self.error is not None:
            raise self.error

    def end(self) -> None:
        """Make it end, wherever it is."""
        if self._thread.is_alive():
            self.stopped = True
            self._go.release()
            self._thread.join()

    # -- in its own thread

    def _work(self) -> None:
        self._go.acquire()
        if self.stopped:
            return
        try:
            self._carried.take_over()
            dispatch.context.recorders = ()  # as in TensorFlow: a tape sees its own thread
            with self.context, place_in_replica(self.context.index):
                self.result = self._task()
        except BaseException as error:  # noqa: BLE001 -- raised where the replicas were started
            self.error = None if isinstance(error, Stopped) else error
        self.done = True
        self._back.release()

    def ask(self, merge: tuple) -> Any:
        """Return this replica's part of the result of `merge`, once all replicas have come here."""
        self.merge = merge
        self._back.release()
        self._go.acquire()
        if self.stopped:
            raise Stopped
        answer, self.answer = self.answer, None
        return answer


def _state_of(graph: TraceGraph | None) -> dict:
    """Return the scopes entered in a graph; each replica has its own."""
    return {} if graph is None else {name: getattr(graph, name) for name in STATE}


def _set_state(graph: TraceGraph | None, found: dict) -> None:
    for name, value in found.items():
        setattr(graph, name, value)


def run_replicas(contexts: list, function: Callable, args: tuple, kwargs: dict) -> Any:
    """Run a function in each replica, which sees its own part of the arguments; return the results.

    What a merge gave to all of them is one value, everything else a `PerReplica`.
    RuntimeError if replicas do not meet: if one asks for a merge that another does not come to.
    """
    back = threading.Semaphore(0)

    def task(index: int) -> Callable[[], Any]:
        own, named = part_of(index, tuple(args)), part_of(index, dict(kwargs))
        return lambda: function(*own, **named)

    replicas = [Replica(context, task(context.index), back) for context in contexts]
    given: dict[int, Any] = {}
    for replica in replicas:
        replica.context.replica = replica
    try:
        while True:
            for replica in replicas:
                replica.resume()
            if all([replica.done for replica in replicas]):
                return regroup([replica.result for replica in replicas], given=given)
            _check_met(replicas)
            merged = _merge(replicas)
            given.update((id(leaf), leaf) for leaf in structure.flatten(merged))
    finally:
        for replica in replicas:
            replica.end()
            replica.context.replica = None


def _check_met(replicas: list[Replica]) -> None:
    over = [number for number, replica in enumerate(replicas) if replica.done]
    if over:
        raise RuntimeError(
            compose(
                "TW510",
                "Some replicas made a different number of replica_context().merge_call() calls: "
                f"replica {over[0]} was over while another one waited for it",
                "the same updates, reductions and merges in every replica",
            )
        )


def _merge(replicas: list[Replica]) -> Any:
    """Call what merges, for all replicas, in the scopes of the first; each gets its answer."""
    strategy = replicas[0].context.strategy
    asked = [replica.merge for replica in replicas]
    function = asked[0][0]  # type: ignore[index]
    args, kwargs = regroup([(tuple(one[1]), dict(one[2])) for one in asked])  # type: ignore[index]
    graph = dispatch.context.base
    before = _state_of(graph)
    _set_state(graph, replicas[0]._graph_state or before)
    try:
        with strategy.scope(), place_in_replica(None):
            merged = function(strategy, *args, **kwargs)
    finally:
        _set_state(graph, before)
    for number, replica in enumerate(replicas):
        replica.merge, replica.answer = None, part_of(number, merged)
    return merged
