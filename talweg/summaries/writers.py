"""Summary writers, and a thread's settings for them: the default writer, the step, a condition.

A summary in a graph is an operation that writes each time it runs, in program order, to the writer
that was the default when it was made.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.core import dispatch
from talweg.core.errors import NotFoundError, compose, type_error, value_error
from talweg.core.thread_context import carry_context
from talweg.graph.symbol import Symbol, constant_of
from talweg.prims.host import act
from talweg.summaries.events import EventFile, messages

if TYPE_CHECKING:
    from talweg.core.annotations import PathLike, TensorLike

WRITERS = "_SUMMARY_WRITER_V2"  # collection of the operations that open writers


class _State(threading.local):
    """The default writer, the default step, and the condition of `record_if`."""

    writer: Any = None
    step: Any = None
    condition: Any = None


state = carry_context(_State())


def session_graph() -> Any:
    """Return the graph of sessions (`tf.Graph`) that is in force, or None."""
    base = dispatch.context.base
    while base is not None and base.building_function:
        base = base.outer
    return base


# -- writers


@export("summary.SummaryWriter")
class SummaryWriter:
    """The destination of summaries; see `tf.summary.create_file_writer`."""

    def set_as_default(self, step: TensorLike | None = None) -> None:
        """Make this the default writer of the thread, and `step` its default step."""
        raise NotImplementedError

    def as_default(self, step: TensorLike | None = None) -> Any:
        """Return a context in which this is the default writer; it flushes at its end."""
        raise NotImplementedError

    def init(self) -> Any:
        """Open the file: in a graph of sessions an operation, else it is open already."""
        raise NotImplementedError

    def flush(self) -> Any:
        """Write what waits; in a graph an operation that does."""
        raise NotImplementedError

    def close(self) -> Any:
        """Write what waits and close the file; in a graph an operation that does."""
        raise NotImplementedError


class NoopSummaryWriter(SummaryWriter):
    """A writer that changes nothing: neither the default writer nor the step."""

    def set_as_default(self, step: TensorLike | None = None) -> None:
        """Do nothing."""

    @contextmanager
    def as_default(self, step: TensorLike | None = None) -> Iterator[None]:
        """Enter a context in which nothing is different."""
        yield

    def init(self) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class WriterAction:
    """An action on a writer when a graph runs; equal ones are met again in a trace."""

    def __init__(self, writer: Any, tf_type: str, do: Callable[..., None], *details: object):
        self.writer, self.tf_type, self.do, self.details = writer, tf_type, do, details

    def __call__(self, *arrays: object) -> None:
        self.do(self.writer, *self.details, *arrays)

    def _key(self) -> tuple:
        return self.writer, self.tf_type, self.do, self.details

    def __eq__(self, other: object) -> bool:
        return type(other) is WriterAction and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"<{self.tf_type}>"


class FileSummaryWriter(SummaryWriter):
    """A writer of event files.

    One made in a graph of sessions has no file until its `init()` has run, and may be opened again.
    """

    def __init__(self, logdir: str, options: tuple):
        self._make = lambda: EventFile(logdir, *options)
        self._file: EventFile | None = None
        self._closed = False
        self._graph_made = False  # whether it was made in a graph of sessions
        graph = session_graph()
        if graph is None:
            self._open()
        else:
            self._graph_made = True
            call = WriterAction(self, "CreateSummaryFileWriter", FileSummaryWriter._open)
            graph.add_to_collection(WRITERS, act(call=call).op)

    def _open(self) -> None:
        if self._file is None or self._file.closed:
            self._file = self._make()

    def _check_open(self) -> None:
        if self._closed and not self._graph_made:
            raise RuntimeError(
                compose(
                    "TW508",
                    f"SummaryWriter {self!r} is already closed",
                    "an open writer",
                    "tf.summary.create_file_writer makes another",
                )
            )

    def set_as_default(self, step: TensorLike | None = None) -> None:
        """Make this the default writer of the thread, and `step`, if given, the default step."""
        self.as_default(step).__enter__()

    def as_default(self, step: TensorLike | None = None) -> Any:
        """Return a context in which this is the default writer and `step`, if given, the default
        step.

        At its end the writer is flushed.  RuntimeError if it is closed.
        """
        self._check_open()
        return _DefaultWriter(self, step)

    def init(self) -> Any:
        """Open the file: an operation in a graph of sessions; else it is open already.

        RuntimeError if the writer is closed.
        """
        self._check_open()
        graph = session_graph()
        if graph is None or not self._graph_made:
            return None
        for operation in graph.get_collection(WRITERS):
            if operation.node.params["call"].writer is self:
                return operation
        raise value_error("TW508", "the summary writer was made in another graph")

    def flush(self) -> Any:
        """Write what waits, and return None; in a graph, an operation that does."""
        if dispatch.context.base is None:
            return self._flush_now()
        return act(call=WriterAction(self, "FlushSummaryWriter", FileSummaryWriter._flush_now)).op

    def _flush_now(self) -> None:
        if not self._closed or self._graph_made:
            self.file.flush()

    def close(self) -> Any:
        """Write what waits, close the file, return None; in a graph, an operation that does."""
        if dispatch.context.base is None:
            return self._close_now()
        return act(call=WriterAction(self, "CloseSummaryWriter", FileSummaryWriter._close_now)).op

    def _close_now(self) -> None:
        if not self._closed or self._graph_made:
            self.file.close()
        self._closed = True

    @property
    def file(self) -> EventFile:
        """The open file; NotFoundError if there is none."""
        if self._file is None or self._file.closed:
            what = "closed" if self._file is not None else "not open: its init() has not run"
            text = compose("TW508", f"the summary writer {self!r} is {what}", "an open writer")
            raise NotFoundError(None, None, text)
        return self._file

    def add(self, step: int | np.generic | np.ndarray, **content: Any) -> None:
        """Write an event now."""
        event = messages().Event(wall_time=time.time(), step=int(step), **content)
        self.file.add(event)


class _DefaultWriter:
    """The context of `as_default`; it may be entered several times."""

    def __init__(self, writer: FileSummaryWriter, step: TensorLike | None):
        self._writer, self._step = writer, step
        self._before: list[tuple] = []

    def __enter__(self) -> FileSummaryWriter:
        self._before.append((state.writer, state.step))
        state.writer = self._writer
        if self._step is not None:
            state.step = self._step
        return self._writer

    def __exit__(self, *error: object) -> None:
        state.writer, state.step = self._before.pop()
        if session_graph() is None:  # in one the operation would be lost
            self._writer.flush()


@export("summary.create_noop_writer")
@as_it_is
def create_noop_writer() -> SummaryWriter:
    """Return a writer that does nothing at all.

    >>> import talweg as tf
    >>> with tf.summary.create_noop_writer().as_default():
    ...     tf.summary.scalar("loss", 1.0, step=0)
    <tf.Tensor: shape=(), dtype=bool, numpy=False>
    """
    return NoopSummaryWriter()


def _static_argument(value: object, argument: str, default: int | str | None) -> Any:
    """Return the value of an argument that a writer is made with;
    ValueError for tensors of graphs.
    """
    if type(value) is Symbol:
        content = constant_of(value.node)
        if content is None:
            raise value_error(
                "TW104",
                f"Invalid graph Tensor argument '{argument}={value}' to create_file_writer()",
                "a value: a writer is made once, not each time a graph runs",
            )
        value = content.array
    value = value.numpy() if hasattr(value, "numpy") else value
    return default if value is None else value


def _path(value: Any, argument: str) -> str:
    try:
        return os.fsdecode(value.item() if isinstance(value, np.generic | np.ndarray) else value)
    except TypeError:
        raise type_error(
            "TW104", f"create_file_writer: {argument}={value!r}", "a string or a path"
        ) from None


@export("summary.create_file_writer")
@as_it_is
def create_file_writer(
    logdir: PathLike,
    max_queue: int | None = None,
    flush_millis: Any = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: Any = None,
) -> SummaryWriter:
    """Return a writer of event files in the directory `logdir`, which is made if need be.

    Events are written when more than `max_queue` (10) wait, when one comes `flush_millis` (120000)
    after the last time, and by flush and close.  filename_suffix=".v2" ends the file's name.  In a
    function that is traced the writer is made once, by the trace; in a graph of sessions its
    `init()` opens the file.  ValueError for None and for tensors of graphs, TypeError for what is
    no path, ImportError without the package tensorboard.

    >>> import tempfile
    >>> import talweg as tf
    >>> with tempfile.TemporaryDirectory() as logdir:
    ...     writer = tf.summary.create_file_writer(logdir)
    ...     with writer.as_default(step=7):
    ...         done = tf.summary.scalar("loss", 0.5)
    ...     writer.close()
    >>> bool(done)
    True
    """
    messages()
    if logdir is None:
        raise value_error("TW104", "Argument `logdir` cannot be None", "the path of a directory")
    path = _path(_static_argument(logdir, "logdir", None), "logdir")
    seconds = int(_static_argument(flush_millis, "flush_millis", 120_000)) / 1000
    queue = int(_static_argument(max_queue, "max_queue", 10))
    suffix = _path(_static_argument(filename_suffix, "filename_suffix", ".v2"), "filename_suffix")
    return FileSummaryWriter(path, (queue, seconds, suffix))
