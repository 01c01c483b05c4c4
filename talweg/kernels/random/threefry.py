"""ThreeFry 2x32-20 and what TensorFlow's compiler (XLA) makes of it.

TensorFlow offers this algorithm on its compiled path only; here it works everywhere, with the
numbers of that path: integers and uniform numbers exactly, normal ones to a few units in the last
place (XLA approximates log, sin and erf⁻¹ by polynomials of its own; truncated halves to 5
percent).

A block is two words, and XLA makes a tensor from pairs of halves: an axis of even length is taken
as pairs, of which the first words fill the first places and the second words the second.  It is the
first even axis, or, if all are odd, the longest, with one more place that is cut off again.  Pairs
of normal numbers lie the same way.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import math

import numpy as np

from talweg.kernels.random.philox import MASK32, MASK64, Stream

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_SMALLEST = 1e-7
_CUT = 2.0

Shape = tuple[int, ...]


def stream_of_seed(first: int, second: int) -> Stream:
    """Return the stream of a pair of seeds of a stateless operation:
    their lower halves are the key.
    """
    return Stream((second & MASK32) << 32 | first & MASK32, 0)


def threefry(stream: Stream, count: int) -> np.ndarray:
    """Return the next `count` blocks, as uint32 [count, 2].
    The lower 64 bits of the counter count.
    """
    numbers = np.arange(count, dtype=np.uint64) + np.uint64(stream.counter & MASK64)
    keys = [stream.key & MASK32, stream.key >> 32]
    keys.append(keys[0] ^ keys[1] ^ _PARITY)
    x = (numbers & np.uint64(MASK32)).astype(np.uint32) + np.uint32(keys[0])
    y = (numbers >> np.uint64(32)).astype(np.uint32) + np.uint32(keys[1])
    for group in range(5):
        for turn in _ROTATIONS[group % 2]:
            x += y
            y = (y << np.uint32(turn)) | (y >> np.uint32(32 - turn))
            y ^= x
        x += np.uint32(keys[(group + 1) % 3])
        y += np.uint32((keys[(group + 2) % 3] + group + 1) & MASK32)
    return np.stack([x, y], axis=1)


def _pairs(shape: Shape) -> tuple[int, Shape]:
    """Return the axis that is split into pairs, and the shape with that axis as (half, 2)."""
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    axis = even[0] if even else shape.index(max(shape))
    return axis, (*shape[:axis], (shape[axis] + 1) // 2, 2, *shape[axis + 1 :])


def _join(paired: np.ndarray, axis: int, shape: Shape) -> np.ndarray:
    """Return an array of `shape` from one whose axis `axis` is split
    in (half, 2), the excess cut.
    """
    whole = (*paired.shape[:axis], paired.shape[axis] * 2, *paired.shape[axis + 2 :])
    cut = (slice(None),) * axis + (slice(shape[axis]),)
    return paired.reshape(whole)[cut]


def full_int(stream: Stream, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Return integers over the whole range of a 32- or 64-bit dtype."""
    if math.prod(shape) == 0:
        return np.empty(shape, dtype)
    if dtype.itemsize == 8:
        return threefry(stream, math.prod(shape)).view(dtype).reshape(shape)
    if shape == ():
        return full_int(stream, (1,), dtype)[0]
    axis, paired = _pairs(shape)
    halves = (*paired[: axis + 1], *paired[axis + 2 :])
    words = threefry(stream, math.prod(halves)).reshape(*halves, 2)
    return _join(np.moveaxis(words, -1, axis + 1), axis, shape).view(dtype)


def uniform_int(stream: Stream, shape: Shape, low: int, high: int, dtype: np.dtype) -> np.ndarray:
    """Return integers low + w mod (high - low), w of the width of the dtype."""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    words = full_int(stream, shape, unsigned) % unsigned.type(high - low)
    return np.asarray(words + unsigned.type(low & (1 << 8 * dtype.itemsize) - 1)).view(dtype)


def uniform(stream: Stream, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Return numbers of [0, 1): the upper bits of a word, of a half the lower 10."""
    if dtype == np.float64:
        words = full_int(stream, shape, np.dtype(np.uint64))
        return (words >> np.uint64(12)) * 2.0**-52
    words = full_int(stream, shape, np.dtype(np.uint32))
    if dtype == np.float16:
        return ((words & np.uint32(1023)) * np.float32(2.0**-10)).astype(dtype)
    return _narrow((words >> np.uint32(9)) * np.float32(2.0**-23), dtype)


def _narrow(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return float32 as `dtype`; a bfloat16 is its upper half, rounded toward zero."""
    if dtype.name != "bfloat16":
        return np.asarray(x).astype(dtype, copy=False)
    bits = np.asarray(x, np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(dtype)


def _compute_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the uniform numbers that normal ones are made of."""
    return np.dtype(np.float32) if dtype.name == "bfloat16" else dtype


def normal(stream: Stream, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Return standard normal numbers by Box and Muller; see `random_normal`."""
    if math.prod(shape) == 0:
        return np.empty(shape, dtype)
    axis, paired = _pairs(shape or (1,))
    u = uniform(stream, paired, _compute_dtype(dtype))  # a half is worked on as a half
    first, second = (np.take(u, half, axis=axis + 1) for half in (0, 1))
    kind = u.dtype.type
    radius = np.sqrt(kind(-2) * np.log(np.maximum(first, kind(_SMALLEST))))
    angle = kind(2 * np.pi) * second
    pairs = np.stack([np.sin(angle) * radius, np.cos(angle) * radius], axis=axis + 1)
    return _narrow(_join(pairs, axis, shape or (1,)).reshape(shape), dtype)


def truncated_normal(stream: Stream, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Return standard normal numbers within two deviations:
    the quantiles √2 erf⁻¹(erf(√2) (2 u - 1)).
    """
    from scipy.special import erfinv

    u = uniform(stream, shape, _compute_dtype(dtype)).astype(np.float64)
    found = math.sqrt(2) * erfinv(math.erf(_CUT / math.sqrt(2)) * (2 * u - 1))
    return _narrow(np.asarray(found).astype(_compute_dtype(dtype)), dtype)
