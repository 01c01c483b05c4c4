"""tf.summary.trace_on: the graphs of the functions that a program calls, for TensorBoard."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.core import dispatch
from talweg.core.errors import value_error
from talweg.core.observer import Observer
from talweg.summaries.events import messages, metadata_message
from talweg.summaries.recording import graph_bytes, summary_scope, write

if TYPE_CHECKING:
    from talweg.core.annotations import PathLike, TensorLike

GRAPHS, NOTHING = "graph_run_metadata_graph", "graph_run_metadata"  # parts of TensorBoard
VERSION = b"1"
_log = logging.getLogger("talweg")


class _Calls:
    """Keeps the functions that are called, and tells everything to the observer before it, too."""

    def __init__(self, before: Any):
        self.before = Observer() if before is None else before
        self.functions: dict[Any, None] | None = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.before, name)

    def function_called(self, concrete: Any) -> None:
        """Keep a function."""
        if self.functions is not None:
            self.functions[concrete] = None
        self.before.function_called(concrete)


class _Trace:
    """The trace of the process, if there is one."""

    def __init__(self) -> None:
        self.on = False
        self.calls: _Calls | None = None

    def start(self, graph: bool) -> None:
        """Begin, and keep functions from now on if `graph`."""
        self.on = True
        if graph:
            before = dispatch.state.observer
            dispatch.enter()
            dispatch.state.observer = self.calls = _Calls(before)

    def stop(self) -> None:
        """End; a later observer may still tell the one of this trace, which keeps nothing more."""
        calls, self.calls, self.on = self.calls, None, False
        if calls is None:
            return
        calls.functions = None
        if dispatch.state.observer is calls:
            first = type(calls.before) is Observer
            dispatch.state.observer = None if first else calls.before
        dispatch.leave()


_trace = _Trace()


def _inside(what: str) -> bool:
    """Return whether a graph is in force, where nothing can be traced; a warning says so."""
    if dispatch.context.base is None:
        return False
    _log.warning("Cannot %s inside a tf.function or a graph.", what)
    return True


@export("summary.trace_on")
@as_it_is
def trace_on(
    graph: bool = True, profiler: bool = False, profiler_outdir: PathLike | None = None
) -> None:
    """Begin to note which functions are called; `trace_export` writes their graphs.

    graph: whether their graphs are kept.  profiler: there is none in here; a warning says what
    measures time instead.  In a graph, or while a trace is on already, it warns and does nothing.

    >>> import tempfile
    >>> import talweg as tf
    >>> double = tf.function(lambda x: x * 2.0)
    >>> with tempfile.TemporaryDirectory() as logdir:
    ...     writer = tf.summary.create_file_writer(logdir)
    ...     tf.summary.trace_on()
    ...     y = double(tf.constant(1.0))
    ...     with writer.as_default():
    ...         tf.summary.trace_export("double", step=0)
    ...     writer.close()
    """
    if _inside("enable trace"):
        return
    if _trace.on:
        _log.warning("Trace already enabled")
        return
    if profiler:
        _log.warning(
            "tf.summary.trace_on: no profiler is started; `talweg profile program.py` measures "
            "where a program's time goes"
        )
    _trace.start(graph)


@export("summary.trace_export")
@as_it_is
def trace_export(
    name: str, step: TensorLike | None = None, profiler_outdir: PathLike | None = None
) -> None:
    """Write the graphs of the functions called since `trace_on`, and end the trace.

    name: the tag, behind the name scopes in force, under which TensorBoard lists the graphs.  step:
    by default that of `set_step` or `as_default`.  ValueError without `trace_on`, or a step.
    """
    if _inside("export trace"):
        return
    if not _trace.on:
        raise value_error(
            "TW508",
            "Must enable trace before export through tf.summary.trace_on.",
            hint="tf.summary.trace_on(), then calls of functions, then trace_export",
        )
    calls = _trace.calls
    plugin = NOTHING if calls is None else GRAPHS
    with summary_scope(name, "graph_summary") as (tag, _):
        write(tag, lambda: _run_metadata(calls), step, _metadata(plugin))
    trace_off()


def _metadata(plugin: str) -> bytes:
    return metadata_message(plugin, content=VERSION)


def _run_metadata(calls: _Calls | None) -> Any:
    """Return a RunMetadata message with the graph of each function, serialized."""
    message = messages().RunMetadata()
    for concrete in calls.functions or () if calls is not None else ():
        data = graph_bytes(concrete.graph)
        message.partition_graphs.add().ParseFromString(data)
        function = message.function_graphs.add()
        function.partition_graphs.add().ParseFromString(data)
        function.pre_optimization_graph.ParseFromString(data)
        function.post_optimization_graph.ParseFromString(data)
    return np.array(message.SerializeToString(), object)


@export("summary.trace_off")
@as_it_is
def trace_off() -> None:
    """End a trace without writing it; nothing happens if there is none.

    >>> import talweg as tf
    >>> tf.summary.trace_off()
    """
    _trace.stop()
