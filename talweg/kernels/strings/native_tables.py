"""Keys looked up in open tables, as text for machine code (see `native_text.py`)."""

from __future__ import annotations

from talweg.kernels.fingerprints import byte, fingerprint, length, word
from talweg.kernels.native.words import load64, store64


def equal(s: int, t: int) -> int:
    """Return whether two strings are the same bytes."""
    size = length(s)
    if length(t) != size:
        return 0
    k = 0
    while k + 8 <= size:
        if word(s, k) != word(t, k):
            return 0
        k = k + 8
    while k < size:
        if byte(s, k) != byte(t, k):
            return 0
        k = k + 1
    return 1


def tag_of(s: int) -> int:
    """Return the bytes of a string and their number,
    if they fit into 64 bits; else a hash of them.
    """
    size = length(s)
    if size < 8:
        return (word(s, 0) & ((1 << (8 * size)) - 1)) | (size << 56)
    return fingerprint(s) | (255 << 56)


def slot_of(s: int, slots: int, mask: int, keys: int) -> int:
    """Return the address of the pair (number, tag) of a key in an open table, or of an empty one.

    Only long keys are compared with those of the table: equal tags of short ones are enough.
    """
    own = tag_of(s)
    short = length(s) < 8
    at = mix_hash(own) & mask
    while 1:
        slot = slots + 16 * at
        number = load64(slot)
        if number < 0:
            return slot
        if load64(slot + 8) == own and (short or equal(s, load64(keys + 8 * number)) != 0):
            return slot
        at = (at + 1) & mask
    return 0


def look_up_key(s: int, out: int, slots: int, mask: int, keys: int) -> int:
    """Look up the number of a key in a table, -1 for unknown ones."""
    store64(out, load64(slot_of(s, slots, mask, keys)))
    return 1


def enter_key(s: int, out: int, slots: int, mask: int, keys: int) -> int:
    """Enter a key into a table under the number that is written at `out`."""
    place = slot_of(s, slots, mask, keys)
    store64(place, load64(out))
    store64(place + 8, tag_of(s))
    return 1


def mix_hash(key: int) -> int:
    """Return a hash of an integer (Stafford's mix of 64 bits, variant 13)."""
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9
    key = (key ^ (key >> 27)) * 0x94D049BB133111EB
    return key ^ (key >> 31)


def number_slot_of(key: int, slots: int, mask: int) -> int:
    """Return the address of the pair (number,
    key) of an integer in an open table, or of an empty one.
    """
    at = mix_hash(key) & mask
    while 1:
        place = slots + 16 * at
        if load64(place) < 0 or load64(place + 8) == key:
            return place
        at = (at + 1) & mask
    return 0


def look_up_number(key: int, out: int, buffer: int, slots: int, mask: int) -> int:
    """Look up the number of an integer in a table, -1 for unknown ones."""
    store64(out, load64(number_slot_of(key, slots, mask)))
    return 1


def enter_number(key: int, out: int, buffer: int, slots: int, mask: int) -> int:
    """Enter an integer into a table under the number that is written at `out`."""
    place = number_slot_of(key, slots, mask)
    store64(place, load64(out))
    store64(place + 8, key)
    return 1
