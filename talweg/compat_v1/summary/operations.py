"""Operations that make Summary messages of arrays: the messages, and the operations of a graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from talweg.core import dispatch
from talweg.core.dtypes import string
from talweg.core.errors import invalid
from talweg.eager.tensor import wrap
from talweg.formats import wav
from talweg.formats.images import png
from talweg.prims.opaque import whole
from talweg.summaries.events import messages, tensor_message
from talweg.summaries.media import stretch_range
from talweg.trace.opaque_calls import Hole, OpaqueCall

# -- arrays as messages


def scalar_message(array: np.ndarray, tag: str) -> Any:
    """Make the summary of one number."""
    if array.shape:
        raise invalid(
            "TW203",
            f"tags and values are not the same shape: [] != {list(array.shape)} (tag '{tag}')",
        )
    summary = messages().Summary()
    summary.value.add(tag=tag, simple_value=float(array))
    return summary


@cache
def _limits() -> np.ndarray:
    """Return the upper limits of a histogram's buckets,
    each a tenth farther from 0 than the last.
    """
    positive = [1e-12]
    while positive[-1] < 1e20:
        positive.append(positive[-1] * 1.1)
    most = np.finfo(np.float64).max
    positive[-1] = most
    return np.array([*[-x for x in reversed(positive)], 0.0, *positive])


def histogram_message(array: np.ndarray, tag: str) -> Any:
    """Make the summary of a histogram: the count of values in each bucket, and a few sums."""
    values = array.astype(np.float64).ravel()
    for wrong, text in (np.isnan, "Nan in summary histogram"), (np.isinf, "Infinity in Histogram"):
        if wrong(values).any():
            raise invalid("TW209", f"{text} for: {tag}")
    limits = _limits()
    places = np.minimum(np.searchsorted(limits, values, side="right"), len(limits) - 1)
    counts = np.bincount(places, minlength=len(limits))
    last = np.append(counts[1:] > 0, True) | (counts > 0)  # of a run of empty buckets
    summary = messages().Summary()
    most = float(limits[-1])
    histogram = summary.value.add(tag=tag).histo
    histogram.min, histogram.max = values.min(initial=most), values.max(initial=-most)
    histogram.num, histogram.sum = values.size, values.sum()
    histogram.sum_squares = values @ values
    histogram.bucket_limit.extend(limits[last].tolist())
    histogram.bucket.extend(counts[last].astype(float).tolist())
    return summary


def image_message(array: np.ndarray, tag: str, most: int) -> Any:
    """Return the first images of a batch, each under a tag of its own."""
    if array.ndim != 4 or array.shape[-1] not in (1, 3, 4):
        shape = ",".join(map(str, array.shape))
        raise invalid("TW203", f"Tensor must be 4-D with last dim 1, 3, or 4, not [{shape}]")
    summary = messages().Summary()
    for place, image in enumerate(array[:most]):
        pixels = image if image.dtype == np.uint8 else stretch_range(image)
        height, width, channels = image.shape
        value = summary.value.add(tag=f"{tag}/image" + (f"/{place}" if most > 1 else ""))
        value.image.height, value.image.width, value.image.colorspace = height, width, channels
        value.image.encoded_image_string = png.encode(pixels)
    return summary


def audio_message(array: np.ndarray, rate: np.ndarray, tag: str, most: int) -> Any:
    """Return the first sounds of a batch, each under a tag of its own."""
    if array.ndim not in (2, 3):
        raise invalid("TW203", f"Tensor must be 3-D or 2-D, got: {list(array.shape)}")
    summary = messages().Summary()
    for place, samples in enumerate(array.reshape(*array.shape[:2], -1)[:most]):
        audio = summary.value.add(tag=f"{tag}/audio" + (f"/{place}" if most > 1 else "")).audio
        audio.sample_rate, audio.content_type = float(rate), "audio/wav"
        audio.length_frames, audio.num_channels = samples.shape
        audio.encoded_audio_string = wav.encode(samples, int(rate))
    return summary


def tensor_message_of(array: np.ndarray, tag: str, metadata: bytes) -> Any:
    """Make the summary of a tensor, whose metadata name the plugin that shows it."""
    summary = messages().Summary()
    value = summary.value.add(tag=tag, tensor=tensor_message(array))
    value.metadata.ParseFromString(metadata)
    value.metadata.SetInParent()
    return summary


def merge_messages(*arrays: Any) -> Any:
    """Return the values of several messages, serialized; InvalidArgumentError for equal tags."""
    summary = messages().Summary()
    tags: set[str] = set()
    for data in [data for array in arrays for data in np.ravel(array)]:
        for value in messages().Summary.FromString(data).value:
            if value.tag in tags:
                text = f"Duplicate tag {value.tag} found in summary inputs"
                raise invalid("TW207", text, "tags that differ")
            tags.add(value.tag)
            summary.value.add().CopyFrom(value)
    return summary


# -- operations


def serialize_message(make: Callable[..., Any], details: tuple, *tensors: object) -> Any:
    """Return the message `make(*arrays, *details)` as a string tensor."""
    message = make(*[np.asarray(x._array) for x in tensors], *details)
    return wrap(np.array(message.SerializeToString(), object))


class SummaryCall(OpaqueCall):
    """A call of `serialize_message` that says of which type it is as an operation."""

    @property
    def tf_type(self) -> str:
        """TensorFlow's type of operation."""
        return TYPES[self.args[0]]


def operation(make: Callable[..., Any], details: tuple, tensors: list, name: str) -> Any:
    """Call `serialize_message` now, or in a graph as an operation of this name."""
    messages()
    graph = dispatch.context.base
    if graph is None:
        return serialize_message(make, details, *tensors)
    call = SummaryCall(serialize_message, (make, details, *map(Hole, range(len(tensors)))), {})
    (result,) = whole(*tensors, call=call, avals=(((), string),))
    node = result.node
    while node.prim is not whole:  # one of its results, which may wait for others
        node = node.inputs[0]
    graph.name_exactly(node, name)
    return result


TYPES = {
    scalar_message: "ScalarSummary",
    histogram_message: "HistogramSummary",
    image_message: "ImageSummary",
    audio_message: "AudioSummaryV2",
    tensor_message_of: "TensorSummaryV2",
    merge_messages: "MergeSummary",
}
