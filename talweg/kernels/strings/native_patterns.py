"""Kernels of regular expressions in the language of `native/translate.py`.

They go by the tables of `automaton.py`.

A search tries one place after the other; where that reads a text many times over, the code leaves
it, so the time is linear in the text for any pattern.
"""

from __future__ import annotations

from talweg.kernels.fingerprints import byte, length
from talweg.kernels.native.translate import DATA_AT
from talweg.kernels.native.words import load32, new_bytes, store8
from talweg.kernels.strings.native_text import keep, same

MATCH_AT = 128 * 4  # bytes from the beginning of a row
END_MATCH_AT = 129 * 4
PATIENCE = 16  # how often a text may be read before it is left
OFFSET = (1 << 24) - 1


def match_whole(s: int, out: int, table: int, first: int, c: int) -> int:
    """Return whether all of a text is a match; texts of ASCII only."""
    size = length(s)
    state = first
    k = 0
    while k < size:
        letter = byte(s, k)
        if letter > 127:
            return 0
        state = load32(table + state + 4 * letter)
        if state == 0:
            while k < size:
                if byte(s, k) > 127:
                    return 0
                k = k + 1
            store8(out, 0)
            return 1
        k = k + 1
    store8(out, load32(table + state + END_MATCH_AT))
    return 1


def match_end(s: int, size: int, start: int, table: int, state: int) -> int:
    """Find the end of the match that begins at a place, and how far the text was read; -1 for none.

    Both in one number: the end plus 1, and 32 bits higher the number of bytes read.
    """
    last = 0
    k = start
    while k < size:
        if load32(table + state + MATCH_AT) != 0:
            last = k + 1
        state = load32(table + state + 4 * byte(s, k))
        if state == 0:
            return last + ((k - start) << 32)
        k = k + 1
    if load32(table + state + END_MATCH_AT) != 0:
        last = k + 1
    return last + ((k - start) << 32)


def replace_matches(s: int, out: int, table: int, text: int, starts: int) -> int:
    """Return the matches of a text, none of them empty,
    each written as another; texts of ASCII only.
    """
    size = length(s)
    first = starts & OFFSET
    later = (starts >> 24) & OFFSET
    everywhere = starts >> 48
    k = 0
    while k < size:
        if byte(s, k) > 127:
            return 0
        k = k + 1
    patience = PATIENCE * size + PATIENCE
    count = 0
    removed = 0
    k = 0
    going = 1
    while k < size and going != 0:
        match = match_end(s, size, k, table, later if k > 0 else first)
        patience = patience - (match >> 32) - 1
        if patience < 0:
            return 0
        end = (match & ((1 << 32) - 1)) - 1
        if end > k:
            count = count + 1
            removed = removed + end - k
            going = everywhere
            k = end
        else:
            k = k + 1
    if count == 0:
        return same(s, out)
    width = length(text)
    made = new_bytes(0, size - removed + count * width)
    if made == 0:
        return 0
    to = made + DATA_AT
    k = 0
    while k < size:
        end = 0
        if count > 0:
            end = (match_end(s, size, k, table, later if k > 0 else first) & ((1 << 32) - 1)) - 1
        if end > k:
            count = count - 1
            j = 0
            while j < width:
                store8(to + j, byte(text, j))
                j = j + 1
            to = to + width
            k = end
        else:
            store8(to, byte(s, k))
            to = to + 1
            k = k + 1
    return keep(out, made)
