"""Regular expressions as deterministic automata, for machine code (`native_patterns.py`).

A state is the list of threads of Pike's machine (`pike.py`) after what was read, in their order, so
that what matches first is what the machine finds (Cox 2010).  It has a row of a table: the row of
the state after each byte of ASCII, as its distance in bytes, then whether it is a match, and
whether it is one at the end of the text.  What groups matched, `captures.py` finds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from talweg.kernels.strings.native import run, worthwhile
from talweg.kernels.strings.pike import ASSERT, CHARACTER, JUMP, MATCH, SAVE, SPLIT, PikeMachine
from talweg.kernels.strings.regex_syntax import Branch

LETTERS = 128  # bytes of ASCII; the code leaves texts with others
ROW = 132  # numbers in a row of the table
MATCHES, MATCHES_AT_END = LETTERS, LETTERS + 1
LARGEST = 400  # states that are worth a table
DEAD = 0
PLACES = ("begin text", "end text")  # that are asked for here
SLOTS = 20  # of groups that a rewrite can name


class Automaton:
    """The automaton of a pattern's tree.  ValueError where it has none.

    ordered: threads behind a match are dropped, as for the first match of a text; else all are
    kept, as for the question whether all of a text is one.
    """

    def __init__(self, tree: Branch, groups: int, ordered: bool):
        self.program, self.ordered = PikeMachine(tree, groups).program, ordered
        self._letters: dict[int, list[bool]] = {}
        self._numbers: dict[tuple, int] = {(): DEAD}
        self.states: list[tuple] = [()]
        self.first = self._number(self._close([0], True))
        self.later = self._number(self._close([0], False))
        rows: list[list[int]] = []
        while len(rows) < len(self.states):
            rows.append(self._row(self.states[len(rows)]))
        self.table = np.array(rows, np.int32)
        self.empty = bool(self.table[[self.first, self.later], LETTERS:].any())

    def at(self, state: int) -> int:
        """Return the distance of a state's row from the first, in bytes."""
        return state * ROW * 4

    def _number(self, state: tuple) -> int:
        found = self._numbers.setdefault(state, len(self.states))
        if found == len(self.states):
            if found > LARGEST:
                raise ValueError
            self.states.append(state)
        return found

    def _close(self, places: list[int], beginning: bool, end: bool = False) -> tuple:
        """Return the threads at instructions, with all that they reach without a character."""
        return tuple([at for at, _, _ in self._trace_threads(places, beginning, end)])

    def _trace_threads(self, places: list[int], beginning: bool, end: bool = False) -> list[tuple]:
        """Follow threads as `_close` does: (instruction, number of its origin, slots as bits)."""
        threads_out: list[tuple] = []
        seen = set()
        waiting = [(at, origin, 0) for origin, at in enumerate(places)][::-1]
        while waiting:
            at, origin, slots = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            code, *rest = self.program[at]
            if code == JUMP:
                waiting.append((rest[0], origin, slots))
            elif code == SPLIT:
                waiting += [(rest[1], origin, slots), (rest[0], origin, slots)]
            elif code == SAVE:
                waiting.append((at + 1, origin, slots | 1 << rest[0] if rest[0] < SLOTS else slots))
            elif code == ASSERT:
                if rest[0] not in PLACES:
                    raise ValueError
                if beginning if rest[0] == PLACES[0] else end:
                    waiting.append((at + 1, origin, slots))
                elif rest[0] == PLACES[1]:
                    threads_out.append((at, origin, slots))
            else:
                threads_out.append((at, origin, slots))
                if code == MATCH and self.ordered:
                    break
        return threads_out

    def trace_letter(self, state: tuple, letter: int) -> list[tuple[int, int]]:
        """Return (place of the thread before, slots written) of each thread after a letter."""
        taking = [place for place, at in enumerate(state) if self._takes(at, letter)]
        after = self._trace_threads([state[place] + 1 for place in taking], False)
        return [(taking[origin], slots) for _, origin, slots in after]

    def trace_end(self, state: tuple) -> list[tuple[int, int]]:
        """Return the thread that matches at the end of the text, if one does: as `trace_letter`."""
        ended = self._trace_threads(list(state), False, end=True)
        return [(place, bits) for at, place, bits in ended if self.program[at][0] == MATCH][:1]

    def trace_start(self, beginning: bool) -> list[tuple[int, int]]:
        """Return each thread at the start of a match: as `trace_letter`."""
        return [(0, slots) for _, _, slots in self._trace_threads([0], beginning)]

    def _row(self, state: tuple) -> list[int]:
        row = []
        for letter in range(LETTERS):
            after = [at + 1 for at in state if self._takes(at, letter)]
            row.append(self.at(self._number(self._close(after, False))) if after else DEAD)
        matches = any([self.program[at][0] == MATCH for at in state])
        ended = self._close(list(state), False, end=True)
        at_end = any([self.program[at][0] == MATCH for at in ended])
        return [*row, int(matches), int(at_end), 0, 0]

    def _takes(self, at: int, letter: int) -> bool:
        if self.program[at][0] != CHARACTER:
            return False
        if at not in self._letters:
            taken = self.program[at][1]
            self._letters[at] = [taken.fit(chr(one)) for one in range(LETTERS)]
        return self._letters[at][letter]


class MatchKernel(NamedTuple):
    """Whether all of a string is a match, of many strings."""

    automaton: Callable[[], Automaton | None]

    def of(self, x: np.ndarray, dtype: np.dtype, slow: Callable[[Any], Any]) -> np.ndarray | None:
        """Return the answers for an array; None where Python is to give them."""
        name = "match_whole"
        found = self.automaton() if worthwhile(name, x.size) else None
        if found is None:
            return None
        given = (found.table.ctypes.data, found.at(found.first))
        return run(name, x, dtype, slow, *given, at_once=True)


class ReplacementKernel(NamedTuple):
    """Matches in strings written as one text, of many strings."""

    automaton: Callable[[], Automaton | None]
    text: bytes
    everywhere: bool

    def of(self, x: np.ndarray, dtype: np.dtype, slow: Callable[[Any], Any]) -> np.ndarray | None:
        """Return the strings of an array; None where Python is to make them."""
        name = "replace_matches"
        found = self.automaton() if worthwhile(name, x.size) else None
        if found is None or found.empty:  # empty matches are RE2's own affair
            return None
        starts = found.at(found.first) | found.at(found.later) << 24 | self.everywhere << 48
        given = (found.table.ctypes.data, id(self.text), starts)
        return run(name, x, dtype, slow, *given, at_once=True)
