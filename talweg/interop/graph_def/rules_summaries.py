"""Summaries of TensorFlow 1 in GraphDefs: operations that make messages of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.compat_v1.summary import operations as messages_of
from talweg.compat_v1.summary.operations import serialize_message
from talweg.core.aval import Aval
from talweg.core.dtypes import string
from talweg.core.errors import invalid
from talweg.eager.tensor import wrap
from talweg.interop.graph_def.rules_basic import defer_function
from talweg.interop.graph_def.values import rule

if TYPE_CHECKING:
    from talweg.interop.graph_def.building import GraphBuilder
    from talweg.interop.graph_def.reading import NodeRecord


def _text(tag: Any) -> str:
    return bytes(np.asarray(tag._array, object)[()]).decode("utf-8", "replace")


def _scalar(tags: Any, values: Any) -> Any:
    """Write one number, or one for each of several tags."""
    names, numbers = np.asarray(tags._array, object), np.asarray(values._array)
    if names.shape != numbers.shape:
        shapes = f"{list(names.shape)} != {list(numbers.shape)}"
        raise invalid("TW203", f"tags and values are not the same shape: {shapes}")
    if not names.shape:
        return serialize_message(messages_of.scalar_message, (_text(tags),), values)
    parts = [
        _scalar(wrap(np.array(name, object)), wrap(number))
        for name, number in zip(names.ravel(), numbers.ravel())
    ]
    return serialize_message(messages_of.merge_messages, (), *parts)


def _histogram(tag: object, values: object) -> Any:
    return serialize_message(messages_of.histogram_message, (_text(tag),), values)


def _image(tag: object, images: object, most: int) -> Any:
    return serialize_message(messages_of.image_message, (_text(tag), most), images)


def _audio(tag: object, sounds: object, rate: object, most: int) -> Any:
    return serialize_message(messages_of.audio_message, (_text(tag), most), sounds, rate)


def _audio_at(tag: str, sounds: object, rate: float, most: int) -> Any:
    return _audio(tag, sounds, wrap(np.float32(rate)), most)


def _tensor(tag: object, tensor: object, metadata: Any) -> Any:
    data = bytes(np.asarray(metadata._array, object)[()])
    return serialize_message(messages_of.tensor_message_of, (_text(tag), data), tensor)


def _write_tensor_summary(tensor: object, name: str) -> Any:
    return serialize_message(messages_of.tensor_message_of, (name, b""), tensor)


def _merge(*parts: object) -> Any:
    return serialize_message(messages_of.merge_messages, (), *parts)


_FUNCTIONS: dict[str, tuple] = {  # with the attributes that follow the operands
    "ScalarSummary": (_scalar,),
    "HistogramSummary": (_histogram,),
    "ImageSummary": (_image, "max_images"),
    "AudioSummaryV2": (_audio, "max_outputs"),
    "AudioSummary": (_audio_at, "sample_rate", "max_outputs"),
    "TensorSummaryV2": (_tensor,),
    "MergeSummary": (_merge,),
}


@rule(*_FUNCTIONS)
def summaries(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return a string tensor, a message."""
    function, *names = _FUNCTIONS[item.op]
    operands = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], list) else inputs
    arguments = tuple([item.attributes[name] for name in names])
    return [defer_function(item, function, tuple(operands), arguments, Aval((), string))]


@rule("TensorSummary")
def summarize_tensor(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return a summary whose tag is the name of its operation."""
    return [
        defer_function(item, _write_tensor_summary, tuple(inputs), (item.name,), Aval((), string))
    ]
