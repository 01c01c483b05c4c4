"""Fields of comma-separated records as values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import DType, string
from talweg.core.errors import InvalidArgumentError, compose

if TYPE_CHECKING:
    import numpy as np


def wrong(what: str) -> Exception:
    """Return the error of a record that is not as it should be; the caller raises it."""
    return InvalidArgumentError(None, None, compose("TW207", what))


def fields_of(record: bytes, delimiter: bytes, quotes: bool) -> list[bytes]:
    """Split one record into fields; line ends may stand in quotes and before a field only."""
    fields, at, end = [], 0, len(record)
    while at < end:
        first = record[at : at + 1]
        if first in b"\r\n":
            at += 1
        elif quotes and first == b'"':
            field, at = _read_quoted(record, at)
            if at < end and record[at : at + 1] != delimiter:
                raise wrong("Quote inside a string has to be escaped by another quote")
            fields.append(field)
            at += 1
        else:
            stop = record.find(delimiter, at)
            field = record[at : end if stop < 0 else stop]
            if b"\n" in field or b"\r" in field or (quotes and b'"' in field):
                raise wrong("Unquoted fields cannot have quotes/CRLFs inside")
            fields.append(field)
            at += len(field) + 1
    if record.endswith(delimiter):
        fields.append(b"")
    return fields


def _read_quoted(data: bytes, at: int) -> tuple[bytes, int]:
    """Return the field that begins with the quote at a place,
    and the place after its last quote.
    """
    parts, at = [], at + 1
    while True:
        quote = data.find(b'"', at)
        if quote < 0:
            raise wrong("Quoted field has to end with quote followed by delim or end")
        if data[quote + 1 : quote + 2] != b'"':
            return b"".join([*parts, data[at:quote]]), quote + 1
        parts.append(data[at : quote + 1])
        at = quote + 2


class Records:
    """The records of a file, fields each; after one that is wrong, those of the next lines."""

    def __init__(self, file: Any, delimiter: str, quotes: bool):
        self._file, self._quotes = file, quotes
        self._delimiter = delimiter.encode()
        self._ends = re.compile(b"[\r\n" + re.escape(self._delimiter) + b"]")
        self._data, self._at = b"", 0

    def __iter__(self) -> Records:
        return self

    def __next__(self) -> list[bytes]:
        if self._at >= len(self._data):
            self._data, self._at = self._lines(), 0
            if not self._data:
                raise StopIteration
        try:
            return self._record()
        except InvalidArgumentError:
            line = self._data.find(b"\n", self._at)
            self._at = len(self._data) if line < 0 else line + 1
            raise

    def _lines(self) -> bytes:
        """Return the next line, or several where a quote is open;
        lines may hold several records.
        """
        lines = [self._file.readline()]
        quotes = lines[0].count(b'"') if self._quotes else 0
        while quotes % 2:
            line = self._file.readline()
            if not line:
                break
            quotes += line.count(b'"')
            lines.append(line)
        return b"".join(lines)

    def _record(self) -> list[bytes]:
        data, at, fields = self._data, self._at, []
        while True:
            if self._quotes and data[at : at + 1] == b'"':
                field, at = _read_quoted(data, at)
                if at < len(data) and self._ends.match(data, at) is None:
                    raise wrong("Quote inside a string has to be escaped by another quote")
            else:
                end = self._ends.search(data, at)
                start, at = at, len(data) if end is None else end.start()
                field = data[start:at]
                if self._quotes and b'"' in field:
                    raise wrong("Unquoted fields cannot have quotes inside")
            fields.append(field)
            last = data[at : at + 1]
            at += 1
            if last != self._delimiter:
                self._at = at + (data[at - 1 : at + 1] == b"\r\n")
                return fields


def value(
    data: bytes, dtype: DType, default: np.generic | None, number: int, missing: bytes
) -> Any:
    """Parse field `number`, bytes for strings; InvalidArgumentError for text that is no such
    value.
    """
    if not data or data == missing:
        if default is None:
            raise wrong(f"Field {number} is required but missing in record!")
        return default
    if dtype is string:
        return data
    kind = dtype.numpy_dtype.type
    try:
        if b"_" in data:  # which Python's own numbers may have
            raise ValueError
        return kind(int(data) if dtype.is_integer else _real(data))
    except (ValueError, OverflowError):
        name = {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)
        shown = data.decode(errors="backslashreplace")
        raise wrong(f"Field {number} in record is not a valid {name}: {shown}") from None


def _real(data: bytes) -> float:
    return float.fromhex(data.decode()) if b"0x" in data.lower() else float(data)
