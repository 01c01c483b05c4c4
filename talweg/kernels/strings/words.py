"""Strings cut into words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from talweg.kernels.strings.arrays import items, of_list

_LETTERS = [bytes([code]) for code in range(256)]


def words(x: Any, separator: bytes, limit: int) -> list[list[bytes]]:
    """Words between a separator, or blanks if it is empty; after `limit` cuts the rest is one.

    Unlike Python's, the rest is there even if it is empty.
    """
    texts = items(x)
    if limit == 0:
        return [[text] for text in texts]
    if separator:
        return [text.split(separator, limit) for text in texts]
    if limit < 0:
        return [text.split() for text in texts]
    found = [text.split(None, limit) for text in texts]
    for text, row in zip(texts, found):
        if len(row) == limit and text:
            row.append(b"")
    return found


def parts(x: Any, delimiter: bytes, skip_empty: bool) -> list[list[bytes]]:
    """What stands between any of the bytes of a delimiter; all bytes, if it is empty."""
    texts = items(x)
    if not delimiter:
        return [[_LETTERS[code] for code in text] for text in texts]
    if len(delimiter) == 1:
        found = [text.split(delimiter) for text in texts]
    else:
        cut = re.compile(b"[" + re.escape(delimiter) + b"]").split
        found = [cut(text) for text in texts]
    return [[part for part in row if part] for row in found] if skip_empty else found


def as_sparse(rows: list[list[bytes]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows as the indices, values and dense shape of a sparse matrix."""
    counts = np.array(list(map(len, rows)), np.int64)
    values = of_list([word for row in rows for word in row])
    ends = np.cumsum(counts)
    indices = np.empty((len(values), 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(rows)), counts)
    indices[:, 1] = np.arange(len(values)) - np.repeat(ends - counts, counts)
    return indices, values, np.array([len(rows), counts.max(initial=0)], np.int64)
