"""Files of records, and how a record stands in them.

A record is its length (8 bytes, little-endian), the masked CRC-32C of these, the bytes, and the
masked CRC-32C of the bytes: TensorFlow's TFRecord format.  Files may be compressed as a whole.
"""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from talweg.core.errors import DataLossError, InvalidArgumentError, NotFoundError, compose
from talweg.formats.checksum import crc32c, masked

BLOCK = 1 << 18  # bytes read at once
HEAD = struct.Struct("<QI")
TAIL = struct.Struct("<I")


def opened(path: str, compression: str) -> Any:
    """A file to be read, decompressed; NotFoundError if it is not there."""
    try:
        file: Any = open(path, "rb")  # noqa: SIM115 -- closed by who reads it
    except OSError as error:
        text = compose("TW209", f"{path}; {error.strerror}")
        raise NotFoundError(None, None, text) from None
    kind = compression.upper()
    if not kind:
        return io.BufferedReader(file.detach(), BLOCK)
    if kind == "GZIP":
        return io.BufferedReader(gzip.GzipFile(fileobj=file), BLOCK)  # type: ignore[arg-type]
    if kind == "ZLIB":
        with file:
            return io.BytesIO(zlib.decompress(file.read()))
    file.close()
    raise unknown_compression(compression)


def unknown_compression(kind: Any) -> Exception:
    """The error for a kind of compression that there is not."""
    text = compose("TW207", f"Unsupported compression_type: {kind}", "'', 'GZIP' or 'ZLIB'")
    return InvalidArgumentError(None, None, text)


def record_of(data: bytes) -> bytes:
    """Bytes as a record."""
    length = struct.pack("<Q", len(data))
    parts = [length, TAIL.pack(masked(crc32c(length))), data, TAIL.pack(masked(crc32c(data)))]
    return b"".join(parts)


def records_in(path: str, compression: str = "") -> Iterator[bytes]:
    """The records of a file; DataLossError where it is damaged or cut off."""
    with opened(path, compression) as file:
        place = 0
        while True:
            head = _read(file, HEAD.size, path)
            if not head:
                return
            if len(head) < HEAD.size:
                raise _damaged(f"truncated record at {place}", path)
            length, check = HEAD.unpack(head)
            if masked(crc32c(head[:8])) != check:
                raise _damaged(f"corrupted record at {place}", path)
            data = _read(file, length + TAIL.size, path)
            if len(data) < length + TAIL.size:
                raise _damaged(f"truncated record at {place}", path)
            record = data[:length]
            if masked(crc32c(record)) != TAIL.unpack(data[length:])[0]:
                raise _damaged(f"corrupted record at {place + HEAD.size}", path)
            yield record
            place += HEAD.size + length + TAIL.size


def _read(file: Any, count: int, path: str) -> bytes:
    try:
        return file.read(count)
    except (OSError, EOFError, zlib.error) as error:
        raise _damaged(str(error), path) from None


def _damaged(what: str, path: str) -> Exception:
    return DataLossError(None, None, compose("TW209", f"{what} in {path}"))


class RecordFile:
    """A file that records are written to."""

    def __init__(self, path: str, compression: str = "", level: int = -1):
        kind = compression.upper()
        if kind not in ("", "GZIP", "ZLIB"):
            raise unknown_compression(compression)
        try:
            self._file: Any = open(path, "wb")  # noqa: SIM115 -- closed by `close`
        except OSError as error:
            text = compose("TW209", f"{path}; {error.strerror}")
            raise NotFoundError(None, None, text) from None
        self._pressed: Any = None
        if kind:
            bits = 31 if kind == "GZIP" else 15
            self._pressed = zlib.compressobj(level, zlib.DEFLATED, bits)

    def write(self, data: bytes) -> None:
        """One more record."""
        record = record_of(bytes(data))
        self._file.write(record if self._pressed is None else self._pressed.compress(record))

    def flush(self) -> None:
        """Let everything be in the file."""
        if self._pressed is not None:
            self._file.write(self._pressed.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def close(self) -> None:
        """Finish the file."""
        if not self._file.closed:
            if self._pressed is not None:
                self._file.write(self._pressed.flush())
            self._file.close()
