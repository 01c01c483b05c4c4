"""PNG files: written; and read where a pixel has 16 bits, which Pillow reads as 8.

A row begins with the number of its filter; a filtered byte is the difference from what the bytes
of the pixel to the left, the one above and the one above left foretell.  Pixels on a diagonal do
not depend on each other, so an image is read diagonal by diagonal.
Source: Portable Network Graphics Specification, W3C, 2003.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from talweg.core.errors import invalid

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}  # channels -> colour type
MOST = 1 << 29  # pixels that no picture may have, as in TensorFlow
_CHANNELS = {colour: channels for channels, colour in COLOURS.items()}
# First row, first column, steps of rows and columns of the parts of an interlaced image.
_INTERLACED = (
    (0, 0, 8, 8),
    (0, 4, 8, 8),
    (4, 0, 8, 4),
    (0, 2, 4, 4),
    (2, 0, 4, 2),
    (0, 1, 2, 2),
    (1, 0, 2, 1),
)


def encode(pixels: np.ndarray, compression: int = -1) -> bytes:
    """Encode `pixels`, uint8 or uint16 `[height, width, channels]` with 1 to 4 channels, as a PNG
    file.

    InvalidArgumentError for other numbers of channels, and for images without pixels.

    >>> len(encode(np.zeros([1, 1, 3], np.uint8)))
    69
    """
    height, width, channels = pixels.shape
    if channels not in COLOURS:
        raise invalid("TW204", f"image must have 1, 2, 3, or 4 channels, got {channels}")
    if not height or not width:
        raise invalid("TW204", f"an image has the size {height} x {width}", "at least one pixel")
    if not -1 <= compression <= 9:
        raise invalid("TW207", f"compression should be in [-1,9], got {compression}")
    size = pixels.dtype.itemsize
    data = np.ascontiguousarray(pixels, ">u2" if size == 2 else np.uint8).view(np.uint8)
    rows = np.zeros((height, 1 + width * channels * size), np.uint8)  # first the filter: none
    rows[:, 1:] = data.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8 * size, COLOURS[channels], 0, 0, 0)
    body = zlib.compress(rows.tobytes(), compression)
    chunks = (b"IHDR", header), (b"IDAT", body), (b"IEND", b"")
    return SIGNATURE + b"".join([_chunk(kind, data) for kind, data in chunks])


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)


def is_deep(contents: bytes) -> bool:
    """Return whether a PNG file has 16 bits for each number."""
    return contents[12:16] == b"IHDR" and contents[24:25] == b"\x10"


def decode(contents: bytes) -> np.ndarray:
    """Return the pixels of a PNG file with 16 bits: uint16 `[height, width, channels]`."""
    try:
        width, height, _, colour, _, _, interlaced = struct.unpack(">IIBBBBB", contents[16:29])
        channels = _CHANNELS[colour]
        check_size(height, width)
        data = _inflate(_image_data(contents), _length(height, width, channels, interlaced))
        if not interlaced:
            return _part(data, height, width, channels)[0]
        return _assemble_interlaced(data, height, width, channels)
    except (struct.error, zlib.error, KeyError, ValueError, OverflowError) as error:
        raise invalid("TW209", f"Invalid PNG. {error}") from None


def check_size(height: int, width: int, frames: int = 1) -> None:
    """Refuse images with too many pixels, before memory is asked for them; ValueError."""
    if height * width * frames >= MOST:
        raise ValueError(f"{frames} x {height} x {width} pixels are more than {MOST - 1}")


def _length(height: int, width: int, channels: int, interlaced: int) -> int:
    """Return the bytes of all rows, each with its filter;
    ValueError for an image without pixels.
    """
    if not height or not width:
        raise ValueError(f"its size is {height} x {width}")
    parts = _INTERLACED if interlaced else ((0, 0, 1, 1),)
    total = 0
    for row, column, down, right in parts:
        rows, columns = -((row - height) // down), -((column - width) // right)
        if rows > 0 and columns > 0:
            total += rows * (1 + columns * channels * 2)
    return total


def _inflate(data: bytes, length: int) -> bytes:
    """Return the first `length` bytes of a zlib stream; ValueError if it has less.

    What follows them is left alone, as libpng does, and no memory is asked for before the bytes
    are there: the size of an image is four bytes that anybody can write.
    """
    stream = zlib.decompressobj()
    found = stream.decompress(data, length)
    if len(found) < length:
        raise ValueError(f"{length} bytes of pixels are announced, {len(found)} are there")
    return found


def _image_data(contents: bytes) -> bytes:
    parts, place = [], len(SIGNATURE)
    while place < len(contents):
        length, kind = struct.unpack(">I4s", contents[place : place + 8])
        if kind == b"IDAT":
            parts.append(contents[place + 8 : place + 8 + length])
        place += length + 12
    return b"".join(parts)


def _assemble_interlaced(data: bytes, height: int, width: int, channels: int) -> np.ndarray:
    pixels = np.zeros((height, width, channels), np.uint16)
    for row, column, down, right in _INTERLACED:
        here = pixels[row::down, column::right]
        if here.size:
            here[:], used = _part(data, *here.shape)
            data = data[used:]
    return pixels


def _part(data: bytes, height: int, width: int, channels: int) -> tuple[np.ndarray, int]:
    """Read (pixels, bytes that they took)."""
    used = height * (1 + width * channels * 2)
    rows = np.frombuffer(data, np.uint8, used).reshape(height, -1)
    values = _unfilter(rows[:, 0], rows[:, 1:].reshape(height, width, channels * 2))
    pixels = values.reshape(height, width * channels, 2).view(">u2")
    return pixels.astype(np.uint16).reshape(height, width, channels), used


def _unfilter(filters: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Undo the filters of rows: bytes [height, width, bytes of a pixel]."""
    height, width, size = rows.shape
    whole = np.zeros((height + 1, width + 1, size), np.int32)  # a border of zeros above and left
    kinds = filters[:, None]
    for diagonal in range(height + width - 1):
        row = np.arange(max(0, diagonal - width + 1), min(height, diagonal + 1))
        column = diagonal - row
        left, above = whole[row + 1, column], whole[row, column + 1]
        corner, kind = whole[row, column], kinds[row]
        foretold = np.select(
            [kind == 1, kind == 2, kind == 3, kind == 4],
            [left, above, (left + above) // 2, _nearest(left, above, corner)],
        )
        whole[row + 1, column + 1] = (rows[row, column] + foretold) & 255
    return whole[1:, 1:].astype(np.uint8)


def _nearest(left: np.ndarray, above: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Return the one of three that is nearest to left + above - corner (Paeth)."""
    to_left, to_above = abs(above - corner), abs(left - corner)
    to_corner = abs(left + above - 2 * corner)
    first = (to_left <= to_above) & (to_left <= to_corner)
    return np.where(first, left, np.where(to_above <= to_corner, above, corner))
