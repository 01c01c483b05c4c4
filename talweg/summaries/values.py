"""The summaries that TensorBoard shows: scalars, texts, histograms, images, sounds.

Each is one tensor with metadata that names the part of TensorBoard it is for.  What the tensor
needs beyond the data (buckets, encodings) is computed when, and only if, it is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.api.tensors import cast
from talweg.core.dtypes import float32, float64, string
from talweg.core.errors import invalid, type_error, value_error
from talweg.eager.convert import convert_to_tensor
from talweg.formats import wav
from talweg.formats.images import png
from talweg.graph.symbol import Symbol
from talweg.summaries.events import metadata_message
from talweg.summaries.media import as_bytes, check_dtype_of_image
from talweg.summaries.recording import record, summary_scope, tag_event
from talweg.summaries.writers import state

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import TensorLike

BUCKETS = 30  # of a histogram, by default
WAV = b"\x10\x0b"  # the content of metadata that says that sounds are WAV files


def _summary(
    kind: str,
    plugin: str,
    name: str,
    data: object,
    step: object,
    description: str | None,
    prepare: Callable[..., Any] | None,
    options: tuple = (),
    content: bytes = b"",
) -> Any:
    """Record `prepare(array, *options)` under the tag that `name` gives."""
    with summary_scope(name, f"{kind}_summary") as (tag, _):
        if state.writer is None:
            return record(tag_event, (), lambda: [], step)
        metadata = metadata_message(plugin, description, content)
        return record(tag_event, (tag, metadata, prepare, options), lambda: [data], step)


def _check_rank(data: Any, rank: int) -> None:
    found = data.shape.rank
    if found is not None and found != rank:
        text = "Expected scalar shape" if rank == 0 else f"Tensor must have rank {rank}"
        raise value_error("TW203", f"{text}, saw shape: {data.shape}")


def _check_known_rank(array: np.generic | np.ndarray, rank: int) -> np.ndarray:
    """Return an array whose rank a graph may not have known."""
    array = np.asarray(array)
    if array.ndim != rank:
        raise invalid("TW203", f"a summary has the shape {array.shape}", f"rank {rank}")
    return array


def _scalar(array: np.generic | np.ndarray) -> np.ndarray:
    return _check_known_rank(array, 0)


@export("summary.scalar")
@as_it_is
def scalar(
    name: str, data: TensorLike, step: TensorLike | None = None, description: str | None = None
) -> Any:
    """Write one number, as float32, to the default writer; whether it was written.

    name: the tag, behind the name scopes in force.  step: an int, an int64 tensor or variable; by
    default that of `set_step` or `as_default`.  description: text for TensorBoard, Markdown.
    In a graph it is an operation: in a function it runs at each call, in order; in a graph of
    sessions when it is fetched.  ValueError for other shapes than [] and if there is no step.

    >>> import talweg as tf
    >>> tf.summary.scalar("loss", 0.25, step=1)  # there is no default writer
    <tf.Tensor: shape=(), dtype=bool, numpy=False>
    """
    data = convert_to_tensor(data)
    _check_rank(data, 0)
    return _summary("scalar", "scalars", name, cast(data, float32), step, description, _scalar)


@export("summary.text")
@as_it_is
def text(
    name: str, data: TensorLike, step: TensorLike | None = None, description: str | None = None
) -> Any:
    """Write strings of any shape, shown as Markdown, a matrix as a table; whether it was written.

    The other arguments are those of `tf.summary.scalar`.  TypeError for what are no strings.

    >>> import talweg as tf
    >>> tf.summary.text("note", ["**a**", "b"], step=1)  # there is no default writer
    <tf.Tensor: shape=(), dtype=bool, numpy=False>
    """
    data = convert_to_tensor(data)
    if data.dtype is not string:
        raise type_error("TW102", f"tensor must be of type tf.string; got tf.{data.dtype.name}")
    return _summary("text", "text", name, data, step, description, None)


def histogram_buckets(array: np.generic | np.ndarray, count: int) -> np.ndarray:
    """Return `[count, 3]`: left edge, right edge and how many of the values lie between, for each
    bucket.

    Equal values all are in the last bucket, whose edges they are; no values give zeros.

    >>> histogram_buckets(np.array([1.0, 2.0, 5.0]), 2)
    array([[1., 3., 2.],
           [3., 5., 1.]])
    """
    values, count = np.asarray(array).ravel(), max(count, 0)
    values = values.real.astype(np.float64)
    table = np.zeros((count, 3))
    if not values.size or not count:
        return table
    least, most = values.min(), values.max()
    if most == least:
        table[:, :2], table[-1, 2] = most, values.size
        return table
    width = (most - least) / count
    places = np.floor((values - least) / width)
    places = np.minimum(places[places >= 0], count - 1).astype(np.int64)
    edges = np.append(least + np.arange(count) * width, most)
    table[:, 0], table[:, 1] = edges[:-1], edges[1:]
    table[:, 2] = np.bincount(places, minlength=count)
    return table


@export("summary.histogram")
@as_it_is
def histogram(
    name: str,
    data: TensorLike,
    step: TensorLike | None = None,
    buckets: int | None = None,
    description: str | None = None,
) -> Any:
    """Write how the values of `data`, of any shape, are distributed; whether it was written.

    buckets: how many of equal width there are between the least and the greatest value, 30.  The
    tensor written is `[buckets, 3]`, float64: left edge, right edge, count.  The other arguments
    are those of `tf.summary.scalar`.

    >>> import talweg as tf
    >>> tf.summary.histogram("weights", tf.zeros([3, 4]), step=1)  # there is no default writer
    <tf.Tensor: shape=(), dtype=bool, numpy=False>
    """
    count = BUCKETS if buckets is None else int(buckets)
    data = convert_to_tensor(data)
    if data.dtype is string:
        data = cast(data, float64)  # which says that it cannot be done
    options = (count,)
    return _summary(
        "histogram", "histograms", name, data, step, description, histogram_buckets, options
    )


def image_strings(array: np.ndarray, most: int) -> np.ndarray:
    """Return width, height, and the first `most` images of a batch as PNG files."""
    images = _check_known_rank(array, 4)
    height, width = images.shape[1:3]
    files = [png.encode(image) for image in as_bytes(images[:most])]
    return np.array([str(width).encode(), str(height).encode(), *files], object)


@export("summary.image")
@as_it_is
def image(
    name: str,
    data: TensorLike,
    step: TensorLike | None = None,
    max_outputs: int = 3,
    description: str | None = None,
) -> Any:
    """Write the first `max_outputs` images of a batch as PNG; whether it was written.

    data: `[count, height, width, channels]` with 1 to 4 channels, floats in [0, 1] or integers
    that use the range of their dtype.  The tensor written holds the width, the height, then the
    files.  The other arguments are those of `tf.summary.scalar`.  ValueError for other ranks,
    InvalidArgumentError for other numbers of channels.

    >>> import talweg as tf
    >>> tf.summary.image("digits", tf.zeros([2, 28, 28, 1]), step=1)  # there is no default writer
    <tf.Tensor: shape=(), dtype=bool, numpy=False>
    """
    data = convert_to_tensor(data)
    _check_rank(data, 4)
    check_dtype_of_image(data.dtype)
    return _summary(
        "image", "images", name, data, step, description, image_strings, (_count(max_outputs),)
    )


def _count(most: int) -> int:
    """Return a number of outputs; ValueError for negative ones."""
    if type(most) is Symbol or int(most) < 0:
        raise value_error("TW207", f"max_outputs={most!r}", "an int of at least 0")
    return int(most)


def _sounds(array: np.ndarray, rate: int, most: int) -> np.ndarray:
    sounds = _check_known_rank(array, 3)[:most]
    table = np.empty((len(sounds), 2), object)
    table[:, 1] = b""
    for place, samples in enumerate(sounds):
        table[place, 0] = wav.encode(samples, rate)
    return table


@export("summary.audio")
@as_it_is
def audio(
    name: str,
    data: TensorLike,
    sample_rate: int,
    step: TensorLike | None = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> Any:
    """Write the first `max_outputs` sounds of a batch as WAV; whether it was written.

    data: `[count, length, channels]`, floats in [-1, 1].  sample_rate: in Hz.  encoding: "wav".
    The other arguments are those of `tf.summary.scalar`.  ValueError for other encodings and ranks.
    """
    if encoding not in (None, "wav"):
        raise value_error("TW207", f"Unknown encoding: {encoding!r}", "'wav' or None")
    data = convert_to_tensor(data, float32)
    _check_rank(data, 3)
    return _summary(
        "audio",
        "audio",
        name,
        data,
        step,
        description,
        _sounds,
        (int(sample_rate), _count(max_outputs)),
        WAV,
    )
