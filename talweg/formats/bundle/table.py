"""Sorted tables of keys and values, LevelDB's file format, which `.index` files have.

A table is a row of blocks, an index block that names them, and a footer.  A block is a list of
entries whose keys leave out what they share with the key before, then the places where a key stands
whole; behind it a byte for its compression (none, here) and a checksum.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from talweg.core.errors import UnimplementedError, compose
from talweg.formats.checksum import crc32c, mask_checksum
from talweg.formats.wire import data_loss_error, read_varint, write_varint

MAGIC = 0xDB4775248B80FB57
FOOTER = 48
TRAILER = 5  # compression, checksum
BLOCK = 1 << 18  # bytes after which a block is closed
RESTART = 16  # entries between keys that stand whole
EXPANSION = 200  # bytes of keys a byte of a table may stand for


def read_table(data: bytes) -> dict[bytes, bytes]:
    """Read the entries of a table; DataLossError where it is damaged.

    What a table may grow to is bounded by its length: shared prefixes of keys cannot be used to
    fill the memory.
    """
    if len(data) < FOOTER:
        raise data_loss_error("file is too short to be an sstable")
    footer = data[-FOOTER:]
    if int.from_bytes(footer[-8:], "little") != MAGIC:
        raise data_loss_error("not an sstable (bad magic number)")
    _, _, at = _read_handle(footer, 0)
    offset, size, _ = _read_handle(footer, at)
    entries: dict[bytes, bytes] = {}
    budget = [EXPANSION * len(data)]
    last: bytes | None = None
    for _, handle in _read_block(data, offset, size, budget):
        start, length, _ = _read_handle(handle, 0)
        for key, value in _read_block(data, start, length, budget):
            if last is not None and key <= last:
                raise data_loss_error("the keys of the table are not in order")
            entries[key] = value
            last = key
    return entries


def _read_handle(data: bytes, place: int) -> tuple[int, int, int]:
    """Read a block's handle: its offset, its size, and the end of the handle."""
    offset, place = read_varint(data, place)
    size, place = read_varint(data, place)
    return offset, size, place


def _read_block(data: bytes, offset: int, size: int, budget: list[int]) -> list:
    if offset + size + TRAILER > len(data):
        raise data_loss_error("a block of the table lies outside the file")
    content = data[offset : offset + size]
    trailer = data[offset + size : offset + size + TRAILER]
    if mask_checksum(crc32c(data[offset : offset + size + 1])) != int.from_bytes(
        trailer[1:], "little"
    ):
        raise data_loss_error("block checksum mismatch")
    if trailer[0] != 0:
        raise UnimplementedError(
            None, None, compose("TW507", "the checkpoint's table is compressed", "no compression")
        )
    budget[0] -= size  # a block that is named again and again is paid for each time
    if size < 4:
        raise data_loss_error("a block of the table is too short")
    restarts = int.from_bytes(content[-4:], "little")
    end = size - 4 * (restarts + 1)
    if end < 0:
        raise data_loss_error("a block of the table is too short for its restart points")
    return _read_entries(content, end, budget)


def _read_entries(content: bytes, end: int, budget: list[int]) -> list:
    entries = []
    at, key = 0, b""
    while at < end:
        shared, at = read_varint(content, at)
        own, at = read_varint(content, at)
        size, at = read_varint(content, at)
        if shared > len(key) or at + own + size > end:
            raise data_loss_error("an entry of the table is cut off")
        key = key[:shared] + content[at : at + own]
        at += own
        budget[0] -= len(key)
        if budget[0] < 0:
            raise data_loss_error("the table stands for far more than its length")
        entries.append((key, content[at : at + size]))
        at += size
    return entries


def write_table(entries: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Write a table of entries, whose keys must be in order."""
    parts: list[bytes] = []
    written = 0
    index: list[tuple[bytes, bytes]] = []

    def add(block: bytes) -> bytes:
        """Append a block; its handle."""
        nonlocal written
        handle = write_varint(written) + write_varint(len(block))
        checksum = mask_checksum(crc32c(block + b"\0")).to_bytes(4, "little")
        parts.append(block + b"\0" + checksum)
        written += len(block) + TRAILER
        return handle

    block, closed = _Block(RESTART), None
    for key, value in entries:
        if closed is not None:
            index.append((_between(closed[0], key), closed[1]))
            closed = None
        block.add(key, value)
        if len(block.data) >= BLOCK:
            closed = block.last, add(block.finish())
            block = _Block(RESTART)
    if block.data:
        closed = block.last, add(block.finish())
    if closed is not None:
        index.append((_behind(closed[0]), closed[1]))
    about = add(_Block(1).finish())
    names = _Block(1)
    for key, handle in index:
        names.add(key, handle)
    footer = about + add(names.finish())
    return b"".join(parts) + footer.ljust(FOOTER - 8, b"\0") + MAGIC.to_bytes(8, "little")


def _between(last: bytes, following: bytes) -> bytes:
    """Return a short key that is not before `last`, and before `following`."""
    for place, (a, b) in enumerate(zip(last, following)):
        if a != b:
            return last[:place] + bytes([a + 1]) if a + 1 < b else last
    return last


def _behind(last: bytes) -> bytes:
    """Return a short key that is not before `last`."""
    for place, byte in enumerate(last):
        if byte != 0xFF:
            return last[:place] + bytes([byte + 1])
    return last


class _Block:
    """A block under construction."""

    def __init__(self, interval: int):
        self.interval = interval
        self.data = bytearray()
        self.last = b""
        self.count = 0
        self.restarts = [0]

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self.count % self.interval:
            limit = min(len(key), len(self.last))
            while shared < limit and key[shared] == self.last[shared]:
                shared += 1
        elif self.count:
            self.restarts.append(len(self.data))
        self.data += write_varint(shared) + write_varint(len(key) - shared)
        self.data += write_varint(len(value)) + key[shared:] + value
        self.last = key
        self.count += 1

    def finish(self) -> bytes:
        numbers: list[Any] = [*self.restarts, len(self.restarts)]
        return bytes(self.data) + b"".join([number.to_bytes(4, "little") for number in numbers])
