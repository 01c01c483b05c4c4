"""Replacement with groups in the language of `native/translate.py`; see `captures.py`."""

from __future__ import annotations

from talweg.kernels.fingerprints import byte, length
from talweg.kernels.native.words import load32, load64, new_bytes, store8, store32, store64
from talweg.kernels.strings.native_patterns import END_MATCH_AT, MATCH_AT, OFFSET, PATIENCE
from talweg.kernels.strings.native_text import keep, same

GROUPS = 10  # that a rewrite can name
LONGEST = 1 << 12  # bytes of a string
ROOM = 1 << 14  # bytes of a result
END = (1 << 32) - 1
SLOT_COUNT = 2 * GROUPS
THREAD_AT = 130 * 4  # bytes from the beginning of a row of the automaton's table
END_LINK_AT = 131 * 4
# Bytes from the beginning of a plan.
STATES_AT = 0
SLOTS_AT = 8
OUTPUT_AT = 16
TRACE_AT = 24
LINKS_AT = 32
PARTS_AT = 40
COUNT_AT = 48
FIRST_AT = 56
LATER_AT = 64


def replace_with_groups(s: int, out: int, table: int, plan: int, starts: int) -> int:
    """Return the matches of a text, none of them empty, each written anew; texts of ASCII only."""
    size = length(s)
    if size > LONGEST:
        return 0
    first = starts & OFFSET
    later = (starts >> 24) & OFFSET
    everywhere = starts >> 48
    k = 0
    while k < size:
        if byte(s, k) > 127:
            return 0
        k = k + 1
    patience = PATIENCE * size + PATIENCE
    start = load64(plan + OUTPUT_AT)
    to = start
    last = start + ROOM
    count = 0
    going = 1
    k = 0
    while k < size:
        end = 0
        if going != 0:
            match = match_noted(s, size, k, table, later if k > 0 else first, plan)
            patience = patience - (match >> 32) - 1
            if patience < 0:
                return 0
            end = (match & END) - 1
        if end > k:
            count = count + 1
            going = everywhere
            find_slots(s, size, k, end, table, plan)
            to = write_parts(s, plan, to, last)
            if to == 0:
                return 0
            k = end
        else:
            if to >= last:
                return 0
            store8(to, byte(s, k))
            to = to + 1
            k = k + 1
    if count == 0:
        return same(s, out)
    return keep(out, new_bytes(start, to - start))


def match_noted(s: int, size: int, start: int, table: int, state: int, plan: int) -> int:
    """Match as `match_end` does, with the states on the way in memory."""
    last = 0
    k = start
    states = load64(plan + STATES_AT)
    while k < size:
        store32(states, state)
        if load32(table + state + MATCH_AT) != 0:
            last = k + 1
        state = load32(table + state + 4 * byte(s, k))
        if state == 0:
            return last + ((k - start) << 32)
        k = k + 1
        states = states + 4
    store32(states, state)
    if load32(table + state + END_MATCH_AT) != 0:
        last = k + 1
    return last + ((k - start) << 32)


def find_slots(s: int, size: int, start: int, end: int, table: int, plan: int) -> int:
    """Put into memory where the groups of a match begin and end; -1 for those that have no part."""
    slots = load64(plan + SLOTS_AT)
    states = load64(plan + STATES_AT)
    trace = load64(plan + TRACE_AT)
    links = load64(plan + LINKS_AT)
    k = 0
    while k < SLOT_COUNT:
        store64(slots + 8 * k, -1)
        k = k + 1
    k = end - start
    state = load32(states + 4 * k)
    thread = load32(table + state + THREAD_AT)
    if end == size:
        link = links + load32(table + state + END_LINK_AT)
        note(slots, load32(link + 4), end)
        thread = load32(link)
    while k > 0:
        k = k - 1
        state = load32(states + 4 * k)
        link = links + load32(trace + state + 4 * byte(s, start + k)) + 8 * thread
        note(slots, load32(link + 4), start + k + 1)
        thread = load32(link)
    begun = load64(plan + LATER_AT) if start > 0 else load64(plan + FIRST_AT)
    note(slots, load32(links + begun + 8 * thread + 4), start)
    return 1


def note(slots: int, bits: int, place: int) -> int:
    """Write a place into the slots of a link that have none yet."""
    while bits != 0:
        if (bits & 1) != 0 and load64(slots) < 0:
            store64(slots, place)
        bits = bits >> 1
        slots = slots + 8
    return 1


def write_parts(s: int, plan: int, to: int, last: int) -> int:
    """Return the parts of the rewrite from an address on;
    where they end, 0 where there is no room.
    """
    parts = load64(plan + PARTS_AT)
    slots = load64(plan + SLOTS_AT)
    count = load64(plan + COUNT_AT)
    while count > 0:
        text = load64(parts)
        at = 0
        end = 0
        if text == 0:
            text = s
            slot = slots + 16 * load64(parts + 8)
            if load64(slot) >= 0 and load64(slot + 8) >= 0:
                at = load64(slot)
                end = load64(slot + 8)
        else:
            end = length(text)
        if end - at > last - to:
            return 0
        while at < end:
            store8(to, byte(text, at))
            to = to + 1
            at = at + 1
        parts = parts + 16
        count = count - 1
    return to
