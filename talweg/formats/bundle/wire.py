"""The few words of the protocol buffers' wire format that checkpoints are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from talweg.core.errors import DataLossError, OpError, compose

VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5


def damaged_error(text: str) -> OpError:
    """The error of a checkpoint that is not what it should be; the caller raises it."""
    return DataLossError(None, None, compose("TW507", text))


def read_varint(data: bytes, place: int) -> tuple[int, int]:
    """An unsigned number of at most 64 bits at `place`, and where it ends."""
    number = shift = 0
    while True:
        if place >= len(data) or shift > 63:
            raise damaged_error("a number in the checkpoint is cut off or too long")
        byte = data[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & 0xFFFFFFFFFFFFFFFF, place
        shift += 7


def write_varint(number: int) -> bytes:
    """A number of at most 64 bits, negative ones in two's complement."""
    number &= 0xFFFFFFFFFFFFFFFF
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def to_signed(number: int) -> int:
    """A varint as the 64-bit signed integer it stands for."""
    return number - (1 << 64) if number >> 63 else number


def read_fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: number and value (an int, or bytes), in order."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        value: Any
        if kind == VARINT:
            value, at = read_varint(data, at)
        else:
            if kind == LENGTH:
                size, at = read_varint(data, at)
            elif kind in (EIGHT_BYTES, FOUR_BYTES):
                size = 8 if kind == EIGHT_BYTES else 4
            else:
                raise damaged_error(f"a message in the checkpoint has a field of kind {kind}")
            if size > len(data) - at:
                raise damaged_error("a message in the checkpoint is cut off")
            value = bytes(data[at : at + size])
            at += size
            if kind != LENGTH:
                value = int.from_bytes(value, "little")
        yield number, value


def field(number: int, value: Any) -> bytes:
    """A field with an integer (as a varint) or bytes."""
    if isinstance(value, bytes):
        return write_varint(number << 3 | LENGTH) + write_varint(len(value)) + value
    return write_varint(number << 3 | VARINT) + write_varint(value)


def four_bytes(number: int, value: int) -> bytes:
    """A field with an integer of exactly four bytes."""
    return write_varint(number << 3 | FOUR_BYTES) + value.to_bytes(4, "little")
