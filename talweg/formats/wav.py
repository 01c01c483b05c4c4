"""WAV files of 16-bit sound, written and read."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from talweg.core.errors import invalid

LIMIT = 1 << 15


def encode(samples: Any, rate: int) -> bytes:
    """Return a WAV file with 16 bits of `samples`, floats in [-1,
    1] of shape `[length, channels]`.
    """
    channels = samples.shape[1]
    scaled = np.asarray(samples, np.float32) * np.float32(LIMIT)
    data = np.clip(np.rint(scaled), -LIMIT, LIMIT - 1).astype("<i2").tobytes()
    step = channels * 2
    form = struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * step, step, 16)
    body = b"WAVEfmt " + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def decode(contents: bytes, channels: int, length: int) -> tuple[np.ndarray, int]:
    """Decode (samples `[length, channels]` as float32 in [-1, 1], samples a second).

    -1 for `channels` and `length` takes those of the file; a file with fewer channels repeats its
    last, one with fewer samples is followed by zeros.
    """
    samples, rate = _samples(contents)
    if 0 < channels != samples.shape[1]:
        samples = samples[:, np.minimum(np.arange(channels), samples.shape[1] - 1)]
    if length >= 0:
        missing = max(0, length - len(samples))
        samples = np.pad(samples[:length], [(0, missing), (0, 0)])
    return samples, rate


def _samples(contents: bytes) -> tuple[np.ndarray, int]:
    if len(contents) < 12:
        raise invalid("TW209", "decode_wav: Data too short when trying to read string")
    if contents[:4] != b"RIFF" or contents[8:12] != b"WAVE":
        raise invalid("TW209", f"decode_wav: {contents[:12]!r} begins no WAV file", "RIFF, WAVE")
    channels, rate, at = 0, 0, 12
    while at + 8 <= len(contents):
        kind, size = struct.unpack("<4sI", contents[at : at + 8])
        part = contents[at + 8 : at + 8 + size]
        if len(part) < size:
            break
        if kind == b"fmt ":
            channels, rate = _form(part)
        elif kind == b"data" and channels:
            whole = len(part) // (2 * channels) * channels
            samples = np.frombuffer(part, "<i2", whole).astype(np.float32) / np.float32(LIMIT)
            return samples.reshape(-1, channels), rate
        at += 8 + size + size % 2
    raise invalid("TW209", "decode_wav: Data too short when trying to read string")


def _form(part: bytes) -> tuple[int, int]:
    if len(part) < 16:
        raise invalid("TW209", "decode_wav: Data too short when trying to read value")
    coding, channels, rate, _, _, bits = struct.unpack("<HHIIHH", part[:16])
    if coding not in (1, 0xFFFE):
        raise invalid(
            "TW209", f"decode_wav: Bad audio format for WAV: Expected 1 (PCM), but got {coding}"
        )
    if bits != 16:
        raise invalid("TW209", f"decode_wav: Can only read 16-bit WAV files, but received {bits}")
    if not channels:
        raise invalid("TW209", "decode_wav: a file without channels")
    return channels, rate
