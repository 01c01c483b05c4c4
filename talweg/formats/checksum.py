"""CRC-32C, the checksum of checkpoints and records, computed in lanes by NumPy.

The register of a CRC is linear in its input: the checksum of two pieces is that of the first, moved
on by the length of the second (a product with a power of x modulo the polynomial), plus that of the
second.  So long inputs are cut into lanes that are summed at the same time, two bytes a step.

Castagnoli, Braeuer, Herrmann, "Optimization of cyclic redundancy-check codes with 24 and 32 parity
bits", 1993.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from talweg.formats.checksum_native import native_checksum

POLYNOMIAL = 0x82F63B78  # reflected: the highest bit is the coefficient of 1
ONES = 0xFFFFFFFF
MASK_DELTA = 0xA282EAD8
SMALL = 512  # bytes summed one by one
CHUNK = 1 << 22  # bytes in flight
STEPS = 128  # steps of two bytes in a lane
TINY = 16  # bytes for which no native function is called
MUCH = 1 << 16  # bytes summed after which a native function is compiled


class _Summed:
    """Counts the bytes summed so far."""

    count = 0


_summed = _Summed()


@cache
def _byte_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


@cache
def _pair_table() -> np.ndarray:
    """Return the register after two bytes, for every pair of them."""
    table = np.array(_byte_table(), np.uint32)
    pairs = np.arange(1 << 16, dtype=np.uint32)
    first = table[pairs & 0xFF]
    return table[(first ^ (pairs >> 8)) & 0xFF] ^ (first >> 8)


def _product(a: int, b: Any) -> Any:
    """Multiply a by b modulo the polynomial; b may be an array of registers."""
    total = np.zeros_like(b)
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            total = total ^ b
        b = (b >> 1) ^ np.where(b & 1, np.uint32(POLYNOMIAL), np.uint32(0))
    return total


@cache
def _power(exponent: int) -> int:
    """Compute x to the power 2**exponent."""
    if exponent == 0:
        return 1 << 30
    half = _power(exponent - 1)
    return int(_product(half, np.uint32(half)))


def _shift_zeros(register: object, count: int) -> Any:
    """Return the register after `count` more bytes that are zero."""
    exponent = 3
    while count:
        if count & 1:
            register = _product(_power(exponent), register)
        count >>= 1
        exponent += 1
    return register


def _of_chunk(data: np.ndarray) -> int:
    """Compute the register after `data` (bytes), started from 0."""
    lanes = 1
    while lanes * STEPS * 2 < data.size:
        lanes *= 2
    padded = np.zeros(lanes * STEPS * 2, np.uint8)  # zeros in front change nothing
    padded[padded.size - data.size :] = data
    words = np.ascontiguousarray(padded.view("<u2").reshape(lanes, STEPS).T)
    table = _pair_table()
    register = np.zeros(lanes, np.uint32)
    for row in words:
        register = table[(register ^ row) & 0xFFFF] ^ (register >> 16)
    length = STEPS * 2
    while register.size > 1:
        register = _shift_zeros(register[0::2], length) ^ register[1::2]
        length *= 2
    return int(register[0])


def crc32c(data: Any, value: int = 0) -> int:
    """Compute the checksum of bytes; `value` is that of the bytes before them.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    register = value ^ ONES
    view = memoryview(data).cast("B")
    _summed.count += len(view)
    if _summed.count > MUCH and len(view) > TINY:
        native = native_checksum()
        if native is not None:
            return native(view, register) ^ ONES
    if len(view) <= SMALL:
        table = _byte_table()
        for byte in view:
            register = table[(register ^ byte) & 0xFF] ^ (register >> 8)
        return register ^ ONES
    array = np.frombuffer(view, np.uint8)
    for start in range(0, array.size, CHUNK):
        part = array[start : start + CHUNK]
        register = int(_shift_zeros(np.uint32(register), part.size)) ^ _of_chunk(part)
    return register ^ ONES


def mask_checksum(checksum: int) -> int:
    """Return a checksum as it stands in files, where it may itself be summed."""
    return ((checksum >> 15 | checksum << 17) + MASK_DELTA) & ONES
