"""Pike's machine: regular expressions with groups in time linear in the text (Cox 2009).

A pattern becomes a program; all threads of it go through the text together, in the order in which
a backtracking matcher would have tried them, so what matches first is what that would have found.
"""

from __future__ import annotations

import re
from re import _constants as codes  # type: ignore[attr-defined]
from typing import Any

CHARACTER, SPLIT, JUMP, SAVE, ASSERT, MATCH = range(6)
_SPACES = frozenset("\t\n\r\f ")  # RE2's \s, which leaves out the vertical tab
_WORD = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
_DIGITS = frozenset("0123456789")
_CATEGORIES = {
    codes.CATEGORY_DIGIT: (_DIGITS, True),
    codes.CATEGORY_NOT_DIGIT: (_DIGITS, False),
    codes.CATEGORY_SPACE: (_SPACES, True),
    codes.CATEGORY_NOT_SPACE: (_SPACES, False),
    codes.CATEGORY_WORD: (_WORD, True),
    codes.CATEGORY_NOT_WORD: (_WORD, False),
}


class Machine:
    """The program of a tree of Python's parser."""

    def __init__(self, tree: Any):
        self.flags = tree.state.flags
        self.program: list[tuple] = [(SAVE, 0)]
        self._compile(tree, self.flags)
        self.program += [(SAVE, 1), (MATCH,)]
        self.slots = 2 * tree.state.groups

    def _add(self, *instruction: Any) -> int:
        self.program.append(instruction)
        return len(self.program) - 1

    def _compile(self, tree: Any, flags: int) -> None:
        for code, argument in tree:
            if code in (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN):
                self._add(CHARACTER, code, argument, flags)
            elif code is codes.AT:
                self._add(ASSERT, argument, flags)
            elif code is codes.SUBPATTERN:
                group, more, less, inner = argument
                if group is not None:
                    self._add(SAVE, 2 * group)
                self._compile(inner, (flags | more) & ~less)
                if group is not None:
                    self._add(SAVE, 2 * group + 1)
            elif code is codes.BRANCH:
                self._branch(argument[1], flags)
            else:
                low, high, inner = argument
                self._repeat(low, high, inner, code is codes.MAX_REPEAT, flags)

    def _branch(self, branches: list, flags: int) -> None:
        ends = []
        for branch in branches[:-1]:
            split = self._add(SPLIT, 0, 0)
            self._compile(branch, flags)
            ends.append(self._add(JUMP, 0))
            self.program[split] = (SPLIT, split + 1, len(self.program))
        self._compile(branches[-1], flags)
        for end in ends:
            self.program[end] = (JUMP, len(self.program))

    def _repeat(self, low: int, high: Any, tree: Any, greedy: bool, flags: int) -> None:
        for _ in range(low):
            self._compile(tree, flags)
        if high is codes.MAXREPEAT:
            split = self._add(SPLIT, 0, 0)
            self._compile(tree, flags)
            self._add(JUMP, split)
            self._close(split, greedy)
            return
        splits = []
        for _ in range(high - low):
            splits.append(self._add(SPLIT, 0, 0))
            self._compile(tree, flags)
        for split in splits:
            self._close(split, greedy)

    def _close(self, split: int, greedy: bool) -> None:
        inside, after = split + 1, len(self.program)
        self.program[split] = (SPLIT, inside, after) if greedy else (SPLIT, after, inside)

    def search(self, text: bytes, start: int) -> list | None:
        """The spans of the first match from a place on and of its groups, in bytes."""
        found = self._run(text, start, False)
        return [(found[k], found[k + 1]) for k in range(0, self.slots, 2)] if found else None

    def matches(self, text: bytes) -> bool:
        """Whether all of the text is a match."""
        return self._run(text, 0, True) is not None

    def _run(self, data: bytes, start: int, full: bool) -> tuple | None:
        before = data[:start].decode(errors="surrogateescape")
        text = before + data[start:].decode(errors="surrogateescape")
        places = [0]
        for letter in text:
            places.append(places[-1] + len(letter.encode(errors="surrogateescape")))
        threads: list = []
        seen: set = set()
        found = None
        for k in range(len(before), len(text) + 1):
            if found is None and (not full or k == len(before)):
                self._follow(threads, seen, 0, (-1,) * self.slots, text, k, places)
            following: list = []
            seen = set()
            for at, saved in threads:
                instruction = self.program[at]
                if instruction[0] == MATCH:
                    if full and k < len(text):
                        continue
                    found = saved
                    break
                if k < len(text) and _fits(text[k], *instruction[1:]):
                    self._follow(following, seen, at + 1, saved, text, k + 1, places)
            threads = following
            if not threads and (found is not None or full):
                break
        return found

    def _follow(
        self, threads: list, seen: set, at: int, saved: tuple, text: str, k: int, places: list
    ) -> None:
        """Add the thread at an instruction, with all that it reaches without a character."""
        waiting = [(at, saved)]
        while waiting:
            at, saved = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            code, *rest = self.program[at]
            if code == JUMP:
                waiting.append((rest[0], saved))
            elif code == SPLIT:
                waiting += [(rest[1], saved), (rest[0], saved)]
            elif code == SAVE:
                slot = rest[0]
                waiting.append((at + 1, (*saved[:slot], places[k], *saved[slot + 1 :])))
            elif code == ASSERT:
                if _holds(rest[0], rest[1], text, k):
                    waiting.append((at + 1, saved))
            else:
                threads.append((at, saved))


def _holds(place: Any, flags: int, text: str, k: int) -> bool:
    """Whether a place in the text is a beginning, an end or a boundary of words."""
    if place in (codes.AT_BEGINNING, codes.AT_BEGINNING_STRING):
        lines = flags & re.MULTILINE and place is codes.AT_BEGINNING
        return k == 0 or bool(lines) and text[k - 1] == "\n"
    if place in (codes.AT_END, codes.AT_END_STRING):
        lines = flags & re.MULTILINE and place is codes.AT_END
        return k == len(text) or bool(lines) and text[k] == "\n"
    border = (k > 0 and text[k - 1] in _WORD) != (k < len(text) and text[k] in _WORD)
    return border == (place is codes.AT_BOUNDARY)


def _fits(letter: str, code: Any, argument: Any, flags: int) -> bool:
    """Whether a character is one that an instruction takes; what is not readable fits none."""
    if 0xDC80 <= ord(letter) < 0xDD00:
        return False
    if code is codes.ANY:
        return bool(flags & re.DOTALL) or letter != "\n"
    forms = {letter}
    if flags & re.IGNORECASE:
        forms |= {form for form in (letter.lower(), letter.upper()) if len(form) == 1}
    if code is codes.LITERAL:
        return any(ord(form) == argument for form in forms)
    if code is codes.NOT_LITERAL:
        return all(ord(form) != argument for form in forms)
    negated = argument[0][0] is codes.NEGATE
    return any(_one_of(form, argument[negated:]) for form in forms) != negated


def _one_of(letter: str, items: Any) -> bool:
    for code, argument in items:
        if code is codes.LITERAL and ord(letter) == argument:
            return True
        if code is codes.RANGE and argument[0] <= ord(letter) <= argument[1]:
            return True
        if code is codes.CATEGORY:
            letters, inside = _CATEGORIES[argument]
            if (letter in letters) == inside:
                return True
    return False
