"""Classes drawn for sampled losses, and how often each was to be expected.

A sampler draws class after class from one stream of words; with `unique` a class that is there
already is drawn again.  The expected count of a class of probability p is p n for n draws, and with
`unique`, where t draws were needed, its chance to be among them, 1 - (1 - p)ᵗ.  Samplers and their
use of the words are TensorFlow's, so the classes are too.

Python's integers do: a few thousand classes are drawn a call.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from talweg.kernels.random.philox import MASK32, MASK64, Stream, blocks

_WINDOW = 256  # blocks generated at once
RESERVED_WORDS = 2048  # set aside for each class


def _words(stream: Stream) -> Iterator[int]:
    position = 0
    while True:
        yield from blocks(stream, position, _WINDOW).reshape(-1).tolist()
        position += _WINDOW


class CandidateWords:
    """A stream, word by word, as numbers of several kinds."""

    def __init__(self, stream: Stream):
        self.words = _words(stream)

    def below(self, bound: int) -> int:
        """Return a word modulo `bound`; words above its last multiple are refused."""
        return self._fair(bound, MASK32, self.words.__next__)

    def long_below(self, bound: int) -> int:
        """Return two words, as one number, modulo `bound`; refused likewise."""
        return self._fair(bound, MASK64, self._long)

    def _long(self) -> int:
        low = next(self.words)
        return next(self.words) << 32 | low

    @staticmethod
    def _fair(bound: int, largest: int, draw) -> int:
        if bound & (bound - 1) == 0:
            return draw() & (bound - 1)
        rest = largest % bound + 1
        word = draw()
        while word > largest - rest:
            word = draw()
        return word % bound

    def single(self) -> float:
        """Return a float32 of [0, 1)."""
        return (next(self.words) & 0x7FFFFF) * 2.0**-23

    def double(self) -> float:
        """Return a float64 of [0, 1)."""
        high = next(self.words) & 0xFFFFF
        return (high << 32 | next(self.words)) * 2.0**-52


class UniformSampler:
    """Every class alike."""

    def __init__(self, range_max: int):
        self.range_max = range_max

    def sample(self, words: CandidateWords) -> int:
        """Return a class."""
        return words.long_below(self.range_max)

    def probability(self, classes: np.ndarray) -> np.ndarray:
        """Return the probability of each class."""
        return np.full(classes.shape, 1 / self.range_max)


class LogUniform(UniformSampler):
    """P(k) = log((k + 2) / (k + 1)) / log(range + 1): for classes sorted by frequency (Zipf)."""

    def sample(self, words: CandidateWords) -> int:
        """Return a class."""
        value = int(math.exp(words.double() * math.log1p(self.range_max))) - 1
        return value % self.range_max

    def probability(self, classes: np.ndarray) -> np.ndarray:
        """Return the probability of each class."""
        return np.log((classes + 2.0) / (classes + 1.0)) / math.log1p(self.range_max)


class Weighted(UniformSampler):
    """Classes with given weights, by Walker's method of aliases (Vose 1991)."""

    def __init__(self, weights: Sequence[float]):
        super().__init__(len(weights))
        self.weights = np.array(weights, np.float32)
        self.total = float(self.weights.astype(np.float64).sum())
        self.chance, self.alias = self._aliases()

    def _aliases(self) -> tuple[list[float], list[int]]:
        size = self.range_max
        share = [float(weight) * size / self.total for weight in self.weights]
        alias = list(range(size))
        low = [i for i in range(size) if share[i] < 1]
        high = [i for i in range(size) if share[i] >= 1]
        while low and high:
            small, large = low.pop(), high.pop()
            alias[small] = large
            share[large] -= 1 - share[small]
            (low if share[large] < 1 else high).append(large)
        for left in (*low, *high):  # they are 1 but for rounding
            share[left], alias[left] = 1.0, left
        return [float(np.float32(s)) for s in share], alias

    def sample(self, words: CandidateWords) -> int:
        """Return a class."""
        number = words.single()
        bucket = words.below(self.range_max)
        return bucket if number < self.chance[bucket] else self.alias[bucket]

    def probability(self, classes: np.ndarray) -> np.ndarray:
        """Return the probability of each class."""
        return self.weights[classes].astype(np.float64) / self.total


class Learned(UniformSampler):
    """Classes with integer weights that grow by 1 whenever a class is seen."""

    def __init__(self, range_max: int):
        super().__init__(range_max)
        self.weights = np.ones(range_max, np.int64)

    def sample(self, words: CandidateWords) -> int:
        """Return a class."""
        position = words.below(int(self.weights.sum()))
        return int(np.searchsorted(np.cumsum(self.weights), position, side="right"))

    def probability(self, classes: np.ndarray) -> np.ndarray:
        """Return the probability of each class."""
        return self.weights[classes] / self.weights.sum()

    def see(self, classes: np.ndarray) -> None:
        """Count the classes."""
        np.add.at(self.weights, classes.reshape(-1), 1)


def draw(
    sampler: UniformSampler, stream: Stream, size: int, unique: bool
) -> tuple[np.ndarray, int]:
    """Return `size` classes, and how many draws they took."""
    words = CandidateWords(stream)
    if not unique:
        return np.array([sampler.sample(words) for _ in range(size)], np.int64), size
    found: dict[int, None] = {}
    draws = 0
    while len(found) < size:
        found.setdefault(sampler.sample(words))
        draws += 1
    return np.array(list(found), np.int64), draws


def compute_expected_counts(
    sampler: UniformSampler, classes: np.ndarray, size: int, draws: int
) -> np.ndarray:
    """Return the expected counts of classes among `size` that took `draws` draws, float32."""
    p = sampler.probability(classes).astype(np.float32)
    if draws == size:
        return p * np.float32(size)
    return -np.expm1(np.float32(draws) * np.log1p(-p))
