"""Normal numbers by Box and Muller, bit for bit TensorFlow's, and their truncation.

z₀ = √(-2 log u) sin 2πv,  z₁ = √(-2 log u) cos 2πv  (Box and Muller 1958).

TensorFlow calls the C library's `logf` and `sincosf`.  Those of glibc (since 2.27) are not
correctly rounded, but evaluate short polynomials in double precision and round once (W. Dijkstra
and S. Nagy, "ARM optimized routines", MIT licence: the method, table and coefficients below are
theirs).  The same polynomials in NumPy give the same floats, on every machine, which NumPy's own
float32 functions do not (they differ in one value of fifty).  In double precision NumPy's functions
are used: equal to glibc's where NumPy calls them, else within 2 units in the last place.
"""

from __future__ import annotations

import numpy as np

from talweg.kernels.random.philox import (
    BLOCK,
    RESERVED,
    Stream,
    blocks,
    blocks_at,
    spans,
    to_float32,
    to_float64,
)

CUT = 2.0  # truncated normals lie within two standard deviations
SMALLEST = 1e-7  # stands for smaller uniform numbers, whose logarithm would be too large


def _hexadecimal(text: str) -> np.ndarray:
    return np.array([float.fromhex(number) for number in text.split()])


# 1/c and log c for 16 intervals of [0.7, 1.4)
_RECIPROCALS = _hexadecimal("""
    0x1.661ec79f8f3bep+0 0x1.571ed4aaf883dp+0 0x1.49539f0f010bp+0 0x1.3c995b0b80385p+0
    0x1.30d190c8864a5p+0 0x1.25e227b0b8eap+0 0x1.1bb4a4a1a343fp+0 0x1.12358f08ae5bap+0
    0x1.0953f419900a7p+0 0x1p+0 0x1.e608cfd9a47acp-1 0x1.ca4b31f026aap-1
    0x1.b2036576afce6p-1 0x1.9c2d163a1aa2dp-1 0x1.886e6037841edp-1 0x1.767dcf5534862p-1
""")
_LOGARITHMS = _hexadecimal("""
    -0x1.57bf7808caadep-2 -0x1.2bef0a7c06ddbp-2 -0x1.01eae7f513a67p-2 -0x1.b31d8a68224e9p-3
    -0x1.6574f0ac07758p-3 -0x1.1aa2bc79c81p-3 -0x1.a4e76ce8c0e5ep-4 -0x1.1973c5a611cccp-4
    -0x1.252f438e10c1ep-5 0x0p+0 0x1.aa5aa5df25984p-5 0x1.c5e53aa362eb4p-4
    0x1.526e57720db08p-3 0x1.bc2860d22477p-3 0x1.1058bc8a07ee1p-2 0x1.4043057b6ee09p-2
""")
_LOG2 = float.fromhex("0x1.62e42fefa39efp-1")
_LOG_POLYNOMIAL = _hexadecimal("-0x1.00ea348b88334p-2 0x1.5575b0be00b6ap-2 -0x1.ffffef20a4123p-2")
HALF_PI = float.fromhex("0x1.921fb54442d18p+0")
SINE = _hexadecimal("-0x1.555545995a603p-3 0x1.1107605230bc4p-7 -0x1.994eb3774cf24p-13")
COSINE = _hexadecimal(
    "-0x1.ffffffd0c621cp-2 0x1.55553e1068f19p-5 -0x1.6c087e89a359dp-10 0x1.99343027bf8c3p-16"
)


def log_float32(x: np.ndarray) -> np.ndarray:
    """Return log x for normal positive float32 x, as glibc's `logf` rounds it.

    x = 2ᵏ z with z in one of 16 intervals of midpoint c; log x = k log 2 + log c + log(1 + r) with
    r = z/c - 1, the last by a cubic.
    """
    bits = np.ascontiguousarray(x).view(np.int32)
    shifted = bits - np.int32(0x3F330000)
    interval = ((shifted >> 19) & 15).astype(np.intp)
    z = (bits - (shifted & np.int32(-0x800000))).view(np.float32).astype(np.float64)
    r = z * _RECIPROCALS.take(interval)
    r -= 1.0
    base = (shifted >> 23) * _LOG2
    base += _LOGARITHMS.take(interval)
    base += r
    squared = r * r
    r *= _LOG_POLYNOMIAL[1]
    r += _LOG_POLYNOMIAL[2]
    r += _LOG_POLYNOMIAL[0] * squared
    r *= squared
    r += base
    return r.astype(np.float32)


def sin_cos_float32(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (sin x, cos x) for float32 x in [0, 100], as glibc's `sincosf` rounds them.

    x less its nearest multiple n of π/2 lies within π/4; two polynomials give its sine and cosine,
    exchanged for odd n, with the signs of quadrant n.
    """
    angle = x.astype(np.float64)
    quadrant = np.rint(angle * (1 / HALF_PI))
    angle -= quadrant * HALF_PI
    squared = angle * angle
    fourth = squared * squared
    cubed = angle * squared
    sine = cubed * squared
    sine *= SINE[1] + squared * SINE[2]
    cubed *= SINE[0]
    cubed += angle
    sine += cubed
    cosine = fourth * squared
    cosine *= COSINE[2] + squared * COSINE[3]
    fourth *= COSINE[1]
    squared *= COSINE[0]
    squared += 1.0
    fourth += squared
    cosine += fourth
    return _turn(sine.astype(np.float32), cosine.astype(np.float32), quadrant.astype(np.int32))


def _turn(sine: np.ndarray, cosine: np.ndarray, quadrant: np.ndarray) -> tuple:
    """Return sine and cosine after `quadrant` right angles,
    by operations on their bits (no branches).
    """
    first, second = sine.view(np.int32), cosine.view(np.int32)
    difference = first ^ second
    difference &= -(quadrant & 1)
    first ^= difference
    second ^= difference
    first ^= (quadrant & 2) << 30
    second ^= ((quadrant + 1) & 2) << 30
    return sine, cosine


def box_muller_float32(words: np.ndarray) -> np.ndarray:
    """Return normal float32 [n, m] from words uint32 [n, m], m even:
    each pair of words makes a pair.
    """
    radius = log_float32(np.maximum(to_float32(words[:, 0::2]), np.float32(SMALLEST)))
    radius *= np.float32(-2)
    np.sqrt(radius, out=radius)
    turns = to_float32(words[:, 1::2]).astype(np.float64)
    turns *= 2 * np.pi
    sine, cosine = sin_cos_float32(turns.astype(np.float32))
    normal = np.empty(words.shape, np.float32)
    np.multiply(sine, radius, out=normal[:, 0::2])
    np.multiply(cosine, radius, out=normal[:, 1::2])
    return normal


def box_muller_float64(words: np.ndarray) -> np.ndarray:
    """Return normal float64 [n, 2] from words uint32 [n, 4]: each block makes a pair."""
    uniform = to_float64(words)
    radius = np.log(np.maximum(uniform[:, 0], SMALLEST))
    radius *= -2.0
    np.sqrt(radius, out=radius)
    angle = 2 * np.pi * uniform[:, 1]
    np.multiply(np.sin(angle), radius, out=uniform[:, 0])
    np.multiply(np.cos(angle), radius, out=uniform[:, 1])
    return uniform


def _form(dtype: np.dtype) -> tuple:
    """Return (function of words, computed dtype, numbers a block):
    narrow floats are rounded float32.
    """
    if dtype == np.float64:
        return box_muller_float64, np.float64, 2
    return box_muller_float32, np.float32, BLOCK


def normal(stream: Stream, size: int, dtype: np.dtype) -> np.ndarray:
    """Return `size` standard normal numbers, blocks in a row."""
    transform, computed, per_block = _form(dtype)
    count = -(-size // per_block)
    found = np.empty((count, per_block), computed)
    for start, stop in spans(count):
        found[start:stop] = transform(blocks(stream, start, stop - start))
    return found.reshape(-1)[:size].astype(dtype, copy=False)


def truncated_normal(stream: Stream, size: int, dtype: np.dtype) -> np.ndarray:
    """Return `size` standard normal numbers, those beyond two deviations drawn again.

    Numbers come in groups as large as a block gives (4, of float64 2).  Each group has blocks of
    its own, enough for `RESERVED` words a number, and takes the first numbers within the bounds.
    """
    transform, computed, group = _form(dtype)
    room = group * RESERVED // BLOCK
    count = -(-size // group)
    numbers = np.empty((count, group), computed)
    for start, stop in spans(count):
        block = np.arange(start, stop, dtype=np.uint64) * np.uint64(room)
        normals = transform(blocks_at(stream, block))
        kept = np.abs(normals) < CUT
        short = np.flatnonzero(~kept.all(axis=1))
        numbers[start:stop] = normals
        if len(short):
            numbers[start + short] = _refill(
                stream, block[short], normals[short], kept[short], transform
            )
    return numbers.reshape(-1)[:size].astype(dtype, copy=False)


def _refill(stream: Stream, place, normals: np.ndarray, kept: np.ndarray, transform) -> np.ndarray:
    """Return for each group the first numbers within the bounds, drawing blocks until there are
    enough.

    `normals`, `kept` [n, group] are the groups' first blocks, which start at `place`.
    """
    group = normals.shape[1]
    used = 1
    while (kept.sum(axis=1) < group).any():
        further = transform(blocks_at(stream, place + np.uint64(used)))
        normals = np.concatenate([normals, further], axis=1)
        kept = np.concatenate([kept, np.abs(further) < CUT], axis=1)
        used += 1
    order = np.argsort(~kept, axis=1, kind="stable")[:, :group]
    return np.take_along_axis(normals, order, axis=1)
