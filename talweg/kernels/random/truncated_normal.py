"""Normal numbers between bounds, each set of bounds with the method that rejects least.

Robert, "Simulation of truncated normal variables", Statistics and Computing 5, 1995.  With bounds
a < b in standard deviations from the mean (reflected so that a is finite and b is not below the
mean):

- from the normal distribution itself, if a < -1.3 and b >= 0, or b > 1.3 and a <= 0;
- from the uniform distribution on [a, b], accepted with exp((max(a, 0)² - z²) / 2), if that is
  short;
- else from a + an exponential of rate α = (a + √(a² + 4)) / 2, accepted with exp(-(α - z)² / 2).

Values are drawn one set of bounds after the other from one stream, so the position depends on
how many numbers earlier ones rejected.  TensorFlow does so too as long as it keeps the work in one
thread; for large results it splits the work by the number of cores, and its numbers depend on
that.  Here they never do.  All arithmetic is in the dtype of the parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from talweg.kernels.random.normal import box_muller_float32, box_muller_float64, log_float32
from talweg.kernels.random.philox import BLOCK, Stream, blocks, to_float32, to_float64

_ENOUGH_INSIDE = 1.3  # deviations within the bounds that make the normal proposal worth while
_WINDOW = 64  # blocks generated ahead


class Bounds(NamedTuple):
    """A normal distribution and its bounds, in standard deviations from the mean."""

    mean: Any
    deviation: Any  # negative where the problem has been reflected
    low: Any
    high: Any


class _WordReader:
    """Consecutive blocks of a stream as numbers, generated a window at a time."""

    def __init__(self, stream: Stream, dtype: np.dtype):
        self.stream, self.dtype = stream, dtype
        self.double = dtype == np.float64
        self.per_block = 2 if self.double else BLOCK
        self.position = 0
        self.start, self.words = 0, np.empty((0, BLOCK), np.uint32)

    def look(self, count: int) -> np.ndarray:
        """Return the words of the next `count` blocks, [count, 4]."""
        if self.position + count > self.start + len(self.words):
            self.start = self.position
            self.words = blocks(self.stream, self.position, max(count, _WINDOW))
        offset = self.position - self.start
        return self.words[offset : offset + count]

    def uniform(self, words: np.ndarray) -> np.ndarray:
        """Return uniform numbers, [blocks, per_block]."""
        return uniform_of_words(words, self.dtype)

    def normal(self, words: np.ndarray) -> np.ndarray:
        """Return normal numbers, [blocks, per_block]."""
        found = box_muller_float64(words) if self.double else box_muller_float32(words)
        return found.astype(self.dtype, copy=False)

    def exponential(self, u: np.ndarray) -> np.ndarray:
        """Return -log u in u's dtype; infinity for 0."""
        if self.double:
            return -np.log(u)
        found = -log_float32(np.maximum(u.astype(np.float32), np.float32(1e-30)))
        return np.where(u == 0, np.float32(np.inf), found).astype(self.dtype, copy=False)


def uniform_of_words(words: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return words [n, m] as numbers in [0, 1): [n, m / 2] of float64, [n, m] of the others.

    A half takes the lower 10 bits of a word, a bfloat16 the lower 7, a float32 the lower 23.
    """
    if dtype == np.float64:
        return to_float64(words)
    if dtype == np.float32:
        return to_float32(words)
    bits = 10 if dtype == np.float16 else 7
    numbers = (words & np.uint32((1 << bits) - 1)).astype(np.float32)
    numbers *= np.float32(2.0**-bits)
    return numbers.astype(dtype)


def standardize(mean: Any, deviation: Any, low: Any, high: Any) -> Bounds | None:
    """Return the bounds in deviations from the mean,
    reflected if need be; None if they make no sense.
    """
    finite = np.isfinite(low) or np.isfinite(high)
    if not (deviation > 0 and low < high and finite):
        return None
    if low == -np.inf or high < mean:
        low, high, deviation = high, low, -deviation
    return Bounds(mean, deviation, (low - mean) / deviation, (high - mean) / deviation)


def _method(bounds: Bounds, dtype: np.dtype) -> Callable[..., Any]:
    low, high = bounds.low, bounds.high
    kind = dtype.type
    inside = kind(_ENOUGH_INSIDE)
    if (low < -inside and high >= 0) or (high > inside and low <= 0):
        return _by_normal
    root = np.sqrt(low * low + kind(4))
    cutoff = kind(2) * np.exp(kind(0.5) + (low * (low - root)) / kind(4)) / (low + root)
    return _by_uniform if high - low < cutoff else _by_exponential


def _by_normal(
    reader: _WordReader, bounds: Bounds, wanted: int
) -> tuple[np.ndarray, np.ndarray, int]:
    z = reader.normal(reader.look(-(-wanted // reader.per_block)))
    return z, (z >= bounds.low) & (z <= bounds.high), 1


def _by_uniform(
    reader: _WordReader, bounds: Bounds, wanted: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return two blocks a round: candidates, then the numbers that decide on them."""
    kind = reader.dtype.type
    rounds = -(-wanted // reader.per_block)
    u = reader.uniform(reader.look(2 * rounds)).reshape(rounds, 2, reader.per_block)
    z = u[:, 0] * (bounds.high - bounds.low) + bounds.low
    nearest = bounds.low * bounds.low if bounds.low >= 0 else kind(0)
    return z, u[:, 1] <= np.exp((nearest - z * z) / kind(2)), 2


def _by_exponential(reader: _WordReader, bounds: Bounds, wanted: int) -> tuple:
    kind, low = reader.dtype.type, bounds.low
    u = reader.uniform(reader.look(-(-2 * wanted // reader.per_block)))
    alpha = (low + np.sqrt(low * low + kind(4))) / kind(2)
    z = reader.exponential(u[:, 0::2]) / alpha + low
    x = alpha - z if low < alpha else low - alpha
    return z, (u[:, 1::2] <= np.exp(-x * x / kind(2))) & (z < bounds.high), 1


def _draw(reader: _WordReader, bounds: Bounds, size: int) -> np.ndarray:
    """Return `size` values within one set of bounds;
    the reader ends after the last block looked into.
    """
    method = _method(bounds, reader.dtype)
    drawn = np.empty(size, reader.dtype)
    done = 0
    while done < size:
        wanted = min(size - done, 1 << 14)
        z, accepted, blocks_a_round = method(reader, bounds, wanted)
        places = np.flatnonzero(accepted)[: size - done]
        values = z.reshape(-1)[places] * bounds.deviation + bounds.mean
        drawn[done : done + len(values)] = values
        done += len(values)
        rounds = places[-1] // z.shape[1] + 1 if done == size else len(z)
        reader.position += int(rounds) * blocks_a_round
    return drawn


def draw_bounded_normal(
    stream: Stream, bounds: list[Bounds], size: int, dtype: np.dtype
) -> np.ndarray:
    """Return `size` values for each of `bounds`, as [size, len(bounds)]."""
    reader = _WordReader(stream, dtype)
    found = np.empty((len(bounds), size), dtype)
    for row, these in enumerate(bounds):
        found[row] = _draw(reader, these, size)
    return np.ascontiguousarray(found.T)
