"""tf.compat.v1.summary: operations that make Summary messages, serialized, as string tensors.

A session fetches them, and a FileWriter (`summary_files.py`) writes them.  In eager mode with a
default writer of `tf.summary` and a default step they write there instead, as in TensorFlow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.api.scopes import name_scope
from talweg.api.tensors import cast
from talweg.compat_v1.graphs import GraphKeys, default_graph
from talweg.compat_v1.sessions.session import get_default_session
from talweg.compat_v1.summary.operations import (
    TYPES,
    audio_message,
    histogram_message,
    image_message,
    merge_messages,
    operation,
    scalar_message,
    tensor_message_of,
)
from talweg.core import dispatch
from talweg.core.dtypes import float32, string
from talweg.core.errors import compose, type_error, value_error
from talweg.eager.convert import convert_to_tensor
from talweg.summaries import values as now
from talweg.summaries.events import messages, metadata_message
from talweg.summaries.recording import SUMMARIES, graph_bytes, record, tag_event
from talweg.summaries.writers import WRITERS, session_graph, state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talweg.compat_v1.sessions.session import Session
    from talweg.core.annotations import TensorLike
    from talweg.graph.graph import Graph

_NOT_IN_TAGS = re.compile(r"[^-/\w.]")
REALS = (
    "float32 float64 int32 uint8 int16 int8 int64 bfloat16 uint16 float16 uint32 uint64",
    "uint8 float32 float16 float64",
)


# -- names, and operations that make messages


def _tag(name: str, family: str | None) -> Any:
    """Return a context that gives the tag of a summary and the name of its operation."""
    name = _clean(name)
    return _enter(name, "") if family is None else _enter(name, f"{_clean(family)}/")


@contextmanager
def _enter(name: str, family: str) -> Iterator[tuple[str, str]]:
    with name_scope(family + name) as entered:
        yield family + entered[:-1], entered[:-1]


def _clean(name: int | str) -> str:
    """Return a name with "_" for the characters
    that a name cannot have; TypeError for other things.
    """
    if not isinstance(name, str):
        raise type_error("TW104", f"the name of a summary is {name!r}", "a string")
    return _NOT_IN_TAGS.sub("_", name).lstrip("/")


def _collect(result: object, collections: object) -> Any:
    """Add `result` to these collections of the graph, by default to the summaries."""
    graph = session_graph()
    if graph is not None and dispatch.context.base is graph:
        names = [GraphKeys.SUMMARIES] if collections is None else collections
        graph.add_to_collections(names, result)
    return result


def _goes_to_writer() -> bool:
    """Return whether summaries go to the default writer of `tf.summary`."""
    return session_graph() is None and state.writer is not None and state.step is not None


def _write(
    tag: str,
    plugin: str,
    tensor: TensorLike,
    prepare: Callable[..., Any] | None = None,
    *options: object,
) -> Any:
    """Write to the default writer of `tf.summary`; the result is an empty message."""
    record(tag_event, (tag, metadata_message(plugin), prepare, options), lambda: [tensor], None)
    return convert_to_tensor(b"")


def _check_dtype(tensor: TensorLike, argument: str, allowed: str) -> None:
    if tensor.dtype.name not in allowed.split():
        raise type_error(
            "TW102",
            f"Value passed to parameter '{argument}' has DataType {tensor.dtype.name} not in list "
            f"of allowed values: {', '.join(allowed.split())}",
        )


# -- the summaries


@export("compat.v1.summary.scalar")
@as_it_is
def scalar(
    name: str,
    tensor: TensorLike,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Any:
    """Return a string tensor, a serialized Summary with one number.

    name: of the operation, and with the scopes in force the tag.  tensor: a real scalar.
    collections: those of the graph that get the result, ["summaries"] by default, for `merge_all`.
    family: put before the name, and once more before the tag.  TypeError for other dtypes,
    InvalidArgumentError for other shapes.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     summary = tf.summary.scalar("loss", tf.constant(0.5))
    ...     tf.Summary.FromString(session.run(summary)).value[0].simple_value
    0.5
    """
    values = convert_to_tensor(tensor)
    _check_dtype(values, "values", REALS[0])
    with _tag(name, family) as (tag, full):
        if _goes_to_writer():
            return _write(tag, "scalars", cast(values, float32))
        return _collect(operation(scalar_message, (tag,), [values], full), collections)


@export("compat.v1.summary.histogram")
@as_it_is
def histogram(
    name: str,
    values: TensorLike,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Any:
    """Return a string tensor, a serialized Summary with a histogram of real values of any shape.

    The arguments are those of `scalar`.  InvalidArgumentError for values that are not finite.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     summary = tf.summary.histogram("weights", tf.constant([1.0, 2.0]))
    ...     tf.Summary.FromString(session.run(summary)).value[0].histo.sum_squares
    5.0
    """
    values = convert_to_tensor(values)
    _check_dtype(values, "values", REALS[0])
    with _tag(name, family) as (tag, full):
        if _goes_to_writer():
            return _write(tag, "histograms", values, now.histogram_buckets, now.BUCKETS)
        return _collect(operation(histogram_message, (tag,), [values], full), collections)


def _at_least_one(most: int, function: str) -> int:
    if int(most) < 1:
        raise value_error("TW207", f"{function}: max_outputs={most!r}", "at least 1")
    return int(most)


@export("compat.v1.summary.image")
@as_it_is
def image(
    name: str,
    tensor: TensorLike,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Any:
    """Return a string tensor, a serialized Summary with the first `max_outputs` images, as PNG.

    tensor: `[count, height, width, channels]` with 1, 3 or 4 channels; uint8, or floats, which are
    scaled image by image so that the greatest magnitude is seen.  The other arguments are those of
    `scalar`.  TypeError for other dtypes, InvalidArgumentError for other shapes.
    """
    most = _at_least_one(max_outputs, "image")
    tensor = convert_to_tensor(tensor)
    _check_dtype(tensor, "tensor", REALS[1])
    with _tag(name, family) as (tag, full):
        if _goes_to_writer():
            return _write(tag, "images", tensor, now.image_strings, most)
        return _collect(operation(image_message, (tag, most), [tensor], full), collections)


@export("compat.v1.summary.audio")
@as_it_is
def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: TensorLike,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Any:
    """Return a string tensor, a serialized Summary with the first `max_outputs` sounds, as WAV.

    tensor: `[count, length]` or `[count, length, channels]`, float32 in [-1, 1].  sample_rate: a
    float32 scalar, in Hz.  The other arguments are those of `scalar`.
    """
    most = _at_least_one(max_outputs, "audio")
    operands = [convert_to_tensor(tensor, float32), convert_to_tensor(sample_rate, float32)]
    with _tag(name, family) as (tag, full):
        return _collect(operation(audio_message, (tag, most), operands, full), collections)


@export("compat.v1.summary.tensor_summary")
@as_it_is
def tensor_summary(
    name: str,
    tensor: TensorLike,
    summary_description: str | None = None,
    collections: Sequence[str] | None = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Any:
    """Return a string tensor, a serialized Summary with a tensor of any shape and dtype.

    summary_metadata: a SummaryMetadata message, in which the description and the name to display
    are filled in.  The other arguments are those of `scalar`.
    """
    metadata = messages().SummaryMetadata()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if display_name is not None:
        metadata.display_name = display_name
    if summary_description is not None:
        metadata.summary_description = summary_description
    details = metadata.SerializeToString()
    tensor = convert_to_tensor(tensor)
    with _tag(name, family) as (tag, full):
        return _collect(operation(tensor_message_of, (tag, details), [tensor], full), collections)


@export("compat.v1.summary.text")
@as_it_is
def text(name: str, tensor: TensorLike, collections: Sequence[str] | None = None) -> Any:
    """Return a string tensor, a serialized Summary with strings of any shape; ValueError for
    others.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     summary = tf.summary.text("note", tf.constant("**a**"))
    ...     tf.Summary.FromString(session.run(summary)).value[0].tensor.string_val[0]
    b'**a**'
    """
    tensor = convert_to_tensor(tensor)
    if tensor.dtype is not string:
        raise value_error(
            "TW102", f"Expected tensor {tensor!r} to have dtype string, got {tensor.dtype!r}"
        )
    if _goes_to_writer():
        now.text(name, tensor)
        return convert_to_tensor(b"")
    with _tag(name, None) as (tag, full):
        details = (tag, metadata_message("text"))
        return _collect(operation(tensor_message_of, details, [tensor], full), collections)


# -- several at once


def _refuse_eager() -> None:
    if dispatch.context.base is None:
        raise RuntimeError(
            compose(
                "TW503",
                "Merging tf.summary.* ops is not compatible with eager execution.",
                hint="tf.summary.create_file_writer, and tf.summary.scalar",
            )
        )


@export("compat.v1.summary.merge")
@as_it_is
def merge(
    inputs: TensorLike, collections: Sequence[str] | None = None, name: str | None = None
) -> Any:
    """Return a string tensor, one serialized Summary with the values of several.

    collections: those of the graph that get the result, none by default.  RuntimeError in eager
    execution, ValueError for no inputs, TypeError for what are no strings, InvalidArgumentError
    where two have the same tag.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     parts = [tf.summary.scalar(name, tf.constant(0.5)) for name in ("a", "b")]
    ...     summary = tf.Summary.FromString(session.run(tf.summary.merge(parts)))
    ...     [value.tag for value in summary.value]
    ['a', 'b']
    """
    _refuse_eager()
    if not isinstance(inputs, (list, tuple)):
        raise type_error("TW104", f"merge: inputs={inputs!r}", "a list of string tensors")
    tensors = [convert_to_tensor(x) for x in inputs]
    if not tensors:
        raise value_error("TW207", "merge: inputs has length 0", "at least one summary")
    wrong = [x.dtype.name for x in tensors if x.dtype is not string]
    if wrong:
        raise type_error("TW102", f"merge: inputs have the types {wrong}", "string tensors")
    base = _clean(name or "Merge")
    with name_scope(base) as scope:
        inner = scope + (base if name else TYPES[merge_messages])
        result = operation(merge_messages, (), tensors, inner)
    return _collect(result, [] if collections is None else collections)


@export("compat.v1.summary.merge_all")
@as_it_is
def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Any:
    """Call `merge` for all summaries of the default graph; None if there are none.

    key: the collection they are in.  scope: a regular expression with which their names begin.
    RuntimeError in eager execution.
    """
    _refuse_eager()
    found = default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


# -- writers and summaries of v2 in graphs of sessions


@export("compat.v1.summary.all_v2_summary_ops")
@as_it_is
def all_v2_summary_ops() -> Any:
    """Return the operations `tf.summary` made in the default graph; None in eager execution."""
    if dispatch.context.base is None:
        return None
    return default_graph().get_collection(SUMMARIES)


@export("compat.v1.summary.initialize")
@as_it_is
def initialize(graph: Graph | None = None, session: Session | None = None) -> None:
    """Open the writers that `tf.summary.create_file_writer` made in the default graph.

    graph: a graph to write to the default writer.  session: by default the default session.
    RuntimeError without a default writer, ValueError without a session.
    """
    if dispatch.context.base is None:
        return
    if state.writer is None:
        raise RuntimeError(
            compose(
                "TW503",
                "No default SummaryWriter found",
                "a writer in force",
                "with writer.as_default():",
            )
        )
    session = get_default_session() if session is None else session
    if session is None:
        raise value_error("TW503", "initialize: there is no default session", "session=...")
    session.run(default_graph().get_collection(WRITERS))
    if graph is not None:
        state.writer.add(0, graph_def=graph_bytes(graph))
