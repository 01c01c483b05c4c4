"""Hashes of bytes: FarmHash's Fingerprint64, SipHash-2-4 (Aumasson and Bernstein 2012), Murmur.

All give the numbers that TensorFlow gives, so that words fall into the same buckets.  They are
written in the language of `native/translate.py`, which makes machine code of the same text.
"""

from __future__ import annotations

from typing import Any

Text = Any  # bytes; in machine code their address
MASK = 2**64 - 1
K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
MURMUR = 0xC6A4A7935BD1E995
SEED = 0xDECAFCAFFE


def length(s: Text) -> int:
    """Return the number of bytes."""
    return len(s)


def byte(s: Text, place: int) -> int:
    """Return a byte."""
    return s[place]


def half(s: Text, place: int) -> int:
    """Return four bytes as a number."""
    return int.from_bytes(s[place : place + 4], "little")


def word(s: Text, place: int) -> int:
    """Return eight bytes as a number."""
    return int.from_bytes(s[place : place + 8], "little")


def rotate(x: int, places: int) -> int:
    """Return the bits of a word turned to the right."""
    x = x & MASK
    return ((x >> places) | (x << (64 - places))) & MASK


def mix(x: int) -> int:
    """Return a word with its high bits over its low ones."""
    x = x & MASK
    return x ^ (x >> 47)


def of_two(u: int, v: int, factor: int) -> int:
    """Return the hash of two words."""
    a = mix((u ^ v) * factor)
    return mix((v ^ a) * factor) * factor & MASK


def short(s: Text) -> int:
    """Hash up to 16 bytes."""
    size = length(s)
    factor = K2 + size * 2
    if size >= 8:
        a = word(s, 0) + K2
        b = word(s, size - 8)
        c = rotate(b, 37) * factor + a
        d = (rotate(a, 25) + b) * factor
        return of_two(c & MASK, d & MASK, factor)
    if size >= 4:
        return of_two(size + (half(s, 0) << 3), half(s, size - 4), factor)
    if size > 0:
        y = byte(s, 0) + (byte(s, size >> 1) << 8)
        z = size + (byte(s, size - 1) << 2)
        return mix((y * K2 & MASK) ^ (z * K0 & MASK)) * K2 & MASK
    return K2


def middle(s: Text) -> int:
    """Hash 17 to 64 bytes."""
    size = length(s)
    factor = K2 + size * 2
    a = word(s, 0) * (K1 if size <= 32 else K2) & MASK
    b = word(s, 8)
    c = word(s, size - 8) * factor
    d = word(s, size - 16) * K2
    y = (rotate(a + b, 43) + rotate(c, 30) + d) & MASK
    z = of_two(y, (a + rotate(b + K2, 18) + c) & MASK, factor)
    if size <= 32:
        return z
    e = word(s, 16) * factor & MASK
    f = word(s, 24)
    g = (y + word(s, size - 32)) * factor & MASK
    h = (z + word(s, size - 24)) * factor & MASK
    first = (rotate(e + f, 43) + rotate(g, 30) + h) & MASK
    return of_two(first, (e + rotate(f + a, 18) + g) & MASK, factor)


def weak(s: Text, place: int, a: int, b: int) -> tuple[int, int]:
    """Hash 32 bytes into two words."""
    z = word(s, place + 24)
    a = (a + word(s, place)) & MASK
    b = rotate(b + a + z, 21)
    c = a
    a = (a + word(s, place + 8) + word(s, place + 16)) & MASK
    b = (b + rotate(a, 44)) & MASK
    return (a + z) & MASK, (b + c) & MASK


def round_of(
    s: Text, place: int, x: int, y: int, z: int, v: int, t: int, w: int, u: int, m: int, n: int
) -> tuple[int, int, int, int, int, int, int]:
    """Hash 64 bytes into seven words; m is the factor, n 9 in the last round."""
    x = rotate(x + y + v + word(s, place + 8), 37) * m & MASK
    y = rotate(y + t + word(s, place + 48), 42) * m & MASK
    x = x ^ (u * n & MASK)
    y = (y + v * n + word(s, place + 40)) & MASK
    z = rotate(z + w, 33) * m & MASK
    v, t = weak(s, place, t * m & MASK, (x + w) & MASK)
    w, u = weak(s, place + 32, (z + u) & MASK, (y + word(s, place + 16)) & MASK)
    return z, y, x, v, t, w, u


def long(s: Text) -> int:
    """Hash more than 64 bytes."""
    size = length(s)
    x = (81 * K2 + word(s, 0)) & MASK
    y = (81 * K1 + 113) & MASK
    z = mix(y * K2 + 113) * K2 & MASK
    v = 0
    t = 0
    w = 0
    u = 0
    end = (size - 1) // 64 * 64
    at = 0
    while at < end:
        x, y, z, v, t, w, u = round_of(s, at, x, y, z, v, t, w, u, K1, 1)
        at = at + 64
    factor = (K1 + ((z & 0xFF) << 1)) & MASK
    rest = (size - 1) & 63
    w = (w + rest) & MASK
    v = (v + w) & MASK
    w = (w + v) & MASK
    x, y, z, v, t, w, u = round_of(s, end + rest - 63, x, y, z, v, t, w, u, factor, 9)
    first = (of_two(v, w, factor) + mix(y) * K0 + z) & MASK
    return of_two(first, (of_two(t, u, factor) + x) & MASK, factor)


def fingerprint(s: Text) -> int:
    """Return FarmHash's Fingerprint64 of `s`."""
    if length(s) <= 16:
        return short(s)
    if length(s) <= 64:
        return middle(s)
    return long(s)


def sip_round(v: int, w: int, x: int, y: int) -> tuple[int, int, int, int]:
    """Return a round of SipHash over four words."""
    v = (v + w) & MASK
    x = (x + y) & MASK
    w = rotate(w, 51) ^ v
    y = rotate(y, 48) ^ x
    v = rotate(v, 32)
    x = (x + w) & MASK
    v = (v + y) & MASK
    w = rotate(w, 47) ^ x
    y = rotate(y, 43) ^ v
    x = rotate(x, 32)
    return v, w, x, y


def siphash(s: Text, first: int, second: int) -> int:
    """Return SipHash-2-4 of `s` under a key of two 64-bit numbers."""
    v = first & MASK ^ 0x736F6D6570736575
    w = second & MASK ^ 0x646F72616E646F6D
    x = first & MASK ^ 0x6C7967656E657261
    y = second & MASK ^ 0x7465646279746573
    size = length(s)
    at = 0
    while at <= size:
        left = size - at
        part = (size & 0xFF) << 56
        if left >= 8:
            part = word(s, at)
        else:
            k = 0
            while k < left:
                part = part | (byte(s, at + k) << (8 * k))
                k = k + 1
        y = y ^ part
        v, w, x, y = sip_round(v, w, x, y)
        v, w, x, y = sip_round(v, w, x, y)
        v = v ^ part
        at = at + 8
    x = x ^ 0xFF
    v, w, x, y = sip_round(v, w, x, y)
    v, w, x, y = sip_round(v, w, x, y)
    v, w, x, y = sip_round(v, w, x, y)
    v, w, x, y = sip_round(v, w, x, y)
    return v ^ w ^ x ^ y


def murmur_hash(s: Text) -> int:
    """Return MurmurHash64A of `s` (Appleby 2008)."""
    size = length(s)
    h = SEED ^ (size * MURMUR & MASK)
    at = 0
    while at + 8 <= size:
        part = word(s, at) * MURMUR & MASK
        h = (h ^ (part ^ (part >> 47)) * MURMUR & MASK) * MURMUR & MASK
        at = at + 8
    if at < size:
        part = 0
        k = 0
        while at + k < size:
            part = part | (byte(s, at + k) << (8 * k))
            k = k + 1
        h = (h ^ part) * MURMUR & MASK
    h = (h ^ (h >> 47)) * MURMUR & MASK
    return h ^ (h >> 47)
