"""Slices of tensors in checkpoints: how they are named, listed, and put together again.

A tensor that is stored in parts has an entry with the extents of all parts, and each part an entry
of its own under a key that holds the name and its extents, in an order of bytes that is the order
of what they stand for.
"""

from __future__ import annotations

from collections.abc import Iterable

from talweg.formats.wire import data_loss_error, field, read_fields, to_signed

WHOLE = -1  # the length of an extent that is all of an axis
Extents = tuple[tuple[int, int], ...]  # begin and length along each axis


def read_spec(spec: str) -> tuple[tuple[int, ...], Extents]:
    """Return the whole's sizes and the extents of a slice written as TensorFlow does: "4 2
    0,2:0,2".

    >>> read_spec("10 4,4")
    ((10,), ((4, 4),))
    """
    *sizes, places = spec.split()
    extents = []
    for size, place in zip(sizes, places.split(":"), strict=True):
        begin, length = (0, int(size)) if place == "-" else map(int, place.split(","))
        extents.append((begin, length))
    return tuple(map(int, sizes)), tuple(extents)


def slice_key(name: str, extents: Extents) -> bytes:
    """Return the key of the entry of a slice."""
    text = name.encode("utf-8").replace(b"\xff", b"\xff\x00").replace(b"\x00", b"\x00\xff")
    numbers = b"".join(_encode_signed(number) for extent in extents for number in extent)
    return _encode_size(0) + text + b"\x00\x01" + _encode_size(len(extents)) + numbers


def _encode_size(number: int) -> bytes:
    content = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([len(content)]) + content


def _encode_signed(number: int) -> bytes:
    """Return a signed number of as many bytes as begin
    with bits set (one less than leading ones).
    """
    bits = (~number if number < 0 else number).bit_length()
    size = max(1, (bits + 7) // 7)
    head = ((1 << size) - 1) << (7 * size)  # `size` ones in front of 7 bits for each byte
    plain = number & ((1 << 8 * size) - 1)
    return (plain ^ head).to_bytes(size, "big")


def write_extents(extents: Extents) -> bytes:
    """Return the message of a slice; what begins at 0 says so by saying nothing."""
    parts = []
    for begin, length in extents:
        start = field(1, begin) if begin else b""
        parts.append(field(1, start if length == WHOLE else start + field(2, length)))
    return b"".join(parts)


def read_extents(message: object) -> Extents:
    """Read the slice of a message."""
    if not isinstance(message, bytes):
        raise data_loss_error("a slice of the checkpoint is no message")
    extents = []
    for number, value in read_fields(message):
        if number == 1:
            if not isinstance(value, bytes):
                raise data_loss_error("an extent of the checkpoint is no message")
            fields = dict(read_fields(value))
            numbers = fields.get(1, 0), fields.get(2)
            if not all(isinstance(each, (int, type(None))) for each in numbers):
                raise data_loss_error("an extent of the checkpoint is no number")
            begin, length = numbers
            extents.append((to_signed(begin), WHOLE if length is None else to_signed(length)))
    return tuple(extents)


def places_of(name: str, dims: tuple[int, ...], slices: Iterable[Extents]) -> list[tuple]:
    """Compute the place of each slice in the whole; DataLossError for one outside of it."""
    places = []
    for extents in slices:
        if len(extents) != len(dims):
            raise data_loss_error(f"{name} has {len(dims)} axes, and a slice of it {len(extents)}")
        place = []
        for (begin, length), size in zip(extents, dims):
            end = size if length == WHOLE else begin + length
            if not 0 <= begin <= end <= size:
                raise data_loss_error(f"a slice of {name} lies outside of the shape {dims}")
            place.append(slice(begin, end))
        places.append(tuple(place))
    return places
