"""Fields of comma-separated records as values."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from talweg.core.dtypes import DType, string
from talweg.core.errors import InvalidArgumentError, compose


def wrong(what: str) -> Exception:
    """The error of a record that is not as it should be; the caller raises it."""
    return InvalidArgumentError(None, None, compose("TW207", what))


def rows_of(source: Any, delimiter: str, quotes: bool) -> Iterator[list[str]]:
    """The fields of each record; empty lines are left out."""
    quoting = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    for row in csv.reader(source, delimiter=delimiter, quoting=quoting):
        if row:
            yield row


def value(data: str, dtype: DType, default: Any, number: int, missing: str) -> Any:
    """The value of field `number`, bytes for strings; InvalidArgumentError for what is none."""
    if not data or data == missing:
        if default is None:
            raise wrong(f"Field {number} is required but missing in record!")
        return default
    if dtype is string:
        return data.encode()
    kind = dtype.numpy_dtype.type
    try:
        return kind(int(data) if dtype.is_integer else float(data))
    except (ValueError, OverflowError):
        name = {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)
        raise wrong(f"Field {number} in record is not a valid {name}: {data}") from None
