"""Random bits from counters: Philox 4x32-10, the generator behind nearly everything.

A counter-based generator is a keyed bijection: block number c under key k is always the same four
words, so any part of a sequence is computed directly, in any order, and a vector of counters
is a vector of blocks.  Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2,
3", SC 2011.

ThreeFry, of the same paper, is in `random_threefry`.

A `Stream` is a key and the number of the next block.  Everything a distribution takes from it is a
function of block numbers, as TensorFlow's kernels define them, so the results are TensorFlow's.
Byte order is little-endian throughout, as NumPy's is wherever talweg runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from talweg.kernels.native import philox as native

PHILOX, THREEFRY = 1, 2  # the algorithms, as TensorFlow numbers them
BLOCK = 4  # 32-bit words in a block of Philox
RESERVED = 256  # blocks (of Philox) set aside for a value whose demand is not known beforehand
CHUNK = 8192  # blocks worked on at once: few enough to stay in cache

MASK32, MASK64, MASK128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)  # of words 0 and 2
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)  # golden ratio, sqrt(3) - 1
ROUNDS = 10
SCRAMBLING = 0x02461E29_3EC8F720  # the key under which pairs of seeds become streams
_COLUMN_OF_MULTIPLIERS = np.array(MULTIPLIERS, np.uint64).reshape(2, 1)
_LOW = np.uint64(MASK32)
_32 = np.uint64(32)


class Stream(NamedTuple):
    """A 64-bit key and the 128-bit number of the next block."""

    key: int
    counter: int

    def skip(self, blocks: int) -> Stream:
        """Return the stream `blocks` further on."""
        return Stream(self.key, (self.counter + blocks) & MASK128)


# -- seeds


def scramble(first: int, second: int) -> Stream:
    """Return the stream of a pair of seeds of a stateless operation.

    The seeds are the counter of one block under a fixed key; its first two words are the stream's
    key, the others the upper half of its counter.  So nearby seeds give unrelated streams.
    """
    counter = (second & MASK64) << 64 | (first & MASK64)
    a, b, c, d = one_block(counter, SCRAMBLING)
    return Stream(b << 32 | a, (d << 32 | c) << 64)


def stream_of_state(state: Any) -> Stream:
    """Return the stream of a state vector: counter (low, high), then key, as 64-bit integers."""
    low, high, key = (int(word) & MASK64 for word in state)
    return Stream(key, high << 64 | low)


def state_of_stream(stream: Stream) -> np.ndarray:
    """Return the state vector of a stream: counter (low, high), key, as uint64."""
    return np.array([stream.counter & MASK64, stream.counter >> 64, stream.key], np.uint64)


def skip_blocks(state: np.ndarray, blocks: int) -> np.ndarray:
    """Return a generator's state, `blocks` blocks further on: int64, [3] for Philox, [2] for
    ThreeFry.

    Modulo 2⁶⁴, as TensorFlow does.  ThreeFry's counter has 64 bits, Philox's 128.
    """
    *counter, key = [int(word) & MASK64 for word in state.tolist()]
    blocks &= MASK64
    if len(counter) == 1:
        moved = [counter[0] + blocks & MASK64]
    else:
        total = (counter[1] << 64 | counter[0]) + blocks & MASK128
        moved = [total & MASK64, total >> 64]
    return np.array([*moved, key], np.uint64).view(np.int64)


# -- Philox


@lru_cache(64)
def _round_keys(key: int) -> tuple[tuple[int, int], ...]:
    low, high = key & MASK32, key >> 32
    found = []
    for _ in range(ROUNDS):
        found.append((low, high))
        low, high = (low + KEY_STEPS[0]) & MASK32, (high + KEY_STEPS[1]) & MASK32
    return tuple(found)


def one_block(counter: int, key: int) -> tuple[int, int, int, int]:
    """Return one block in Python's integers:
    for a single number, cheaper than 60 calls of NumPy.
    """
    a, b = counter & MASK32, counter >> 32 & MASK32
    c, d = counter >> 64 & MASK32, counter >> 96
    for low, high in _round_keys(key):
        first, second = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
        a, b, c, d = second >> 32 ^ b ^ low, second & MASK32, first >> 32 ^ d ^ high, first & MASK32
    return a, b, c, d


@lru_cache(64)
def round_key_words(key: int) -> np.ndarray:
    """Return the keys of all rounds, uint32 [rounds, 2]."""
    return np.array(_round_keys(key), np.uint32)


def _rounds(even: np.ndarray, odd: np.ndarray, key: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all rounds on words 0 and 2 (`even` [2, n]) and 1 and 3 (`odd`), uint64; both are
    consumed.

    A round takes the product of the even words with the multipliers.  Its upper halves, crossed
    over, with the odd words and the key, are the new even words; its lower halves, crossed over,
    the new odd ones.
    """
    product = np.empty_like(even)
    keys = np.array(_round_keys(key), np.uint64).reshape(ROUNDS, 2, 1)
    for round_key in keys:
        np.multiply(even, _COLUMN_OF_MULTIPLIERS, out=product)
        np.right_shift(product, _32, out=even)
        np.bitwise_and(product, _LOW, out=product)
        np.bitwise_xor(odd, round_key, out=odd)
        np.bitwise_xor(odd, even[::-1], out=odd)
        even, odd, product = odd, product[::-1], even
    return even, odd


def blocks_at(stream: Stream, offsets: np.ndarray) -> np.ndarray:
    """Return the blocks `offsets` (uint64 [n]) further on, as uint32 [n, 4]."""
    words = native.blocks_at(stream.counter, round_key_words(stream.key), offsets)
    if words is not None:
        return words
    start = np.uint64(stream.counter & MASK64)
    low = offsets + start
    high = np.uint64(stream.counter >> 64) + (low < start)
    size = len(offsets)
    even, odd = np.empty((2, size), np.uint64), np.empty((2, size), np.uint64)
    for row, half in enumerate((low, high)):
        np.bitwise_and(half, _LOW, out=even[row])
        np.right_shift(half, _32, out=odd[row])
    even, odd = _rounds(even, odd, stream.key)
    words = np.empty((size, BLOCK), np.uint32)
    words[:, 0::2] = even.T
    words[:, 1::2] = odd.T
    return words


def blocks(stream: Stream, start: int, count: int) -> np.ndarray:
    """Return `count` blocks in a row from block `start` on, as uint32 [count, 4]."""
    if count <= 2:
        first = stream.counter + start
        found = [one_block((first + n) & MASK128, stream.key) for n in range(count)]
        return np.array(found, np.uint32).reshape(count, BLOCK)
    return blocks_at(stream.skip(start), np.arange(count, dtype=np.uint64))


def words_at(
    low: np.ndarray,
    high: np.ndarray,
    key: np.ndarray,
    block: np.ndarray,
    word: np.ndarray,
    dtype: type,
) -> np.ndarray:
    """Return words of `dtype` (uint32, or uint64, of which a block has two): for each element its
    own.

    `block` counts from the 128-bit number high 2⁶⁴ + low of a stream's next block; all operands are
    arrays of integers, or numbers.
    """
    given = [np.asarray(x).astype(np.uint64) for x in (low, high, key, block, word)]
    dims = np.broadcast_shapes(*[x.shape for x in given])
    *state, block, word = [np.broadcast_to(x, dims).reshape(-1) for x in given]
    words_out = np.empty(block.size, dtype)
    streams, which = np.unique(np.stack(state, axis=1), axis=0, return_inverse=True)
    for number, stream in enumerate(streams):
        own = np.flatnonzero(which.reshape(-1) == number)
        words = blocks_at(stream_of_state(stream), block[own]).view(dtype)
        words_out[own] = words[np.arange(len(own)), word[own].astype(np.intp)]
    return words_out.reshape(dims)


def spans(count: int, size: int = CHUNK) -> Iterator[tuple[int, int]]:
    """Yield `range(count)` in pieces (start, stop) that fit the cache."""
    for start in range(0, count, size):
        yield start, min(start + size, count)


# -- bits as numbers of [0, 1)


def to_float32(words: np.ndarray) -> np.ndarray:
    """Return the lower 23 bits of each word as the fraction of a float32 in [1, 2), less 1."""
    bits = words & np.uint32(0x7FFFFF)
    bits |= np.uint32(0x3F800000)
    numbers = bits.view(np.float32)
    numbers -= np.float32(1)
    return numbers


def to_float64(words: np.ndarray) -> np.ndarray:
    """Return pairs of words [n, 2 m] as float64 [n, m]:
    20 bits of the first above 32 of the second.
    """
    pairs = np.ascontiguousarray(words).view(np.uint64)
    bits = pairs << _32
    bits |= pairs >> _32
    bits &= np.uint64((1 << 52) - 1)
    bits |= np.uint64(1023 << 52)
    numbers = bits.view(np.float64)
    numbers -= 1.0
    return numbers
