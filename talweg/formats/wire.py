"""The wire format of protocol buffers, read and written without the package `protobuf`.

The one way to messages in files: checkpoints, examples, serialized tensors, profiles.  Messages
that users hold themselves (GraphDef, MetaGraphDef, Event, Summary) are classes of `tensorboard`.
Source: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from talweg.core.errors import DataLossError, OpError, compose

VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5


def data_loss_error(text: str) -> OpError:
    """Make the error of a damaged checkpoint, which the caller raises."""
    return DataLossError(None, None, compose("TW507", text))


def read_varint(
    data: bytes, at: int, error: Callable[[str], Exception] = data_loss_error
) -> tuple[int, int]:
    """Read an unsigned number of at most 64 bits at offset `at`; also where it ends.

    `error` makes the exception for damaged bytes of a text, here and below.
    """
    if at < len(data) and data[at] < 0x80:  # most numbers are one byte
        return data[at], at + 1
    number = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise error("a number in the checkpoint is cut off or too long")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & 0xFFFFFFFFFFFFFFFF, at
        shift += 7


def write_varint(number: int) -> bytes:
    """Write a number of at most 64 bits, negative ones in two's complement."""
    number &= 0xFFFFFFFFFFFFFFFF
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def to_signed(number: int) -> int:
    """Convert a varint to the 64-bit signed integer that it encodes."""
    return number - (1 << 64) if number >> 63 else number


def read_raw_fields(
    data: bytes, error: Callable[[str], Exception] = data_loss_error
) -> Iterator[tuple[int, int, Any]]:
    """Read the fields of a message in order: number, wire type, an int (VARINT) or bytes."""
    at, end = 0, len(data)
    while at < end:
        key = data[at]
        if key < 0x80:  # a field below number 16
            at += 1
        else:
            key, at = read_varint(data, at, error)
        kind = key & 7
        if kind == VARINT:
            number, at = read_varint(data, at, error)
            yield key >> 3, kind, number
            continue
        if kind == LENGTH:
            size, at = read_varint(data, at, error)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            size = 8 if kind == EIGHT_BYTES else 4
        else:
            raise error(f"a message in the checkpoint has a field of kind {kind}")
        if size > end - at:
            raise error("a message in the checkpoint is cut off")
        yield key >> 3, kind, data[at : at + size]
        at += size


def read_fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Read the fields of a message in order: number and value (an int, or bytes)."""
    for number, kind, value in read_raw_fields(data):
        if kind == LENGTH:
            yield number, bytes(value)
        elif kind == VARINT:
            yield number, value
        else:
            yield number, int.from_bytes(value, "little")


def field(number: int, value: Any) -> bytes:
    """Write a field with an integer (as a varint) or bytes."""
    if isinstance(value, bytes):
        return write_varint(number << 3 | LENGTH) + write_varint(len(value)) + value
    return write_varint(number << 3 | VARINT) + write_varint(value)


def four_bytes(number: int, value: int) -> bytes:
    """Write a field with an integer of exactly four bytes."""
    return write_varint(number << 3 | FOUR_BYTES) + value.to_bytes(4, "little")
