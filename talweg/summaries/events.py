"""Event files: records of Event messages, whole ones always, as TensorBoard reads them.

The message classes are those of the optional package tensorboard; they are looked up when a summary
is first written, so that nothing here needs it before.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
import types
import weakref
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import as_dtype
from talweg.core.errors import OpError
from talweg.core.system_errors import from_system
from talweg.formats.files import make_folder
from talweg.pipeline.records import record_of

if TYPE_CHECKING:
    from talweg.core.annotations import PathLike

LOGGER = logging.getLogger("talweg")
VERSION = "brain.Event:2"  # of the format of event files
_numbers = iter(range(2**62))  # tells files of one process apart


@cache
def messages() -> Any:
    """Return the message classes; ImportError says what to install if they are not there."""
    try:
        from tensorboard.compat.proto import event_pb2, graph_pb2, meta_graph_pb2, summary_pb2
        from tensorboard.compat.proto.config_pb2 import RunMetadata
        from tensorboard.compat.proto.tensor_pb2 import TensorProto
    except ImportError as error:
        raise ImportError(
            "summaries need the package tensorboard, which has the messages they are made of: "
            "pip install talweg[graphdef]"
        ) from error
    return types.SimpleNamespace(
        Event=event_pb2.Event,
        TaggedRunMetadata=event_pb2.TaggedRunMetadata,
        GraphDef=graph_pb2.GraphDef,
        MetaGraphDef=meta_graph_pb2.MetaGraphDef,
        SessionLog=event_pb2.SessionLog,
        Summary=summary_pb2.Summary,
        SummaryMetadata=summary_pb2.SummaryMetadata,
        HistogramProto=summary_pb2.HistogramProto,
        TensorProto=TensorProto,
        RunMetadata=RunMetadata,
    )


def has_messages() -> bool:
    """Return whether the package is there that summaries need."""
    try:
        messages()
    except ImportError:
        return False
    return True


def tensor_message(array: object) -> Any:
    """Return an array as a TensorProto: strings one by one, everything else as bytes."""
    array = np.asarray(array)
    dtype = as_dtype("string") if array.dtype.kind == "O" else as_dtype(array.dtype)
    message = messages().TensorProto(dtype=dtype.as_datatype_enum)
    message.tensor_shape.SetInParent()
    for size in array.shape:
        message.tensor_shape.dim.add().size = size
    if array.dtype.kind == "O":
        message.string_val.extend(array.ravel().tolist())
    elif array.size:
        message.tensor_content = np.ascontiguousarray(array).tobytes()
    return message


def metadata_message(plugin: str, description: str | None = None, content: bytes = b"") -> bytes:
    """Serialize the metadata by which TensorBoard chooses the part that shows a summary."""
    message = messages().SummaryMetadata(summary_description=description or "")
    message.plugin_data.plugin_name, message.plugin_data.content = plugin, content
    return message.SerializeToString()


class EventFile:
    """A file of events in a directory, which is made if need be.

    Records are written whole, in one call, and not buffered: a process that is killed leaves a file
    that can be read, up to the last record but for what waited.

    Events wait in a queue; they are written when more than `max_queue` wait or the last time was
    `flush_seconds` ago, by `flush` and `close`, and when nobody holds the file any more.
    """

    def __init__(
        self, logdir: PathLike, max_queue: int = 10, flush_seconds: float = 120.0, suffix: str = ""
    ):
        make_folder(os.fsdecode(logdir))
        now = time.time()
        writer_name = f"{socket.gethostname()}.{os.getpid()}.{next(_numbers)}"
        name = f"events.out.tfevents.{int(now):010d}.{writer_name}{suffix}"
        self.path = Path(os.fsdecode(logdir)) / name
        self.max_queue, self.flush_seconds = max_queue, flush_seconds
        self._queue = _Queue()
        self._lock = threading.RLock()
        self._written = now
        self._file = self.path.open("wb", buffering=0)
        self._finalizer = weakref.finalize(self, _finish_unasked, self._file, self._queue)
        first = messages().Event(wall_time=now, file_version=VERSION)
        first.source_metadata.writer = "talweg"
        self.add(first)
        self.flush()

    @property
    def closed(self) -> bool:
        """Whether the file takes no more events."""
        return self._file.closed

    def add(self, event: Any) -> None:
        """Put an Event message at the end."""
        data = record_of(event.SerializeToString())
        with self._lock:
            self._queue.waiting().append(data)
            late = time.time() - self._written > self.flush_seconds
            if late or len(self._queue.waiting()) > self.max_queue:
                self.flush()

    def flush(self) -> None:
        """Write what waits; nothing if the file is closed."""
        with self._lock:
            if not self._file.closed:
                _write(self._file, self._queue)
                self._written = time.time()

    def close(self) -> None:
        """Write what waits, and close the file; a second time does nothing."""
        with self._lock:
            if self._finalizer.detach():
                _finish(self._file, self._queue)


class _Queue:
    """Records that wait.  A forked process begins without those that its parent will write."""

    def __init__(self) -> None:
        self._records: list[bytes] = []
        self._process = os.getpid()

    def waiting(self) -> list[bytes]:
        """Return the records of this process."""
        if self._process != os.getpid():
            self._records, self._process = [], os.getpid()
        return self._records


def _write(file: Any, queue: _Queue) -> None:
    """Write what waits; where that fails, as on a full disk, nothing is left of it and it waits."""
    records, start = queue.waiting(), file.tell()
    data = memoryview(b"".join(records))
    try:
        while data:  # an unbuffered file may take a part only
            data = data[file.write(data) :]
    except OSError as error:
        with contextlib.suppress(OSError):  # which is not the error that is told
            file.truncate(start)
        file.seek(start)
        raise from_system(error, os.fsdecode(file.name), start) from None
    records.clear()


def _finish(file: Any, queue: _Queue) -> None:
    """Write what waits, and close the file, also where that fails."""
    try:
        _write(file, queue)
    finally:
        file.close()


def _finish_unasked(file: object, queue: _Queue) -> None:
    """Finish a file that nobody holds any more: a failed write is reported once."""
    try:
        _finish(file, queue)
    except OpError as error:
        LOGGER.warning("summaries are lost: %s", error.message)
