"""Random numbers as expressions: the `loops` and `cost` rules of `streams.py`.

Word number n of a stream is word n mod 4 of the block n // 4 further on, so every element is a
function of its own place, and random numbers are computed wherever they are used.  What the numbers
are made of words stands in `kernels/random/uniform.py` and `kernels/random/normal.py`; `s` is
`lower/handler.py`.

Integers and uniform numbers are the kernels', bit for bit.  Of normal ones the uniform numbers and
the angle are, but logarithm, sine and cosine are the compiler's, whose last bits are others than
those of the C library that the kernels follow (its tables would take as long as all the rest).
"""

from __future__ import annotations

import math
from typing import Any

from talweg.core.dtypes import DType, float32, float64, int32, int64, uint32, uint64
from talweg.kernels.random.normal import COSINE, CUT, HALF_PI, SINE, SMALLEST
from talweg.kernels.random.philox import (
    BLOCK,
    MASK32,
    MASK64,
    PHILOX,
    RESERVED,
    SCRAMBLING,
    THREEFRY,
)

COSTS = {"bits": 12.0, "uniform": 15.0, "normal": 75.0}  # of an element of float32
SHIFT = 1.5 * 2.0**52  # in a sum with it the lowest bits are those of a whole number
FRACTION = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}  # bits of a word used


def words(s: Any, stream: Any, place: Any, dtype: DType) -> Any:
    """Return the word (uint32, or uint64) of a stream with the number `place`."""
    count = 16 // dtype.size
    return word(s, stream, place // count, place % count, dtype)


def word(s: Any, stream: Any, block: Any, number: Any, dtype: DType) -> Any:
    """Return a word of a block that lies `block` further on."""
    draw = s.philox32 if dtype is uint32 else s.philox64
    return draw(*map(stream, range(3)), s.index(block, uint64), s.index(number, uint64))


# -- numbers made of words


def cost(stream: object, *, kind: str, shape: tuple, dtype: DType, algorithm: int) -> float | None:
    """Return the cost of an element; None for ThreeFry and redrawn numbers, which have no form."""
    if algorithm != PHILOX or kind not in COSTS:
        return None
    return COSTS[kind] * (2 if dtype.size == 8 else 1)


def numbers(
    s: Any, index: tuple, stream: Any, *, kind: str, shape: tuple, dtype: DType, algorithm: int
) -> Any:
    """Return an element of `random_numbers`."""
    place = s.place(index, shape)
    if kind == "bits":
        unsigned = uint64 if dtype.size == 8 else uint32
        return s.bits(words(s, stream, place, unsigned), dtype)
    if kind == "uniform":
        unsigned = uint64 if dtype is float64 else uint32
        return uniform(s, words(s, stream, place, unsigned), dtype)
    return normal(s, stream, place, dtype)


def uniform(s: Any, bits: Any, dtype: DType) -> Any:
    """Return a number of [0, 1) from a word's lowest bits;
    of float64 those of the first half on top.
    """
    kept, join = getattr(s, "and"), getattr(s, "or")
    width = FRACTION[dtype.name]
    if dtype is float64:
        bits = join(s.shift_left(bits, 32), s.shift_right(bits, 32))
    bits = kept(bits, (1 << width) - 1)
    if dtype.size == 2:
        return s.cast(s.cast(s.bits(bits, int32), float32) * 2.0**-width, dtype)
    one = s.bits(s.number(1.0, dtype), bits.dtype)
    return s.bits(join(bits, one), dtype) - 1.0


def compute_dtype(dtype: DType) -> DType:
    """Return the dtype that normal numbers are computed in."""
    return float64 if dtype is float64 else float32


def normal(s: Any, stream: object, place: Any, dtype: DType) -> Any:
    """Return a number of a pair by Box and Muller: √(-2 log u) times sin 2πv, or cos 2πv."""
    wide = compute_dtype(dtype)
    unsigned = uint64 if wide is float64 else uint32
    count = 16 // unsigned.size
    block, number = place // count, place % count // 2 * 2
    u, v = [uniform(s, word(s, stream, block, number + k, unsigned), wide) for k in (0, 1)]
    radius = s.sqrt(s.log(s.maximum(u, SMALLEST)) * -2.0)
    angle = s.cast(s.cast(v, float64) * (2 * math.pi), wide)
    pair = (s.sin(angle), s.cos(angle)) if wide is float64 else sine_and_cosine(s, angle)
    first, second = [x * radius for x in pair]
    even = s.is_(place % 2, 0)
    return s.cast(first if even is None else s.select(even, first, second), dtype)


def sine_and_cosine(s: Any, angle: Any) -> tuple:
    """Return sine and cosine of a float32 angle, rounded as in `sin_cos_float32`."""
    x = s.cast(angle, float64)
    shifted = x * (1 / HALF_PI) + SHIFT
    x = x - (shifted - SHIFT) * HALF_PI
    square = x * x
    fourth, cubed = square * square, x * square
    odd = x + cubed * SINE[0] + cubed * square * (square * SINE[2] + SINE[1])
    even = square * COSINE[0] + 1.0 + fourth * COSINE[1]
    even = even + fourth * square * (square * COSINE[3] + COSINE[2])
    quadrant = s.cast(s.bits(shifted, int64), int32)
    return rotate(s, odd, even, quadrant), rotate(s, odd, even, quadrant + 1)


def rotate(s: Any, x: Any, y: Any, quadrant: Any) -> Any:
    """Return x, y, -x or -y, ..."""
    kept = getattr(s, "and")
    found = s.select(s.equal(kept(quadrant, 1), 0), s.cast(x, float32), s.cast(y, float32))
    sign = s.shift_left(kept(quadrant, 2), 30)
    return s.bits(s.xor(s.bits(found, int32), sign), float32)


def redraw(s: Any, stream: object, *, kind: str, shape: tuple, dtype: DType, algorithm: int) -> Any:
    """Return the `redraw` rule:
    of each group's own blocks, the first normal numbers within the bounds.
    """
    if algorithm != PHILOX or kind != "truncated_normal":
        return None
    wide = compute_dtype(dtype)
    group = 16 // wide.size

    def draw(block: object) -> Any:
        return normal(s, stream, block, wide)

    def keep(number: Any) -> Any:
        return s.less(s.abs(number), CUT)

    return s.redraw(group, group * RESERVED // BLOCK, draw, keep, wide)


# -- classes

FEW, MANY = 8, 1 << 20  # draws a row, and comparisons, up to which the sums are all compared


def classes(t: Any, stream: Any, logits: Any, *, size: int, dtype: DType) -> Any:
    """Return the `expand` rule of `random_classes`: how many running sums are not above u times the
    last.

    A search takes fewer comparisons, but for many draws and classes only the kernel is faster.
    """
    rows, count = logits.dims
    if not rows * size * count or (size > FEW and rows * size * count > MANY):
        return NotImplemented
    values = t.cast(logits, dtype=float64)
    finite = t.is_finite(values)
    lowest = t.select(finite, values, float64.min)
    largest = t.reduce_max(lowest, axes=(1,), keepdims=True)
    weights = t.select(finite, t.exp(t.sub(values, largest)), 0.0)
    sums = t.cumsum(weights, axis=1, exclusive=False, reverse=False)
    drawn = {"kind": "uniform", "shape": (rows, size), "dtype": float64, "algorithm": PHILOX}
    sought = t.mul(t.random_numbers(stream, **drawn), t.reduce_max(sums, axes=(1,), keepdims=True))
    sums, sought = t.reshape(sums, shape=(rows, 1, count)), t.reshape(sought, shape=(rows, size, 1))
    below = t.cast(t.less_equal(sums, sought), dtype=dtype)
    return t.reduce_sum(below, axes=(2,), keepdims=False)


# -- integers between bounds


def cost_of_integers(
    stream: object, low: object, high: object, *, shape: tuple, algorithm: int
) -> Any:
    """Return the cost of an element: mostly the division."""
    return 40.0 if algorithm == PHILOX else None


def integers(
    s: Any, index: tuple, stream: Any, low: Any, high: Any, *, shape: tuple, algorithm: int
) -> Any:
    """Return low + w mod (high - low), modulo the width of the dtype."""
    unsigned = uint64 if low.dtype.size == 8 else uint32
    bottom, top = low(), high()
    if bottom.op == top.op == "const":
        mask = (1 << 8 * low.dtype.size) - 1
        width: Any = s.number(top.data - bottom.data & mask, unsigned)
        start: Any = s.number(bottom.data & mask, unsigned)
    else:
        start = s.bits(bottom, unsigned)
        width = s.bits(top, unsigned) - start
    drawn = words(s, stream, s.place(index, shape), unsigned)
    return s.bits(s.remainder(drawn, width) + start, low.dtype)


# -- states of streams: the lower and upper half of the next block's number, and the key


def seed_element(s: Any, index: tuple, seed: Any, *, algorithm: int) -> Any:
    """Return an element of `seed_stream`; see `kernels.random_bits.scramble`."""
    first, second = [s.bits(s.cast(seed(k), int64), uint64) for k in (0, 1)]
    zero = s.zero(first)
    if algorithm == THREEFRY:
        low = getattr(s, "and")(first, MASK32)
        return s.one_of(index[0], [zero, zero, getattr(s, "or")(low, s.shift_left(second, 32))])
    high, key = [s.philox64(first, second, SCRAMBLING, 0, number) for number in (1, 0)]
    return s.one_of(index[0], [zero, high, key])


def of_state(s: Any, index: tuple, state: Any, *, algorithm: int) -> Any:
    """Return an element of `generator_stream`."""
    parts = [s.bits(state(k), uint64) for k in range(state.dims[0])]
    if algorithm == THREEFRY:
        parts.insert(1, s.zero(parts[0]))
    return s.one_of(index[0], parts)


def skip_element(s: Any, index: tuple, state: Any, *, blocks: int, algorithm: int) -> Any:
    """Return an element of `skip_state`."""
    parts = [s.bits(state(k), uint64) for k in range(state.dims[0])]
    steps = s.number(blocks & MASK64, uint64)
    if algorithm == THREEFRY:
        return s.bits(s.one_of(index[0], [parts[0] + steps, parts[1]]), int64)
    return s.bits(further_on(s, index, parts, steps), int64)


def further_on(s: Any, index: tuple, parts: list, blocks: object) -> Any:
    """Return an element of the state of a stream of Philox `blocks` further on than `parts` say."""
    low, high, key = parts
    moved = low + blocks
    carried = s.select(s.less(moved, low), s.number(1, low), s.number(0, low))
    return s.one_of(index[0], [moved, high + carried, key])
