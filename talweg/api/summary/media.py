"""Images as PNG and sound as WAV, as small as the formats allow; and numbers as pixels."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from talweg.core.errors import compose, invalid

_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}  # channels -> PNG's colour type
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def png(pixels: np.ndarray) -> bytes:
    """A PNG file of `pixels`, uint8 `[height, width, channels]` with 1 to 4 channels.

    InvalidArgumentError for other numbers of channels, and for images without pixels.

    >>> len(png(np.zeros([1, 1, 3], np.uint8)))
    69
    """
    height, width, channels = pixels.shape
    if channels not in _COLOURS:
        raise invalid("TW204", f"image must have 1, 2, 3, or 4 channels, got {channels}")
    if not height or not width:
        raise invalid("TW204", f"an image has the size {height} x {width}", "at least one pixel")
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each row starts with its filter, 0
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")
    return PNG_SIGNATURE + b"".join([_chunk(kind, data) for kind, data in chunks])


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)


def wav(samples: np.ndarray, rate: int) -> bytes:
    """A WAV file with 16 bits of `samples`, floats in [-1, 1] of shape `[length, channels]`."""
    channels = samples.shape[1]
    scaled = np.asarray(samples, np.float32) * np.float32(1 << 15)
    data = np.clip(np.rint(scaled), -(1 << 15), (1 << 15) - 1).astype("<i2").tobytes()
    step = channels * 2
    form = struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * step, step, 16)
    body = b"WAVEfmt " + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def as_bytes(images: np.ndarray) -> np.ndarray:
    """Images as uint8: floats in [0, 1] and the whole range of integers become 0 to 255."""
    kind, limit = images.dtype, 255
    if kind == np.uint8:
        return images
    if kind.kind in "iu":
        most = int(np.iinfo(kind).max)
        if most > limit:
            return np.clip(images // ((most + 1) >> 8), 0, limit).astype(np.uint8)
        return np.clip(images, 0, limit).astype(np.uint8) * np.uint8((limit + 1) // (most + 1))
    wide = images if kind.itemsize > 2 else images.astype(np.float32)
    scaled = np.clip(wide * wide.dtype.type(limit + 0.5), 0, limit)
    return np.where(np.isnan(scaled), 0, scaled).astype(np.uint8)


def stretched(image: np.ndarray) -> np.ndarray:
    """A float image as uint8, scaled so that its extreme is seen; zero is black, or 128 if there
    are negative values.  Pixels that are not finite become red."""
    finite = np.isfinite(image)
    least = float(image.min(initial=np.inf, where=finite))
    most = float(image.max(initial=-np.inf, where=finite))
    extreme, room, offset = most, 255.0, 0.0
    if least < 0:
        extreme, room, offset = max(abs(least), abs(most)), 127.0, 128.0
    scale = 0.0 if not extreme >= 1e-6 else room / extreme
    kind = image.dtype.type
    red = np.array([255, 0, 0, 255], np.uint8)[: image.shape[-1]]
    good = np.all(finite, -1, keepdims=True)
    values = np.where(good, image, 0) * kind(scale) + kind(offset)
    return np.where(good, values.astype(np.uint8), red)


def check_dtype_of_image(dtype: Any) -> None:
    """AttributeError for images of neither floats nor integers, as in TensorFlow."""
    if not (dtype.is_floating or dtype.is_integer):
        text = f"image dtype must be either floating point or integer, got {dtype.name}"
        raise AttributeError(compose("TW102", text))
