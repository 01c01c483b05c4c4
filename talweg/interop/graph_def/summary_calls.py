"""Calls of summary operations, as operations of TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.compat_v1.summary.operations import (
    SummaryCall,
    audio_message,
    image_message,
    merge_messages,
    tensor_message_of,
)
from talweg.interop.graph_def.tensor_protos import array_to_proto
from talweg.interop.graph_def.writing import Literal, WrittenNode


def summary_node(call: SummaryCall, operands: list) -> WrittenNode:
    """Write a summary call as the operation of its type."""
    make, details = call.args[:2]
    if make is merge_messages:
        return WrittenNode(call.tf_type, (operands,), {"N": len(operands)})
    tag, *rest = details
    inputs = [_text(tag), *operands]
    given: dict[str, Any] = {}
    if make is image_message:
        red = array_to_proto(np.array([255, 0, 0, 255], np.uint8))
        given = {"max_images": rest[0], "bad_color": red}
    elif make is audio_message:
        given = {"max_outputs": rest[0]}
    elif make is tensor_message_of:
        inputs.append(_text(rest[0]))
    return WrittenNode(call.tf_type, tuple(inputs), given)


def _text(value: bytes | str) -> Literal:
    return Literal(np.array(value.encode() if isinstance(value, str) else value, object))
