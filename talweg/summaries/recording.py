"""Writing a summary: where to, at which step, on which condition; `write` and what goes with it.

A summary in a graph is an operation that writes each time it runs, in program order, to the writer
that was the default when it was made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.composite_ops import as_it_is
from talweg.api.control import cond
from talweg.api.export import export
from talweg.api.scopes import name_scope
from talweg.core import dispatch, scope
from talweg.core.dtypes import bool_, int64, string
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.hooks import hooks
from talweg.eager.convert import convert_to_tensor
from talweg.eager.tensor import EagerTensor
from talweg.execute.call import quiet
from talweg.graph.symbol import Symbol
from talweg.prims.host import act
from talweg.summaries.events import messages, tensor_message
from talweg.summaries.writers import FileSummaryWriter, WriterAction, session_graph, state
from talweg.trace.bodies import BodyGraph

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

SUMMARIES = "_SUMMARY_V2"  # collection of the operations that write
_NOT_IN_NAMES = re.compile(r"[^-/\w.]")  # characters that no name of an operation has


# -- condition and step


def _condition() -> Any:
    """Return whether to record, a bool or a tensor of a graph."""
    if state.writer is None:
        return False
    condition = state.condition
    if callable(condition) and not hasattr(condition, "dtype"):
        condition = condition()
    if condition is None or isinstance(condition, bool):
        return condition is not False
    condition = convert_to_tensor(condition, bool_)
    return condition if type(condition) is Symbol else bool(condition)


@export("summary.should_record_summaries")
@as_it_is
def should_record_summaries() -> Any:
    """Return whether summaries are recorded: there is a default writer, and the condition allows
    it.

    >>> import talweg as tf
    >>> tf.summary.should_record_summaries()
    <tf.Tensor: shape=(), dtype=bool, numpy=False>
    """
    return _as_result(_condition())


def _as_result(value: object) -> Any:
    graph = dispatch.context.base
    value = convert_to_tensor(value, bool_)
    return value if graph is None or type(value) is Symbol else graph.bring_in(value)


@export("summary.record_if")
@contextmanager
def record_if(condition: TensorLike) -> Iterator[None]:
    """Return a context in which summaries are recorded if `condition` holds.

    condition: True, False, a bool tensor, which a graph looks at when it runs, or a function that
    gives one of these, called for each summary.  The innermost condition counts.

    >>> import talweg as tf
    >>> with tf.summary.record_if(lambda: tf.summary.experimental.get_step() % 100 == 0):
    ...     tf.summary.scalar("loss", 1.0)
    <tf.Tensor: shape=(), dtype=bool, numpy=False>
    """
    before, state.condition = state.condition, condition
    try:
        yield
    finally:
        state.condition = before


@export("summary.experimental.get_step")
@as_it_is
def get_step() -> Any:
    """Return the default step of this thread; None if there is none.

    >>> import talweg as tf
    >>> tf.summary.experimental.set_step(3)
    >>> tf.summary.experimental.get_step()
    3
    >>> tf.summary.experimental.set_step(None)
    """
    return state.step


@export("summary.experimental.set_step")
@as_it_is
def set_step(step: TensorLike) -> None:
    """Set the default step: an int, an int64 tensor or variable, or None for no default.

    A graph reads a variable each time it writes; an int stays what it was in the trace.
    """
    state.step = step


# -- names


def _present_scope() -> str:
    """Return the name scope in force; bodies of branches and loops are inside that of their
    function.

    TensorFlow puts the name of the branch or loop itself (`while/`, `cond_1/`) before tags, too.
    Here a tag is the same whether or not AutoGraph has made a graph of an `if` or `for`.
    """
    graph = dispatch.context.base
    if graph is None:
        return scope.current.prefix
    prefix = graph.scope
    while isinstance(graph, BodyGraph):
        graph = graph.outer
        prefix = ("" if graph is None else graph.scope) + prefix
    return prefix


@export("summary.experimental.summary_scope")
@as_it_is
def summary_scope(
    name: str, default_name: str = "summary", values: TensorLike | None = None
) -> Any:
    """Return a context, a name scope for a summary; entering gives its tag and the scope.

    The tag is `name` (`default_name` if that is empty) behind the scopes in force; for the scope
    characters are left out that no operation's name has.  TypeError for what is no string.

    >>> import talweg as tf
    >>> with tf.summary.experimental.summary_scope("my loss") as names:
    ...     names
    ('my loss', 'myloss/')
    """
    name = name or default_name
    if not isinstance(name, str):
        raise type_error("TW104", f"the name of a summary is {name!r}", "a string")
    return _scope(name, _NOT_IN_NAMES.sub("", name).lstrip("-/_") or default_name)


@contextmanager
def _scope(name: str, inner: str) -> Iterator[tuple[str, str]]:
    tag = _present_scope() + name
    with name_scope(inner) as entered:
        yield tag, entered


# -- writing


def note(result: object) -> Any:
    """Return `result`, a tensor; a graph of sessions remembers it among its summaries."""
    graph = dispatch.context.base
    if graph is not None and graph is session_graph() and type(result) is Symbol:
        graph.add_to_collection(SUMMARIES, result)
    return result


def _write_event(
    writer: FileSummaryWriter,
    make: Callable[..., dict],
    details: tuple,
    step: np.generic | np.ndarray,
    *arrays: object,
) -> None:
    writer.add(step, **make(*details, *arrays))


def record(
    make: Callable[..., dict],
    details: tuple,
    operands: Callable[[], list],
    step: object,
    tf_type: str = "WriteSummary",
) -> Any:
    """Write the event that has the fields `make(*details, *arrays)`, now or when a graph runs.

    `operands` gives the tensors; it is called if the summary may be recorded at all.  Whether it
    was is the result, a bool tensor.
    """
    condition = _condition()
    if condition is False:
        return _as_result(False)
    step = state.step if step is None else step

    def write_it() -> Any:
        if step is None:
            raise value_error(
                "TW508",
                "No step set. Please specify one either through the `step` argument or through "
                "tf.summary.experimental.set_step()",
            )
        number = convert_to_tensor(step, int64)
        call = WriterAction(state.writer, tf_type, _write_event, make, details)
        tensors = [number, *operands()]
        if dispatch.context.base is None and all(type(x) is EagerTensor for x in tensors):
            quiet(call, *[x._array for x in tensors])
            return _as_result(True)
        return act(*tensors, call=call)

    if condition is True:
        return note(write_it())
    return note(cond(condition, write_it, lambda: convert_to_tensor(False)))


def tag_event(
    tag: str, metadata: bytes, prepare: Callable[..., Any] | None, options: tuple, *arrays: object
) -> dict:
    """Return the fields of an event with one tensor, what `prepare` makes of the arrays."""
    array = arrays[0] if prepare is None else prepare(*arrays, *options)
    summary = messages().Summary()
    value = summary.value.add(tag=tag, tensor=tensor_message(array))
    if metadata:
        value.metadata.ParseFromString(metadata)
    return {"summary": summary}


@export("summary.write")
@as_it_is
def write(
    tag: str,
    tensor: Any,
    step: TensorLike | None = None,
    metadata: Any = None,
    name: str | None = None,
) -> Any:
    """Write a tensor of any shape under `tag` to the default writer; whether it was written.

    tensor: a value, or a function that gives one, called only if the summary is recorded.
    step: an int, an int64 tensor or variable; by default that of `set_step` or `as_default`.
    metadata: a SummaryMetadata message, serialized or not.  ValueError if there is no step,
    NotFoundError if the default writer is closed.

    >>> import talweg as tf
    >>> tf.summary.write("weights", [1.0, 2.0], step=0)  # there is no default writer
    <tf.Tensor: shape=(), dtype=bool, numpy=False>
    """
    if hasattr(metadata, "SerializeToString"):
        metadata = metadata.SerializeToString()

    def operands() -> list:
        value = tensor() if callable(tensor) and not hasattr(tensor, "dtype") else tensor
        return [convert_to_tensor(value)]

    result = record(tag_event, (_text(tag), metadata or b"", None, ()), operands, step)
    return name_result(result, name)


def _text(tag: int | str) -> str:
    """Return a tag as a string; TypeError for other things."""
    tag = tag.numpy() if hasattr(tag, "numpy") else tag
    tag = tag.decode() if isinstance(tag, bytes) else tag
    if not isinstance(tag, str):
        raise type_error("TW104", f"the tag of a summary is {tag!r}", "a string")
    return tag


def name_result(result: object, name: str | None) -> Any:
    """Return `result`, under this name if it was made in a graph."""
    if name and type(result) is Symbol and dispatch.context.base is result.graph:
        result.graph.label(result.node, name)
    return result


def _raw(data: np.ndarray) -> dict:
    message = messages()
    try:
        return {"summary": message.Summary.FromString(np.asarray(data)[()])}
    except Exception:  # noqa: BLE001 -- protobuf's class of error varies
        raise invalid("TW508", "the bytes are no Summary message") from None


@export("summary.experimental.write_raw_pb")
@as_it_is
def write_raw_pb(
    tensor: TensorLike, step: TensorLike | None = None, name: str | None = None
) -> Any:
    """Write a serialized Summary message, a string tensor, to the default writer.

    ValueError if there is no step, InvalidArgumentError for bytes that are no Summary.
    """

    def operands() -> list:
        return [convert_to_tensor(tensor, string)]

    return name_result(record(_raw, (), operands, step, "WriteRawProtoSummary"), name)


@export("summary.graph")
@as_it_is
def graph(graph_data: Any) -> Any:
    """Write a graph, a `tf.Graph` or GraphDef message, to the default writer; whether it was.

    ValueError in a graph, TypeError for other things.
    """
    if dispatch.context.base is not None:
        raise value_error("TW501", "graph(): Must be run in eager mode")
    if _condition() is False:
        return _as_result(False)
    state.writer.add(0, graph_def=graph_bytes(graph_data))
    return _as_result(True)


def graph_bytes(graph_data: object) -> bytes:
    """Return a graph or GraphDef, serialized; TypeError for other things."""
    if hasattr(graph_data, "as_graph_def"):
        graph_data = hooks.graph_def(graph_data, add_shapes=True)
    if not hasattr(graph_data, "SerializeToString"):
        raise type_error(
            "TW104", f"{graph_data!r} is no graph", "The graph must be a `Graph` or a `GraphDef`"
        )
    return graph_data.SerializeToString()


@export("summary.flush")
@as_it_is
def flush(writer: Any = None, name: str | None = None) -> Any:
    """Have a writer, by default the default writer, write what waits.

    >>> import talweg as tf
    >>> tf.summary.flush()  # there is no default writer
    """
    writer = state.writer if writer is None else writer
    return None if writer is None else writer.flush()
