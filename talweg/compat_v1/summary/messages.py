"""The message classes of summaries (`tf.Summary`, `tf.Event`): tensorboard's copies of them.

tensorboard is an optional package; without it, importing this module says what to install.
"""

from __future__ import annotations

from talweg.api.export import export_value

try:
    from tensorboard.compat.proto.event_pb2 import Event, LogMessage, SessionLog, TaggedRunMetadata
    from tensorboard.compat.proto.summary_pb2 import (
        HistogramProto,
        Summary,
        SummaryDescription,
        SummaryMetadata,
    )
except ImportError as error:
    raise ImportError(
        "summaries need the package tensorboard, which has the messages they are made of: "
        "pip install talweg[graphdef]"
    ) from error

export_value(Event, "compat.v1.Event", "compat.v1.summary.Event")
export_value(HistogramProto, "compat.v1.HistogramProto")
export_value(LogMessage, "compat.v1.LogMessage")
export_value(SessionLog, "compat.v1.SessionLog", "compat.v1.summary.SessionLog")
export_value(Summary, "compat.v1.Summary", "compat.v1.summary.Summary")
export_value(SummaryDescription, "compat.v1.summary.SummaryDescription")
export_value(SummaryMetadata, "compat.v1.SummaryMetadata")
export_value(TaggedRunMetadata, "compat.v1.summary.TaggedRunMetadata")
