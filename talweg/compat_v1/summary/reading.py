"""Event files read back: `tf.compat.v1.train.summary_iterator`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.core.errors import value_error
from talweg.core.lazy import LazyModule
from talweg.pipeline.records import RecordReader, records_in
from talweg.summaries.events import messages

if TYPE_CHECKING:
    from talweg.compat_v1.summary import messages as summary_messages
    from talweg.core.annotations import PathLike
else:
    summary_messages = LazyModule("talweg.compat_v1.summary.messages")


@export("compat.v1.train.summary_iterator")
@as_it_is
def summary_iterator(path: PathLike) -> Iterator[Any]:
    """Return the Event messages of an event file, one after the other; the first says its version.

    NotFoundError if there is no file, DataLossError where a record is cut off or changed: the
    events before it have been given by then.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import talweg as tf
    >>> with tempfile.TemporaryDirectory() as logdir:
    ...     with tf.summary.create_file_writer(logdir).as_default():
    ...         done = tf.summary.scalar("loss", 0.5, step=3)
    ...     path = next(Path(logdir).iterdir())
    ...     for event in tf.compat.v1.train.summary_iterator(path):
    ...         for value in event.summary.value:
    ...             print(event.step, value.tag, tf.make_ndarray(value.tensor))
    3 loss 0.5
    """
    message = messages().Event
    path = os.fsdecode(path)
    RecordReader(path, "").close()  # so that a missing file is told at once
    return (message.FromString(data) for data in records_in(path))


@export("compat.v1.summary.get_summary_description")
@as_it_is
def get_summary_description(node_def: Any) -> Any:
    """Read the attribute `description` of a `TensorSummary` node, a SummaryDescription.

    ValueError for a node of another type.
    """
    if node_def.op != "TensorSummary":
        raise value_error("TW508", f"Can't get_summary_description on {node_def.op}")
    from google.protobuf import json_format

    text = node_def.attr["description"].s.decode()
    return json_format.Parse(text, summary_messages.SummaryDescription())
