"""Uniform numbers, integers and choices: what needs a fixed number of random bits a value.

The other distributions are in `random_normal`, `random_rejection` and `random_bounded`, orders in
`random_permutation`, the generators in `random_bits`.  For the same stream each gives TensorFlow's
numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.kernels.random.philox import BLOCK, Stream, blocks, one_block, spans, to_float64
from talweg.kernels.random.truncated_normal import uniform_of_words

_FRACTION = 0x7FFFFF  # bits of a float32 behind the point
_COUNTED = 1 << 15  # comparisons that take no longer than the calls of a bisection
_SEARCHED_BY_ROW = 16  # rows up to which each row is searched by NumPy


def uniform(stream: Stream, size: int, dtype: np.dtype) -> np.ndarray:
    """Return `size` numbers of [0, 1), equally spaced values of the dtype (23 bits for float32)."""
    if size <= BLOCK and dtype == np.float32:  # for a few, cheaper than NumPy's calls
        words = one_block(stream.counter, stream.key)
        return np.array([(word & _FRACTION) * 2.0**-23 for word in words[:size]], np.float32)
    per_block = 2 if dtype == np.float64 else BLOCK
    count = -(-size // per_block)
    found = np.empty((count, per_block), dtype)
    for start, stop in spans(count):
        found[start:stop] = uniform_of_words(blocks(stream, start, stop - start), dtype)
    return found.reshape(-1)[:size]


def full_int(stream: Stream, size: int, dtype: np.dtype) -> np.ndarray:
    """Return `size` integers over the whole range
    of a 32- or 64-bit dtype; the low word comes first.
    """
    per_block = 4 * BLOCK // dtype.itemsize
    count = -(-size // per_block)
    words = np.empty((count, BLOCK), np.uint32)
    for start, stop in spans(count):
        words[start:stop] = blocks(stream, start, stop - start)
    return words.view(dtype).reshape(-1)[:size]


def uniform_int(stream: Stream, size: int, low: int, high: int, dtype: np.dtype) -> np.ndarray:
    """Return `size` integers low + w mod (high - low), w of the width of the dtype."""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    words = full_int(stream, size, unsigned)
    words = words % unsigned.type(high - low)
    words += unsigned.type(low & ((1 << 8 * dtype.itemsize) - 1))  # wraps, as it should
    return words.view(dtype)


def categorical(stream: Stream, logits: np.ndarray, size: int, dtype: np.dtype) -> np.ndarray:
    """Return `size` classes for each row of `logits` [rows, classes], drawn with softmax(logits).

    A class is where u times the total first lies below the running sum of exp(logit - largest), u a
    float64.  Logits that are not finite count as probability 0, infinity too.
    Rows use the stream one after the other; TensorFlow does so where it keeps them in one thread,
    else its numbers depend on the number of cores.
    """
    rows, classes = logits.shape
    values = logits.astype(np.float64)
    finite = np.isfinite(values)
    lowest = np.finfo(np.float64).min
    if not finite.all():
        values = np.where(finite, values, -np.inf)
    largest = np.max(values, axis=1, keepdims=True, initial=lowest)
    sums = np.cumsum(np.exp(values - largest), axis=1)
    sought = doubles(stream, rows * size).reshape(rows, size) * sums[:, -1:]
    if rows <= _SEARCHED_BY_ROW:
        pairs = zip(sums, sought)
        drawn: Any = [row.searchsorted(values, side="right") for row, values in pairs]
        return np.array(drawn, dtype).reshape(rows, size)
    return _search_rows(sums, sought, classes).astype(dtype)


def doubles(stream: Stream, size: int) -> np.ndarray:
    """Return `size` float64 numbers of [0, 1)."""
    return to_float64(blocks(stream, 0, -(-size // 2))).reshape(-1)[:size]


def _search_rows(sums: np.ndarray, sought: np.ndarray, classes: int) -> np.ndarray:
    """Return in each row of `sums`, in order, the number of entries <= each of its `sought`: by
    counting few, by bisection among many.
    """
    if sought.size * classes <= _COUNTED:
        beyond = sums[:, None] > sought[:, :, None]
        return np.where(beyond[..., -1], beyond.argmax(2), classes)  # the first, if there is one
    flat, first = sums.reshape(-1), classes * np.arange(len(sums))[:, None]
    low = np.zeros(sought.shape, np.intp)
    high = np.full(sought.shape, classes, np.intp)
    for _ in range(classes.bit_length()):
        middle = (low + high) >> 1
        open_ = low < high
        right = open_ & (flat.take(first + np.minimum(middle, classes - 1)) <= sought)
        low = np.where(right, middle + 1, low)
        high = np.where(open_ & ~right, middle, high)
    return low
