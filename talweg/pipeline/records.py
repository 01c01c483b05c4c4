"""Files of records, and how a record stands in them.

A record is its length (8 bytes, little-endian), the masked CRC-32C of these, the bytes, and the
masked CRC-32C of the bytes: TensorFlow's TFRecord format.  Files may be compressed as a whole; they
are decompressed piece by piece, so memory follows what a file holds, not what it says of itself.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import struct
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from talweg.core.errors import DataLossError, InvalidArgumentError, compose
from talweg.core.system_errors import from_system
from talweg.formats.checksum import crc32c, mask_checksum
from talweg.formats.files import check_name

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK = 1 << 18  # bytes read at once
LARGEST_BLOCK = 1 << 20  # and at most, where many are asked for
HEAD = struct.Struct("<QI")
TAIL = struct.Struct("<I")


class InflatedFile(io.RawIOBase):
    """The bytes that a zlib stream in a file stands for, read piece by piece (RFC 1950).

    zlib.error where the stream is damaged, EOFError where it is cut off.
    """

    def __init__(self, file: BinaryIO):
        self._file, self._stream = file, zlib.decompressobj()
        self._waiting = b""  # read, and not yet decompressed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._stream.eof:
            if not self._waiting:
                self._waiting = self._file.read(BLOCK)
                if not self._waiting:
                    raise EOFError("the compressed stream is cut off")
            found = self._stream.decompress(self._waiting, len(buffer))
            self._waiting = self._stream.unconsumed_tail
            if found:
                buffer[: len(found)] = found
                return len(found)
        return 0

    def close(self) -> None:
        self._file.close()
        super().close()


class RecordReader:
    """A reader of one file, decompressed; DataLossError where compressed bytes are damaged."""

    def __init__(self, path: str, compression: str):
        kind = compression.upper()
        if kind not in ("", "GZIP", "ZLIB"):
            raise unknown_compression(compression)
        self.path = path
        try:
            path = check_name(path)
            file: Any = open(path, "rb", 0 if kind else BLOCK)  # noqa: SIM115 -- closed by `close`
        except OSError as error:
            raise from_system(error, path) from None
        if kind == "GZIP":
            file = io.BufferedReader(gzip.GzipFile(fileobj=file), BLOCK)  # type: ignore[arg-type]
        elif kind == "ZLIB":
            file = io.BufferedReader(InflatedFile(file), BLOCK)
        self._file: BinaryIO = file

    def __enter__(self) -> RecordReader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go."""
        self._file.close()

    def __iter__(self) -> Iterator[bytes]:
        while line := self.readline():
            yield line

    def readline(self) -> bytes:
        """Return the bytes to the end of a line, with it; none at the end."""
        return self._call(self._file.readline)

    def read(self, count: int = -1) -> bytes:
        """Return `count` bytes, or those that are left; all without a count.

        Memory is asked for as the bytes come: a count may come from a damaged file.
        """
        if count < 0:
            return self._call(self._file.read)
        part = self._call(self._file.read, min(count, BLOCK))
        if len(part) in (0, count):
            return part
        gathered, left, block = io.BytesIO(), count, BLOCK
        while part:
            gathered.write(part)
            left, block = left - len(part), 2 * block
            part = self._call(self._file.read, min(left, block, LARGEST_BLOCK))
        return gathered.getvalue()

    def _call(self, action: Callable[..., Any], *arguments: int) -> bytes:
        try:
            return action(*arguments)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise make_damaged_error(str(error), self.path) from None
        except OSError as error:
            raise from_system(error, self.path) from None


def unknown_compression(kind: str) -> Exception:
    """Return the error for a kind of compression that there is not."""
    text = compose("TW207", f"Unsupported compression_type: {kind}", "'', 'GZIP' or 'ZLIB'")
    return InvalidArgumentError(None, None, text)


def record_of(data: bytes) -> bytes:
    """Return bytes as a record."""
    length = struct.pack("<Q", len(data))
    parts = [
        length,
        TAIL.pack(mask_checksum(crc32c(length))),
        data,
        TAIL.pack(mask_checksum(crc32c(data))),
    ]
    return b"".join(parts)


def records_in(path: str, compression: str = "") -> Iterator[bytes]:
    """Yield the records of a file; DataLossError where it is damaged or cut off."""
    with RecordReader(path, compression) as file:
        offset = 0
        while True:
            head = file.read(HEAD.size)
            if not head:
                return
            if len(head) < HEAD.size:
                raise make_damaged_error(f"truncated record at {offset}", path)
            length, check = HEAD.unpack(head)
            if mask_checksum(crc32c(head[:8])) != check:
                raise make_damaged_error(f"corrupted record at {offset}", path)
            record, tail = file.read(length), file.read(TAIL.size)
            if len(record) < length or len(tail) < TAIL.size:
                raise make_damaged_error(f"truncated record at {offset}", path)
            if mask_checksum(crc32c(record)) != TAIL.unpack(tail)[0]:
                raise make_damaged_error(f"corrupted record at {offset + HEAD.size}", path)
            yield record
            offset += HEAD.size + length + TAIL.size


def make_damaged_error(what: str, path: str) -> Exception:
    """Make the error of a file whose bytes are not the written ones."""
    return DataLossError(None, None, compose("TW209", f"{what} in {path}"))


class RecordFile:
    """A file that records are written to; errors of the system are TensorFlow's."""

    def __init__(self, path: str, compression: str = "", level: int = -1):
        kind = compression.upper()
        if kind not in ("", "GZIP", "ZLIB"):
            raise unknown_compression(compression)
        self._path = path
        try:
            path = check_name(path)
            self._file: Any = open(path, "wb")  # noqa: SIM115 -- closed by `close`
        except OSError as error:
            raise from_system(error, path) from None
        self._pressed: Any = None
        if kind:
            bits = 31 if kind == "GZIP" else 15
            self._pressed = zlib.compressobj(level, zlib.DEFLATED, bits)

    def write(self, data: bytes) -> None:
        """Write one more record."""
        record = record_of(bytes(data))
        self._call(
            self._file.write, record if self._pressed is None else self._pressed.compress(record)
        )

    def flush(self) -> None:
        """Let everything be in the file."""
        if self._pressed is not None:
            self._call(self._file.write, self._pressed.flush(zlib.Z_SYNC_FLUSH))
        self._call(self._file.flush)

    def close(self, durable: bool = False) -> None:
        """Finish the file; it is closed even where the rest of it cannot be written.

        durable: whether it is on the disk then.
        """
        if self._file.closed:
            return
        rest = b"" if self._pressed is None else self._pressed.flush()
        try:
            self._call(self._file.write, rest)
            self._call(self._file.flush)
            if durable:
                self._call(os.fsync, self._file.fileno())
        finally:
            with contextlib.suppress(OSError):  # told above: closing writes what is left
                self._file.close()

    def _call(self, action: Callable[..., Any], *arguments: object) -> None:
        try:
            action(*arguments)
        except OSError as error:
            raise from_system(error, self._path, _size(self._path)) from None


def _size(path: str) -> int | None:
    try:
        return os.path.getsize(path)
    except OSError:
        return None
