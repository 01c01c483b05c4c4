"""Hashes of bytes: FarmHash's Fingerprint64, SipHash-2-4 (Aumasson and Bernstein 2012), Murmur.

All give the numbers that TensorFlow gives, so that words fall into the same buckets.
"""

from __future__ import annotations

from collections.abc import Sequence

MASK = 2**64 - 1
K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _rotate(x: int, places: int) -> int:
    x &= MASK
    return ((x >> places) | (x << (64 - places))) & MASK


def _mix(x: int) -> int:
    x &= MASK
    return x ^ (x >> 47)


def _of_two(u: int, v: int, factor: int) -> int:
    a = _mix(((u ^ v) & MASK) * factor)
    return _mix((v ^ a) * factor) * factor & MASK


def _short(s: bytes) -> int:
    size = len(s)
    factor = K2 + size * 2
    if size >= 8:
        a = int.from_bytes(s[:8], "little") + K2
        b = int.from_bytes(s[-8:], "little")
        c = _rotate(b, 37) * factor + a
        d = (_rotate(a, 25) + b) * factor
        return _of_two(c & MASK, d & MASK, factor)
    if size >= 4:
        a = int.from_bytes(s[:4], "little")
        return _of_two(size + (a << 3), int.from_bytes(s[-4:], "little"), factor)
    if size:
        y = s[0] + (s[size >> 1] << 8)
        z = size + (s[-1] << 2)
        return _mix((y * K2) ^ (z * K0)) * K2 & MASK
    return K2


def _word(s: bytes, place: int) -> int:
    return int.from_bytes(s[place : place + 8], "little")


def _middle(s: bytes) -> int:
    """17 to 64 bytes."""
    size = len(s)
    factor = K2 + size * 2
    a = _word(s, 0) * (K1 if size <= 32 else K2) & MASK
    b, c, d = _word(s, 8), _word(s, size - 8) * factor, _word(s, size - 16) * K2
    y = (_rotate(a + b, 43) + _rotate(c, 30) + d) & MASK
    z = _of_two(y, (a + _rotate(b + K2, 18) + c) & MASK, factor)
    if size <= 32:
        return z
    e, f = _word(s, 16) * factor & MASK, _word(s, 24)
    g = (y + _word(s, size - 32)) * factor & MASK
    h = (z + _word(s, size - 24)) * factor & MASK
    first = (_rotate(e + f, 43) + _rotate(g, 30) + h) & MASK
    return _of_two(first, (e + _rotate(f + a, 18) + g) & MASK, factor)


def _weak(s: bytes, place: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_word(s, place + 8 * k) for k in range(4))
    a = (a + w) & MASK
    b = _rotate(b + a + z, 21)
    c = a
    a = (a + x + y) & MASK
    b = (b + _rotate(a, 44)) & MASK
    return (a + z) & MASK, (b + c) & MASK


def fingerprint(s: bytes) -> int:
    """FarmHash's Fingerprint64 of `s`."""
    size = len(s)
    if size <= 16:
        return _short(s)
    if size <= 64:
        return _middle(s)
    x, y = 81, (81 * K1 + 113) & MASK
    z = _mix(y * K2 + 113) * K2 & MASK
    v, w = (0, 0), (0, 0)
    x = (x * K2 + _word(s, 0)) & MASK
    end = (size - 1) // 64 * 64
    for place in range(0, end, 64):
        x, y, z, v, w = _round(s, place, x, y, z, v, w, K1, 1)
    factor = (K1 + ((z & 0xFF) << 1)) & MASK
    rest = (size - 1) & 63
    w = ((w[0] + rest) & MASK, w[1])
    v = ((v[0] + w[0]) & MASK, v[1])
    w = ((w[0] + v[0]) & MASK, w[1])
    x, y, z, v, w = _round(s, end + rest - 63, x, y, z, v, w, factor, 9)
    first = (_of_two(v[0], w[0], factor) + _mix(y) * K0 + z) & MASK
    return _of_two(first, (_of_two(v[1], w[1], factor) + x) & MASK, factor)


def _round(
    s: bytes, place: int, x: int, y: int, z: int, v: tuple, w: tuple, factor: int, weight: int
) -> tuple:
    """64 bytes; `weight` is 9 in the last round."""
    x = _rotate(x + y + v[0] + _word(s, place + 8), 37) * factor & MASK
    y = _rotate(y + v[1] + _word(s, place + 48), 42) * factor & MASK
    x ^= w[1] * weight & MASK
    y = (y + v[0] * weight + _word(s, place + 40)) & MASK
    z = _rotate(z + w[0], 33) * factor & MASK
    v = _weak(s, place, v[1] * factor & MASK, (x + w[0]) & MASK)
    w = _weak(s, place + 32, (z + w[1]) & MASK, (y + _word(s, place + 16)) & MASK)
    return z, y, x, v, w


def _left(x: int, places: int) -> int:
    return ((x << places) | (x >> (64 - places))) & MASK


def _sip_rounds(v: list[int], count: int) -> None:
    for _ in range(count):
        v[0] = (v[0] + v[1]) & MASK
        v[2] = (v[2] + v[3]) & MASK
        v[1], v[3] = _left(v[1], 13) ^ v[0], _left(v[3], 16) ^ v[2]
        v[0] = _left(v[0], 32)
        v[2] = (v[2] + v[1]) & MASK
        v[0] = (v[0] + v[3]) & MASK
        v[1], v[3] = _left(v[1], 17) ^ v[2], _left(v[3], 21) ^ v[0]
        v[2] = _left(v[2], 32)


def keyed(s: bytes, key: Sequence[int]) -> int:
    """SipHash-2-4 of `s` under a key of two 64-bit numbers."""
    first, second = (int(part) & MASK for part in key)
    v = [
        first ^ 0x736F6D6570736575,
        second ^ 0x646F72616E646F6D,
        first ^ 0x6C7967656E657261,
        second ^ 0x7465646279746573,
    ]
    whole = len(s) // 8 * 8
    words = [_word(s, place) for place in range(0, whole, 8)]
    words.append(int.from_bytes(s[whole:], "little") | (len(s) & 0xFF) << 56)
    for word in words:
        v[3] ^= word
        _sip_rounds(v, 2)
        v[0] ^= word
    v[2] ^= 0xFF
    _sip_rounds(v, 4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


_MURMUR = 0xC6A4A7935BD1E995


def hashed(s: bytes, seed: int = 0xDECAFCAFFE) -> int:
    """MurmurHash64A of `s` (Appleby 2008)."""
    whole = len(s) // 8 * 8
    found = seed ^ (len(s) * _MURMUR & MASK)
    for place in range(0, whole, 8):
        word = _word(s, place) * _MURMUR & MASK
        found = (found ^ (word ^ (word >> 47)) * _MURMUR & MASK) * _MURMUR & MASK
    if whole < len(s):
        found = (found ^ int.from_bytes(s[whole:], "little")) * _MURMUR & MASK
    found = (found ^ (found >> 47)) * _MURMUR & MASK
    return found ^ (found >> 47)
