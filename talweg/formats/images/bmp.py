"""BMP files without compression, as TensorFlow reads them: palettes are not looked at."""

from __future__ import annotations

import struct

import numpy as np

from talweg.core.errors import invalid


def decode(contents: bytes, channels: int) -> np.ndarray:
    """Decode the pixels, uint8 [height, width, 1, 3 or 4]; `channels` are those wanted, to be
    checked.
    """
    if channels not in (0, 3, 4):
        raise invalid("TW207", f"`channels` must be 0, 3 or 4 for BMP, but got {channels}")
    if len(contents) < 32:
        raise invalid(
            "TW209", f"Incomplete bmp content, requires at least 32 bytes, got {len(contents)}"
        )
    (offset,) = struct.unpack("<I", contents[10:14])
    width, height, _, bits = struct.unpack("<iiHH", contents[18:30])
    if width <= 0 or not height:
        raise invalid("TW209", f"a BMP has the size {height} x {width}")
    own = bits // 8
    if own not in (1, 3, 4):
        raise invalid(
            "TW209", f"Number of channels inherent in the image must be 1, 3 or 4, was {own}"
        )
    stride = (width * own + 3) // 4 * 4  # rows are filled up to four bytes
    needed = offset + stride * (abs(height) - 1) + width * own
    if len(contents) < needed:
        raise invalid(
            "TW209", f"Incomplete bmp content, requires {needed} bytes, got {len(contents)}"
        )
    padded = contents[offset:].ljust(stride * abs(height), b"\0")
    rows = np.frombuffer(padded, np.uint8, stride * abs(height)).reshape(abs(height), stride)
    pixels = rows[:, : width * own].reshape(abs(height), width, own)
    if height > 0:  # the last row comes first
        pixels = pixels[::-1]
    if own > 1:  # blue comes first
        pixels = pixels[..., [2, 1, 0, 3][:own]]
    return np.ascontiguousarray(pixels)
