"""Pike's machine: regular expressions with groups in time linear in the text (Cox 2009).

A pattern becomes a program; all threads of it go through the text together, in the order in which
a backtracking matcher would have tried them, so what matches first is what that would have found.
"""

from __future__ import annotations

from talweg.kernels.strings.regex_syntax import (
    Assertion,
    Branch,
    Characters,
    GroupNode,
    Node,
    RepeatNode,
    Sequence,
    may_be_empty,
)

CHARACTER, SPLIT, JUMP, SAVE, ASSERT, MATCH = range(6)
_WORD = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")


class PikeMachine:
    """The program of a pattern's tree."""

    def __init__(self, tree: Branch, groups: int):
        self.program: list[tuple] = [(SAVE, 0)]
        self._branch(tree.ways)
        self.program += [(SAVE, 1), (MATCH,)]
        self.slots = 2 * (groups + 1)

    def _add(self, *instruction: object) -> int:
        self.program.append(instruction)
        return len(self.program) - 1

    def _compile(self, node: Node) -> None:
        if isinstance(node, Characters):
            self._add(CHARACTER, node)
        elif isinstance(node, Assertion):
            self._add(ASSERT, node.place)
        elif isinstance(node, RepeatNode):
            self._repeat(node)
        else:
            self._group(node)

    def _group(self, node: GroupNode) -> None:
        if node.number is not None:
            self._add(SAVE, 2 * node.number)
        self._branch(node.inner.ways)
        if node.number is not None:
            self._add(SAVE, 2 * node.number + 1)

    def _sequence(self, way: Sequence) -> None:
        for node in way.nodes:
            self._compile(node)

    def _branch(self, ways: list[Sequence]) -> None:
        ends = []
        for way in ways[:-1]:
            split = self._add(SPLIT, 0, 0)
            self._sequence(way)
            ends.append(self._add(JUMP, 0))
            self.program[split] = (SPLIT, split + 1, len(self.program))
        self._sequence(ways[-1])
        for end in ends:
            self.program[end] = (JUMP, len(self.program))

    def _repeat(self, node: RepeatNode) -> None:
        if node.high is None and (node.low or may_be_empty(node.inner)):
            self._once_or_more(node)
            return
        for _ in range(node.low):
            self._compile(node.inner)
        splits = []
        for _ in range(1 if node.high is None else node.high - node.low):
            splits.append(self._add(SPLIT, 0, 0))
            self._compile(node.inner)
        if node.high is None:
            self._add(JUMP, splits[0])
        for split in splits:
            self._close(split, node.greedy)

    def _once_or_more(self, node: RepeatNode) -> None:
        """Compile x+, or (x+)? for x* if x may match nothing: x sets its groups at least once."""
        skip = self._add(SPLIT, 0, 0) if node.low == 0 else None
        for _ in range(node.low - 1):
            self._compile(node.inner)
        start = len(self.program)
        self._compile(node.inner)
        after = len(self.program) + 1
        self._add(SPLIT, *((start, after) if node.greedy else (after, start)))
        if skip is not None:
            self._close(skip, node.greedy)

    def _close(self, split: int, greedy: bool) -> None:
        inside, after = split + 1, len(self.program)
        self.program[split] = (SPLIT, inside, after) if greedy else (SPLIT, after, inside)

    def search(self, text: bytes, start: int) -> list | None:
        """Return the spans of the first match from a place on and of its groups, in bytes."""
        found = self._run(text, start, False)
        return [(found[k], found[k + 1]) for k in range(0, self.slots, 2)] if found else None

    def matches(self, text: bytes) -> bool:
        """Return whether all of the text is a match."""
        return self._run(text, 0, True) is not None

    def _run(self, data: bytes, start: int, full: bool) -> tuple | None:
        before = data[:start].decode(errors="surrogateescape")
        text = before + data[start:].decode(errors="surrogateescape")
        places = [0]
        for letter in text:
            places.append(places[-1] + len(letter.encode(errors="surrogateescape")))
        threads: list = []
        seen: set = set()
        match = None
        for k in range(len(before), len(text) + 1):
            if match is None and (not full or k == len(before)):
                self._follow(threads, seen, 0, (-1,) * self.slots, text, k, places)
            following: list = []
            seen = set()
            for at, saved in threads:
                instruction = self.program[at]
                if instruction[0] == MATCH:
                    if full and k < len(text):
                        continue
                    match = saved
                    break
                if k < len(text) and _fits(text[k], instruction[1]):
                    self._follow(following, seen, at + 1, saved, text, k + 1, places)
            threads = following
            if not threads and (match is not None or full):
                break
        return match

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
                if _holds(rest[0], text, k):
                    waiting.append((at + 1, saved))
            else:
                threads.append((at, saved))


def _holds(place: str, text: str, k: int) -> bool:
    """Return whether a place in the text is a beginning, an end or a boundary of words."""
    if place.startswith("begin"):
        return k == 0 or place == "begin line" and text[k - 1] == "\n"
    if place.startswith("end"):
        return k == len(text) or place == "end line" and text[k] == "\n"
    border = (k > 0 and text[k - 1] in _WORD) != (k < len(text) and text[k] in _WORD)
    return border == (place == "boundary")


def _fits(letter: str, characters: Characters) -> bool:
    """Return whether an instruction takes a character; unreadable ones fit none."""
    return not 0xDC80 <= ord(letter) < 0xDD00 and characters.fit(letter)
