"""Strings cut into words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from talweg.kernels.strings import native
from talweg.kernels.strings.arrays import items, of_list

_LETTERS = [bytes([code]) for code in range(256)]


def words(x: object, separator: bytes, limit: int) -> list[list[bytes]]:
    """Return words between a separator, or blanks if it is empty; after `limit` cuts the rest is
    one.

    Unlike Python's, the rest is there even if it is empty.
    """
    texts = items(x)
    if limit == 0:
        return [[text] for text in texts]
    if separator:
        return [text.split(separator, limit) for text in texts]
    if limit < 0:
        return [text.split() for text in texts]
    rows = [text.split(None, limit) for text in texts]
    for text, row in zip(texts, rows):
        if len(row) == limit and text:
            row.append(b"")
    return rows


def parts(x: object, delimiter: bytes, skip_empty: bool) -> list[list[bytes]]:
    """Split a string at any of the bytes of a delimiter; into all bytes, if it is empty."""
    texts = items(x)
    if not delimiter:
        return [[_LETTERS[code] for code in text] for text in texts]
    if len(delimiter) == 1:
        found = [text.split(delimiter) for text in texts]
    else:
        cut = re.compile(b"[" + re.escape(delimiter) + b"]").split
        found = [cut(text) for text in texts]
    return [[part for part in row if part] for row in found] if skip_empty else found


def of_rows(rows: list[list[bytes]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the words of rows, one after the other, and how many each row has."""
    counts = np.array(list(map(len, rows)), np.int64)
    return of_list([word for row in rows for word in row]), counts


def words_of(x: object, separator: bytes, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Split strings as `words`, one after the other, and count the words of each."""
    found = None
    if limit < 0:
        at = id(separator) if separator else 0
        found = _cut(x, "count_words", (at,), "words_cut", (at,))
    return of_rows(words(x, separator, limit)) if found is None else found


def parts_of(x: object, delimiter: bytes, skip_empty: bool) -> tuple[np.ndarray, np.ndarray]:
    """Split strings as `parts`, one after the other, and count the parts of each."""
    found = None if delimiter else _cut(x, "sizes_of", (), "bytes_cut", ())
    return of_rows(parts(x, delimiter, skip_empty)) if found is None else found


def _cut(x: object, counting: str, how: tuple, cutting: str, where: tuple) -> tuple | None:
    """Return strings cut in machine code; None where Python is to do it."""
    try:
        counts = native.run(counting, x, np.int64, _refuse, *how)
        if counts is None:
            return None
        ends = np.cumsum(counts)
        values = np.empty(int(ends[-1]), object)
        starts = ends - counts
        found = native.run(
            cutting, x, np.int64, _refuse, values.ctypes.data, *where, out=starts, at_once=True
        )
    except TypeError:
        return None
    return None if found is None else (values, counts)


def _refuse(element: str) -> Any:
    raise TypeError(f"{element!r} is not bytes")


def as_sparse(words: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return words and how many each row has as the indices, values and dense shape of a matrix."""
    values, counts = words
    rows = np.repeat(np.arange(len(counts)), counts)
    ends = np.cumsum(counts)
    indices = np.empty((len(values), 2), np.int64)
    indices[:, 0] = rows
    np.subtract(np.arange(len(values)), (ends - counts)[rows], out=indices[:, 1])
    return indices, values, np.array([len(counts), counts.max(initial=0)], np.int64)
