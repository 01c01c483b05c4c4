"""Examples as they are in files: messages of named features, read without protobuf.

A feature is a list of bytes, of floats or of integers; numbers are packed or one to a field.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from talweg.core.errors import InvalidArgumentError, compose
from talweg.formats.wire import (
    FOUR_BYTES,
    LENGTH,
    VARINT,
    read_raw_fields,
    read_varint,
    to_signed,
)

BYTES, FLOATS, INTEGERS = 1, 2, 3  # the kinds of features, by the number of their field


def not_an_example(reason: str = "") -> InvalidArgumentError:
    """Make the error of bytes that are no such message, whatever the reason."""
    text = "Could not parse example input: a message is damaged"
    return InvalidArgumentError(None, None, compose("TW207", text))


def _contents(data: bytes, *kinds: int) -> Iterator[bytes]:
    """Return the fields with number 1; those of other kinds are unknown fields, left out."""
    return (
        content
        for number, kind, content in read_raw_fields(data, not_an_example)
        if number == 1 and kind in kinds
    )


def _unpack_integers(data: bytes) -> list[int]:
    found, place, size = [], 0, len(data)
    while place < size:
        if data[place] < 0x80:  # one byte
            found.append(data[place])
            place += 1
            continue
        number, place = read_varint(data, place, not_an_example)
        found.append(to_signed(number))
    return found


def feature(data: bytes) -> tuple[int, Any]:
    """Parse a feature: its kind, 0 for none, and its values."""
    kind, values = 0, b""
    for number, wire, content in read_raw_fields(data, not_an_example):
        if number in (BYTES, FLOATS, INTEGERS) and wire == LENGTH:
            kind, values = number, content
    if kind == BYTES:
        return kind, list(_contents(values, LENGTH))
    if kind == FLOATS:
        floats = b"".join(_contents(values, LENGTH, FOUR_BYTES))
        if len(floats) % 4:
            raise not_an_example()
        return kind, np.frombuffer(floats, "<f4")
    if kind == INTEGERS:
        numbers: list[int] = []
        for number, wire, content in read_raw_fields(values, not_an_example):
            if number != 1 or wire not in (LENGTH, VARINT):
                continue
            packed = _unpack_integers(content) if wire == LENGTH else [to_signed(content)]
            numbers += packed
        return kind, np.array(numbers, np.int64)
    return 0, []


def _entries(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Parse the names and values of a dictionary."""
    for number, wire, content in read_raw_fields(data, not_an_example):
        if number != 1 or wire != LENGTH:
            continue
        name, value = b"", b""
        for part, kind, inner in read_raw_fields(content, not_an_example):
            if kind != LENGTH:
                continue
            if part == 1:
                name = inner
            elif part == 2:
                value = inner
        try:
            yield name.decode(), value
        except UnicodeDecodeError:
            raise not_an_example() from None


def _part(data: bytes, wanted: int) -> bytes:
    """Return the inner message of a field; several are one after the other."""
    return b"".join(
        content
        for number, wire, content in read_raw_fields(data, not_an_example)
        if number == wanted and wire == LENGTH
    )


def features(data: bytes) -> dict[str, bytes]:
    """Return the features of an Example, each as the bytes of its message."""
    return dict(_entries(_part(data, 1)))


def feature_lists(data: bytes) -> dict[str, list[bytes]]:
    """Return the lists of features of a SequenceExample."""
    return {name: list(_contents(value, LENGTH)) for name, value in _entries(_part(data, 2))}
