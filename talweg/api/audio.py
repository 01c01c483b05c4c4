"""tf.audio: sound in WAV files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.core.dtypes import float32, int32, string
from talweg.core.errors import invalid
from talweg.core.value import Tensor
from talweg.prims.io import encoded

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


class DecodeWav(NamedTuple):
    """Sound, [length, channels] from -1 to 1, and how many samples make a second."""

    audio: Any
    sample_rate: Any


@export("audio.decode_wav")
def decode_wav(
    contents: TensorLike,
    desired_channels: int = -1,
    desired_samples: int = -1,
    name: str | None = None,
) -> DecodeWav:
    """Return the sound of a WAV file with 16 bits: (audio [length, channels], sample_rate).

    contents: the file, a scalar string.  A file with fewer channels than asked for repeats its
    last, one with fewer samples is followed by zeros.

    >>> import talweg as tf
    >>> file = tf.audio.encode_wav([[0.5], [-1.0]], 8000)
    >>> sound = tf.audio.decode_wav(file)
    >>> sound.audio[:, 0].numpy().tolist(), int(sound.sample_rate)
    ([0.5, -1.0], 8000)
    """
    contents = tensor(contents, string)
    channels, length = int(desired_channels), int(desired_samples)
    return DecodeWav(*encoded.decode_wav(contents, channels=channels, length=length))


@export("audio.encode_wav")
def encode_wav(audio: TensorLike, sample_rate: TensorLike, name: str | None = None) -> Tensor:
    """Return a WAV file of audio [length, channels], float32 from -1 to 1: a scalar string."""
    rate = tensor(sample_rate, int32)
    if rate.shape.rank not in (None, 0):
        raise invalid("TW203", f"sample_rate should be a scalar, got shape {rate.shape}")
    return encoded.encode_wav(tensor(audio, float32), rate)
