"""Kernels of strings in the language of `native/translate.py`, one string or number at a time.

A string is the address of a `bytes` object.  A function that makes a result for an element gives 1;
0 asks for Python's own way, which also raises what is to be raised.
"""

from __future__ import annotations

import sys

import numpy as np

from talweg.kernels.fingerprints import byte, fingerprint, length, murmur_hash, siphash
from talweg.kernels.native.translate import DATA_AT, TYPE_AT
from talweg.kernels.native.words import (
    decrease,
    divide_floats,
    each,
    float32_bits,
    float_bits,
    increase,
    load64,
    multiply_floats,
    new_bytes,
    scratch,
    shift_product,
    shift_rest,
    store8,
    store32,
    store64,
)

BYTES = id(bytes)
MORTAL = int(sys.version_info < (3, 12))  # None, which new arrays hold, is counted
POWERS = 10.0 ** np.arange(23)  # exact
POWERS_AT = POWERS.ctypes.data
TENS = np.array([10**k for k in range(19)], np.int64)
TENS_AT = TENS.ctypes.data
HALF = 1 << 63
EXACT = 1 << 53  # whole numbers below are float64
LARGEST = 1 << 59
BUFFER = 64


def talweg_each(strings: int, out: int, start: int, stop: int, width: int, a: int, b: int, c: int):
    """Return `each` of the strings from start on; how far it came."""
    i = start
    while i < stop:
        s = load64(strings + 8 * i)
        if load64(s + TYPE_AT) != BYTES:
            return i
        if each(s, out + width * i, a, b, c) == 0:
            return i
        i = i + 1
    return stop


def talweg_write(values: int, out: int, start: int, stop: int, width: int, a: int, b: int, c: int):
    """Return `each` of the numbers from start on, with memory to write in; how far it came."""
    i = start
    buffer = scratch(BUFFER)
    while i < stop:
        if each(load64(values + 8 * i), out + 8 * i, buffer, a, b) == 0:
            return i
        i = i + 1
    return stop


def keep(out: int, found: int) -> int:
    """Put an object that is counted already into an array."""
    if found == 0:
        return 0
    old = load64(out)
    store64(out, found)
    if MORTAL != 0:
        decrease(old)
    return 1


def same(s: int, out: int) -> int:
    """Return the string itself as the result."""
    increase(s)
    return keep(out, s)


def part_of(s: int, out: int, first: int, last: int) -> int:
    """Return the bytes from first up to last as the result."""
    if first == 0 and last == length(s):
        return same(s, out)
    return keep(out, new_bytes(s + DATA_AT + first, last - first))


def count_bytes(s: int, out: int, a: int, b: int, c: int) -> int:
    """Return the number of bytes."""
    store32(out, length(s))
    return 1


def count_characters(s: int, out: int, a: int, b: int, c: int) -> int:
    """Return the number of characters of UTF-8."""
    size = length(s)
    found = 0
    k = 0
    while k < size:
        found = found + ((byte(s, k) & 0xC0) != 0x80)
        k = k + 1
    store32(out, found)
    return 1


def take_bytes(s: int, out: int, start: int, size: int, c: int) -> int:
    """Return `size` bytes from `start` on, all of them for a negative size."""
    whole = length(s)
    first = start + whole if start < 0 else start
    if first < 0 or first > whole:
        return 0
    last = whole if size < 0 or size > whole - first else first + size
    return part_of(s, out, first, last)


def after_characters(s: int, place: int, count: int) -> int:
    """Return the end of `count` characters of UTF-8 from a place on."""
    size = length(s)
    while count > 0 and place < size:
        place = place + 1
        while place < size and (byte(s, place - (place == size)) & 0xC0) == 0x80:
            place = place + 1
        count = count - 1
    return place if count == 0 else -1


def take_characters(s: int, out: int, start: int, size: int, c: int) -> int:
    """Return `size` characters of UTF-8 from `start` on;
    for strings that begin with a character.
    """
    if start < 0 or size < 0 or length(s) == 0:
        return 0
    if (byte(s, 0) & 0xC0) == 0x80:
        return 0
    first = after_characters(s, 0, start)
    if first < 0:
        return 0
    last = after_characters(s, first, size)
    return part_of(s, out, first, length(s) if last < 0 else last)


def change_case(s: int, out: int, low: int, high: int, c: int) -> int:
    """Return the letters of ASCII from low to high in the other case."""
    size = length(s)
    count = 0
    k = 0
    while k < size:
        count = count + (low <= byte(s, k) <= high)
        k = k + 1
    if count == 0:
        return same(s, out)
    text = new_bytes(0, size)
    if text == 0:
        return 0
    k = 0
    while k < size:
        letter = byte(s, k)
        store8(text + DATA_AT + k, letter ^ ((low <= letter <= high) << 5))
        k = k + 1
    return keep(out, text)


def blank(letter: int) -> int:
    """Return whether a byte is a blank of ASCII."""
    return letter == 32 or 9 <= letter <= 13


def strip(s: int, out: int, a: int, b: int, c: int) -> int:
    """Return the text without blanks at both ends."""
    first = 0
    last = length(s)
    while first < last and blank(byte(s, first)) != 0:
        first = first + 1
    while first < last and blank(byte(s, last - 1)) != 0:
        last = last - 1
    return part_of(s, out, first, last)


def fast_bucket(s: int, out: int, count: int, b: int, c: int) -> int:
    """Return FarmHash modulo the count."""
    store64(out, fingerprint(s) % count)
    return 1


def plain_bucket(s: int, out: int, count: int, b: int, c: int) -> int:
    """Return MurmurHash64A modulo the count."""
    store64(out, murmur_hash(s) % count)
    return 1


def strong_bucket(s: int, out: int, count: int, first: int, second: int) -> int:
    """Return SipHash modulo the count."""
    store64(out, siphash(s, first, second) % count)
    return 1


def integer_read(s: int, out: int, low: int, high: int, width: int) -> int:
    """Return a decimal number of at most 18 digits from low to high, without blanks."""
    size = length(s)
    k = 0
    negative = 0
    if size == 0 or size > 19:
        return 0
    if byte(s, 0) == 45:
        negative = 1
        k = 1
    if k == size or size - k > 18:
        return 0
    number = 0
    while k < size:
        digit = byte(s, k) - 48
        if digit < 0 or digit > 9:
            return 0
        number = number * 10 + digit
        k = k + 1
    number = -number if negative != 0 else number
    if number < low or number > high or (low == 0 and negative != 0):
        return 0
    if width == 4:
        store32(out, number)
    else:
        store64(out, number)
    return 1


def exponent_read(s: int, k: int) -> tuple[int, int]:
    """Return a decimal exponent from a place on to the end, and whether there is one."""
    size = length(s)
    negative = 0
    exponent = 0
    if k < size:
        sign = byte(s, k)
        if sign == 45 or sign == 43:
            negative = sign == 45
            k = k + 1
    if k >= size or size - k > 3:
        return 0, 0
    while k < size:
        digit = byte(s, k) - 48
        if digit < 0 or digit > 9:
            return 0, 0
        exponent = exponent * 10 + digit
        k = k + 1
    return -exponent if negative != 0 else exponent, 1


def float_read(s: int, out: int, width: int, b: int, c: int) -> int:
    """Return a decimal number
    that float64 has after one exact product or quotient (Clinger 1990).
    """
    size = length(s)
    k = 0
    negative = 0
    if size == 0:
        return 0
    if byte(s, 0) == 45:
        negative = 1
        k = 1
    digits_read = 0
    digits = 0
    point = 0
    behind = 0
    exponent = 0
    while k < size:
        letter = byte(s, k)
        if 48 <= letter <= 57:
            if digits_read > LARGEST:
                return 0
            digits_read = digits_read * 10 + letter - 48
            digits = digits + 1
            behind = behind + point
        else:
            if letter == 46 and point == 0:
                point = 1
            else:
                if (letter | 32) != 101 or digits == 0:
                    return 0
                exponent, right = exponent_read(s, k + 1)
                if right == 0:
                    return 0
                k = size
        k = k + 1
    if digits == 0 or digits_read >= EXACT:
        return 0
    exponent = exponent - behind
    if exponent < -22 or exponent > 22:
        return 0
    bits = float_bits(digits_read)
    if exponent < 0:
        bits = divide_floats(bits, load64(POWERS_AT - 8 * exponent))
    else:
        bits = multiply_floats(bits, load64(POWERS_AT + 8 * exponent))
    if width == 8:
        store64(out, bits | (negative << 63))
        return 1
    small = (bits >> 52) < 897 and digits_read != 0  # no normal float32
    if (bits & 0x1FFFFFFF) == 0x10000000 or small:
        return 0
    store32(out, float32_bits(bits) | (negative << 31))
    return 1


def write_digits(value: int, end: int, least: int) -> int:
    """Return the decimal digits of a number, at least so many,
    before the address `end`: the first's.
    """
    at = end
    while value != 0 or least > 0:
        at = at - 1
        store8(at, 48 + value % 10)
        value = value // 10
        least = least - 1
    return at


def write_integer(value: int, out: int, buffer: int, a: int, b: int) -> int:
    """Return a whole number in decimal digits."""
    end = buffer + BUFFER
    at = write_digits(-value if value < 0 else value, end, 1)
    if value < 0:
        at = at - 1
        store8(at, 45)
    return keep(out, new_bytes(at, end - at))


def write_float(bits: int, out: int, buffer: int, digits: int, b: int) -> int:
    """Return a float64 with so many digits behind the point,
    rounded to even from all that it is.
    """
    exponent = (bits >> 52) & 0x7FF
    fraction = bits & (EXACT - 1 >> 1)
    if exponent > 1064 - 4 * (digits > 6):
        return 0  # not in 63 bits, or not finite
    if exponent != 0:
        fraction = fraction | (EXACT >> 1)
    places = 1075 - exponent - (exponent == 0) * 1
    if exponent == 0:
        places = 1074
    unit = load64(TENS_AT + 8 * digits)
    significand = 0
    if places < 128:
        significand = shift_product(fraction, unit, places)
        rest = shift_rest(fraction, unit, places)
        if rest == HALF:
            significand = significand + (significand & 1)
        else:
            significand = significand + (rest < 0)
    end = buffer + BUFFER
    at = end
    if digits > 0:
        at = write_digits(significand % unit, end, digits)
        at = at - 1
        store8(at, 46)
    at = write_digits(significand // unit, at, 1)
    if bits < 0:
        at = at - 1
        store8(at, 45)
    return keep(out, new_bytes(at, end - at))
