"""Blocks of Philox, and Poisson numbers counted from them, in machine code.

NumPy goes through the words of all blocks forty times, in integers of twice their size; here a
block stays in registers (`kernels/random/philox.py` says what is computed).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from talweg.kernels.native.functions import compile_function
from talweg.kernels.native.words import (
    add_floats,
    float_bits,
    load32,
    load64,
    multiply_floats,
    store64,
)

MANY = 1 << 20  # blocks, in one call or several, that are worth compiling for
CALL = 1 << 11  # blocks that NumPy makes in the time that a call of few takes
_seen = {"count": 0}

LOW = 0xFFFFFFFF
FIRST, SECOND = 0xD2511F53, 0xCD9E8D57  # multipliers of words 0 and 2
ONE, MINUS_ONE = 0x3FF0000000000000, 0xBFF0000000000000  # bits of float64
FRACTION = 0xFFFFFFFFFFFFF


def mix(a: int, b: int, c: int, d: int, keys: int) -> Any:
    """Return the four words after a round; keys: the address of its two keys."""
    first = a * FIRST
    second = c * SECOND
    return (
        (second >> 32) ^ b ^ load32(keys),
        second & LOW,
        (first >> 32) ^ d ^ load32(keys + 4),
        first & LOW,
    )


def halves(offset: int, low: int, high: int) -> Any:
    """Return the two halves of the number of a block, `offset` behind high 2⁶⁴ + low."""
    total = low + offset
    carried = ((low & offset) | ((low | offset) & ~total)) >> 63
    return total, high + (carried & 1)


def pairs_of_block(offset: int, low: int, high: int, keys: int) -> Any:
    """Return words 0 and 1 of a block as one number, the first below the second, and 2 and 3."""
    lower, upper = halves(offset, low, high)
    a, b, c, d = mix(lower & LOW, lower >> 32, upper & LOW, upper >> 32, keys)
    a, b, c, d = mix(a, b, c, d, keys + 8)
    a, b, c, d = mix(a, b, c, d, keys + 16)
    a, b, c, d = mix(a, b, c, d, keys + 24)
    a, b, c, d = mix(a, b, c, d, keys + 32)
    a, b, c, d = mix(a, b, c, d, keys + 40)
    a, b, c, d = mix(a, b, c, d, keys + 48)
    a, b, c, d = mix(a, b, c, d, keys + 56)
    a, b, c, d = mix(a, b, c, d, keys + 64)
    a, b, c, d = mix(a, b, c, d, keys + 72)
    return a | (b << 32), c | (d << 32)


def uniform(pair: int) -> int:
    """Return the bits of the float64 of [0, 1) of two words: 20 bits of the first above 32."""
    bits = ((pair << 32) | (pair >> 32)) & FRACTION
    return add_floats(bits | ONE, MINUS_ONE)


def talweg_blocks(
    offsets: int, count: int, low: int, high: int, keys: int, words: int, unused: int
) -> int:
    """Write the four words of each of the blocks."""
    i = 0
    while i < count:
        first, second = pairs_of_block(load64(offsets + 8 * i), low, high, keys)
        at = words + 16 * i
        store64(at, first)
        store64(at + 8, second)
        i = i + 1
    return count


def talweg_counts(
    offsets: int, count: int, low: int, high: int, keys: int, bounds: int, counts: int
) -> int:
    """Count the uniform numbers whose product stays above a bound, as float64.

    offsets: where the blocks of each number begin, whose second numbers come first.
    """
    i = 0
    while i < count:
        offset = load64(offsets + 8 * i)
        bound = load64(bounds + 8 * i)
        product = ONE  # bits of numbers of at least 0 are in the order of the numbers
        before = 0
        more = 1
        while more:
            first, second = pairs_of_block(offset, low, high, keys)
            product = multiply_floats(product, uniform(second))
            more = product > bound
            before = before + more
            product = multiply_floats(product, uniform(first))
            if product <= bound:
                more = 0
            before = before + more
            offset = offset + 1
        store64(counts + 8 * i, float_bits(before))
        i = i + 1
    return count


def blocks_at(counter: int, keys: np.ndarray, offsets: np.ndarray) -> np.ndarray | None:
    """Return the words of blocks, uint32 [n, 4]; None where NumPy is to do it.

    keys: uint32 [rounds, 2]; offsets: uint64 [n].
    """
    words = np.empty((offsets.size, 4), np.uint32)
    return words if _run("talweg_blocks", counter, keys, offsets, words, words) else None


def count_products(
    counter: int, keys: np.ndarray, offsets: np.ndarray, bounds: np.ndarray
) -> np.ndarray | None:
    """Return how many uniform numbers have a product above each bound (float64, not negative)."""
    counts = np.empty(offsets.size)
    return counts if _run("talweg_counts", counter, keys, offsets, bounds, counts) else None


def _run(
    name: str,
    counter: int,
    keys: np.ndarray,
    offsets: np.ndarray,
    given: np.ndarray,
    results: np.ndarray,
) -> bool:
    """Run a loop, if so many blocks were seen that it is worth it."""
    _seen["count"] = min(_seen["count"] + offsets.size + CALL, MANY)
    if _seen["count"] < MANY:
        return False
    code = _compile(name)
    if code is None:
        return False
    arrays = [np.ascontiguousarray(x) for x in (offsets, keys, given)]
    at, keys_at, given_at = (x.ctypes.data for x in arrays)
    halves_of_counter = (_signed(counter & (1 << 64) - 1), _signed(counter >> 64))
    code(at, offsets.size, *halves_of_counter, keys_at, given_at, results.ctypes.data)
    return True


def _signed(number: int) -> int:
    """Return a number of 64 bits as a signed one."""
    return number - (1 << 64) if number >> 63 else number


@cache
def _compile(name: str) -> Callable[..., int] | None:
    return compile_function({"talweg_blocks": talweg_blocks, "talweg_counts": talweg_counts}[name])
