"""tf.compat.v1.summary.FileWriter: events written from Python, between runs of a session."""

from __future__ import annotations

import os
import time
import warnings
from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.compat_v1.graphs import default_graph
from talweg.compat_v1.messages import Message
from talweg.core import dispatch
from talweg.core.errors import compose, type_error, value_error
from talweg.summaries.events import EventFile, messages
from talweg.summaries.recording import graph_bytes

if TYPE_CHECKING:
    from talweg.compat_v1.messages import RunMetadata
    from talweg.core.annotations import PathLike, TensorLike
    from talweg.graph.graph import Graph


@export("compat.v1.summary.FileWriter")
class FileWriter:
    """A writer of summaries and other events to a file in `logdir`, which is made if need be.

    graph: written at the start.  max_queue, flush_secs: events are written when more wait than
    that, or one comes so many seconds after the last time; also by flush and close.
    filename_suffix: ends the file's name.  `session` is accepted.  It is a context manager that
    closes.  RuntimeError in eager execution.

    >>> import tempfile
    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session, tempfile.TemporaryDirectory() as d:
    ...     summary = tf.summary.scalar("loss", tf.constant(0.5))
    ...     with tf.summary.FileWriter(d) as writer:
    ...         writer.add_summary(session.run(summary), global_step=1)
    """

    def __init__(
        self,
        logdir: PathLike,
        graph: Graph | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: object = None,
    ):
        messages()
        if dispatch.context.base is None:
            raise RuntimeError(
                compose(
                    "TW503",
                    "v1.summary.FileWriter is not compatible with eager execution.",
                    hint="tf.summary.create_file_writer, or `with tf.Graph().as_default()`",
                )
            )
        try:
            self._logdir = os.fsdecode(logdir)
        except TypeError:
            raise type_error("TW104", f"FileWriter: logdir={logdir!r}", "a path") from None
        self._options = int(max_queue), float(flush_secs), filename_suffix or ""
        self._file = EventFile(self._logdir, *self._options)
        self._described: set[str] = set()  # tags whose metadata are written
        self._runs: set[str] = set()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)
        if graph is not None:
            self.add_meta_graph(look_up("compat.v1.train.export_meta_graph")(graph=graph))

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def get_logdir(self) -> str:
        """Return the directory."""
        return self._logdir

    def add_event(self, event: Any) -> None:
        """Write an Event message; TypeError for other things.

        A closed writer warns and writes nothing.
        """
        if not isinstance(event, messages().Event):
            raise type_error("TW104", f"{type(event)} is not a valid proto.", "an Event message")
        if self._file.closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the "
                "FileWriter is explicitly reopened.",
                stacklevel=2,
            )
            return
        self._file.add(event)

    def _add(self, step: Any, **content: object) -> None:
        event = messages().Event(wall_time=time.time(), **content)
        if step is not None:
            event.step = int(step)
        self.add_event(event)

    def add_summary(self, summary: Any, global_step: TensorLike | None = None) -> None:
        """Write a Summary, a message or serialized; metadata only with the first of each tag.

        TypeError for other things.
        """
        kind = messages().Summary
        if isinstance(summary, bytes):
            summary = kind.FromString(summary)
        elif not isinstance(summary, kind):
            raise type_error("TW104", f"add_summary: summary={summary!r}", "a Summary, or bytes")
        copy = kind.FromString(summary.SerializeToString())
        for value in copy.value:
            if value.HasField("metadata"):
                if value.tag in self._described:
                    value.ClearField("metadata")
                self._described.add(value.tag)
        self._add(global_step, summary=copy)

    def add_graph(
        self, graph: Any, global_step: TensorLike | None = None, graph_def: Any = None
    ) -> None:
        """Write a graph, a `tf.Graph` or a GraphDef message; TypeError for other things."""
        graph = graph_def if graph is None else graph
        self._add(global_step, graph_def=graph_bytes(graph))

    def add_meta_graph(self, meta_graph_def: Any, global_step: TensorLike | None = None) -> None:
        """Write a MetaGraphDef message; TypeError for other things."""
        if not isinstance(meta_graph_def, messages().MetaGraphDef):
            raise type_error(
                "TW104",
                f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}",
            )
        self._add(global_step, meta_graph_def=meta_graph_def.SerializeToString())

    def add_session_log(self, session_log: Any, global_step: TensorLike | None = None) -> None:
        """Write a SessionLog message; TypeError for other things."""
        if not isinstance(session_log, messages().SessionLog):
            raise type_error(
                "TW104", f"add_session_log: session_log={session_log!r}", "a SessionLog message"
            )
        self._add(global_step, session_log=session_log)

    def add_run_metadata(
        self, run_metadata: RunMetadata, tag: str, global_step: TensorLike | None = None
    ) -> None:
        """Write the metadata of a run, under a tag of its own; ValueError if that was used."""
        if tag in self._runs:
            raise value_error(
                "TW207", f"The provided tag was already used for this event type: {tag!r}"
            )
        if not isinstance(run_metadata, Message):
            raise type_error(
                "TW104", f"add_run_metadata: run_metadata={run_metadata!r}", "a RunMetadata"
            )
        self._runs.add(tag)
        content = messages().RunMetadata()
        _fill(content, run_metadata)
        run = messages().TaggedRunMetadata(tag=tag, run_metadata=content.SerializeToString())
        self._add(global_step, tagged_run_metadata=run)

    def flush(self) -> None:
        """Flush the events to the file."""
        self._file.flush()

    def close(self) -> None:
        """Flush the events and close the file; a second time does nothing."""
        self._file.close()

    def reopen(self) -> None:
        """Go on, in another file, if this writer was closed."""
        if self._file.closed:
            self._file = EventFile(self._logdir, *self._options)


def _fill(message: Any, given: Message) -> None:
    """Copy the fields that both kinds of message have."""
    for name, field in message.DESCRIPTOR.fields_by_name.items():
        value = getattr(given, name, None)
        if isinstance(value, Message):
            _fill(getattr(message, name), value)
        elif isinstance(value, list) and field.message_type is not None:
            for item in value:
                if isinstance(item, Message):
                    _fill(getattr(message, name).add(), item)
        elif isinstance(value, int) and field.type == field.TYPE_UINT32:
            setattr(message, name, value % 2**32)  # numbers of threads are longer here
        elif isinstance(value, (int, float, str)):
            setattr(message, name, value)


@export("compat.v1.summary.FileWriterCache")
class FileWriterCache:
    """One FileWriter for each directory; a new one writes the default graph."""

    _writers: dict[str, FileWriter] = {}

    @staticmethod
    def clear() -> None:
        """Close all writers, and forget them."""
        for writer in FileWriterCache._writers.values():
            writer.close()
        FileWriterCache._writers = {}

    @staticmethod
    def get(logdir: str) -> FileWriter:
        """Return the writer for a directory, made if need be."""
        if logdir not in FileWriterCache._writers:
            FileWriterCache._writers[logdir] = FileWriter(logdir, default_graph())
        return FileWriterCache._writers[logdir]
