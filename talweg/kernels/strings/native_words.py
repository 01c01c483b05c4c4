"""Strings cut into words and bytes, as text for machine code (see `native_text.py`)."""

from __future__ import annotations

from talweg.kernels.fingerprints import byte, length
from talweg.kernels.native.translate import DATA_AT
from talweg.kernels.native.words import load64, new_bytes, store64
from talweg.kernels.strings.native_text import blank, keep


def starts_with(s: int, place: int, sep: int) -> int:
    """Return whether a string goes on with another at a place where there is room for it."""
    k = 0
    while k < length(sep) and byte(s, place + k) == byte(sep, k):
        k = k + 1
    return k == length(sep)


def put_part(s: int, at: int, first: int, last: int) -> int:
    """Return part of a string put at an address, if it is one; the address behind."""
    if at != 0:
        keep(at, new_bytes(s + DATA_AT + first, last - first))
        return at + 8
    return 0


def cut_at_blanks(s: int, at: int) -> int:
    """Return the words between blanks, put at an address, if it is one; how many."""
    size = length(s)
    count = 0
    k = 0
    while k < size:
        while k < size and blank(byte(s, k)) != 0:
            k = k + 1
        if k < size:
            first = k
            while k < size and blank(byte(s, k)) == 0:
                k = k + 1
            at = put_part(s, at, first, k)
            count = count + 1
    return count


def cut_at(s: int, at: int, sep: int) -> int:
    """Return the words between a separator, put at an address, if it is one; how many."""
    size = length(s)
    count = 1
    first = 0
    k = 0
    while k + length(sep) <= size:
        if starts_with(s, k, sep) != 0:
            at = put_part(s, at, first, k)
            k = k + length(sep)
            first = k
            count = count + 1
        else:
            k = k + 1
    put_part(s, at, first, size)
    return count


def count_words(s: int, out: int, sep: int, b: int, c: int) -> int:
    """Count the words of a string; `sep` is 0 for blanks."""
    if sep == 0:
        store64(out, cut_at_blanks(s, 0))
    else:
        store64(out, cut_at(s, 0, sep))
    return 1


def words_cut(s: int, out: int, values: int, sep: int, c: int) -> int:
    """Return the words of a string,
    put into an array from the place on that is written at `out`.
    """
    at = values + 8 * load64(out)
    if sep == 0:
        cut_at_blanks(s, at)
    else:
        cut_at(s, at, sep)
    return 1


def bytes_cut(s: int, out: int, values: int, b: int, c: int) -> int:
    """Return the bytes of a string,
    put into an array from the place on that is written at `out`.
    """
    at = values + 8 * load64(out)
    k = 0
    while k < length(s):
        at = put_part(s, at, k, k + 1)
        k = k + 1
    return 1


def sizes_of(s: int, out: int, a: int, b: int, c: int) -> int:
    """Return the number of bytes, in 64 bits."""
    store64(out, length(s))
    return 1
