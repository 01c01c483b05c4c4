"""Synchronization of variables around host calls: Python sees what a running function wrote.

A function's writes of variables are values of its program, and reach the variables when the run is
over.  Python that the run calls (`tf.py_function`, a dataset's functions) reads and writes the
variables themselves.  So the variables that a trace has written before such a call, and that the
call can reach, are published before it, and adopted after it: where Python gave one another value,
the program goes on with that one.  The cotangent of a value that Python did not change passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dtypes import bool_
from talweg.core.locking import runs
from talweg.graph.function_graph import FunctionGraph
from talweg.graph.handle import Handle
from talweg.prims.arithmetic import select
from talweg.prims.host import act, host_call
from talweg.trace.reachable import find_reached

if TYPE_CHECKING:
    from talweg.core.value import Tensor


class PublishingCall:
    """A host call that gives variables the values that the run has for them."""

    tf_type = "EagerPyFunc"
    may_wait = False

    def __init__(self, handles: list[Handle]):
        self.handles = handles

    def __call__(self, *arrays: Any) -> None:
        if (run := runs.inner) is not None:
            for handle, array in zip(self.handles, arrays):
                run.publish(handle, array)


class AdoptingCall:
    """A host call that returns, for each variable, whether Python changed it, and its value."""

    adopts = True  # `eager/long_runs.py` asks: the writes of its results are no change of the run
    tf_type = "EagerPyFunc"
    may_wait = False

    def __init__(self, handles: list[Handle], avals: list[Aval]):
        self.handles = handles
        self.avals = (*[Aval((), bool_) for _ in handles], *avals)

    def __call__(self, *arrays: Any) -> tuple:
        run = runs.inner
        found = [None if run is None else run.adopt(handle) for handle in self.handles]
        changed = [np.bool_(value is not None) for value in found]
        return (*changed, *[a if value is None else value for a, value in zip(arrays, found)])


@contextmanager
def synchronized(find: Callable[[list[Handle]], list[Handle]]) -> Iterator[None]:
    """Synchronize in the block, which makes a host call, variables that the trace has written.

    find: chooses from such variables' handles those that the call can reach.  A variable of open
    shape is only published: a choice by element between two sizes is not possible.
    """
    handles = find(_find_written())
    if not handles:
        yield
        return
    act(*[_read(handle) for handle in handles], call=PublishingCall(handles))
    yield
    handles = [handle for handle in handles if _is_fixed(handle)]
    if not handles:
        return
    values = [_read(handle) for handle in handles]
    adopting = AdoptingCall(handles, [Aval(value.dims, value.dtype) for value in values])
    results = host_call(*values, call=adopting)
    for handle, value, changed, new in zip(handles, values, results, results[len(handles) :]):
        handle.variable.assign(select(changed, new, value))


def find_used_by(function: Callable[..., Any]) -> Callable[[list[Handle]], list[Handle]]:
    """Return a choice for `synchronized`: variables that a Python function may reach."""

    def choose(handles: list[Handle]) -> list[Handle]:
        if not handles:
            return []
        both = [(handle, handle.variable) for handle in handles]
        reached = {
            id(found) for found in find_reached(function, [x for pair in both for x in pair])
        }
        return [handle for handle, own in both if id(handle) in reached or id(own) in reached]

    return choose


def _find_written() -> list[Handle]:
    """Return the handles of variables that the traces in force have written."""
    graph: Any = dispatch.context.base
    written: dict[Any, None] = {}
    while isinstance(graph, FunctionGraph):
        written.update(dict.fromkeys([*graph.writes, *graph.inside]))
        graph = graph.outer
    return [x for x in written if type(x) is Handle and x.owner() is not None]


def _is_fixed(handle: Handle) -> bool:
    shape = handle.shape
    return shape is not None and shape.is_fully_defined()


def _read(handle: Handle) -> Tensor:
    return dispatch.context.base.read_variable(handle)
