"""Capture groups of a match: links from each thread of an automaton to the thread it came from.

An automaton (`automaton.py`) knows where a match ends, not what its groups matched.  A match is
gone through backwards: from the thread that matched to the one before it, whose letter it took,
and so on; what is met first of each end of a group is where the group was last (the machine's
own rule).  A link is two numbers: the place of the earlier thread in its state, and which slots
were written between, as bits.  So the time is linear in the match, for any pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.kernels.strings.automaton import LETTERS, ROW, Automaton
from talweg.kernels.strings.native import run, worthwhile
from talweg.kernels.strings.native_captures import (
    END_LINK_AT,
    GROUPS,
    LONGEST,
    ROOM,
    THREAD_AT,
)

if TYPE_CHECKING:
    from talweg.kernels.strings.regex import Rewrite

LARGEST = 1 << 18  # links that are worth a table
THREAD, END_LINK = THREAD_AT // 4, END_LINK_AT // 4  # in a row of the automaton's table


class Captures:
    """The links of an automaton.  ValueError where there are too many."""

    def __init__(self, automaton: Automaton):
        self.automaton = automaton
        self._places: dict[tuple, int] = {}
        self._links: list[int] = []
        states, rows = automaton.states, []
        for state in states:
            rows.append(
                [self._place(automaton.trace_letter(state, letter)) for letter in range(LETTERS)]
            )
            rows[-1] += [0] * (ROW - LETTERS)
        self.trace = np.array(rows, np.int32)
        self.table = automaton.table.copy()
        for number, state in enumerate(states):
            self.table[number, THREAD] = max(0, len(state) - 1)  # the last one is what matches
            self.table[number, END_LINK] = self._place(automaton.trace_end(state))
        self.first = self._place(automaton.trace_start(True))
        self.later = self._place(automaton.trace_start(False))
        self.links = np.array(self._links, np.int32)

    def _place(self, links: list[tuple[int, int]]) -> int:
        """Return the place of links, in bytes; equal links share one place."""
        key = tuple(links)
        found = self._places.setdefault(key, 4 * len(self._links))
        if found == 4 * len(self._links):
            self._links += [number for link in links for number in link]
            if len(self._links) > LARGEST:
                raise ValueError
        return found


class GroupKernel(NamedTuple):
    """Matches in many strings, written anew with their groups."""

    captures: Callable[[], Captures | None]
    rewrite: Rewrite
    everywhere: bool

    def of(self, x: np.ndarray, dtype: Any, slow: Callable[[Any], Any]) -> np.ndarray | None:
        """Return the strings of an array; None where Python is to make them."""
        name = "replace_with_groups"
        found = self.captures() if worthwhile(name, x.size) else None
        if found is None or found.automaton.empty:  # empty matches are RE2's own affair
            return None
        automaton = found.automaton
        starts = automaton.at(automaton.first) | automaton.at(automaton.later) << 24
        plan, kept = self._plan(found)
        given = (found.table.ctypes.data, plan.ctypes.data, starts | self.everywhere << 48)
        result = run(name, x, dtype, slow, *given, at_once=True)
        del kept
        return result

    def _plan(self, captures: Captures) -> tuple[np.ndarray, list]:
        """Build the code's tables, laid out as in `native_captures.py`, and list their owners."""
        parts = [
            number
            for part in self.rewrite.parts
            for number in ((id(part), 0) if type(part) is bytes else (0, part))
        ]
        kept = [
            np.empty(LONGEST + 1, np.int32),
            np.empty(2 * GROUPS, np.int64),
            np.empty(ROOM, np.uint8),
            captures.trace,
            captures.links,
            np.array(parts, np.int64),
        ]
        numbers = [len(parts) // 2, captures.first, captures.later]
        return np.array([*[each.ctypes.data for each in kept], *numbers], np.int64), kept
