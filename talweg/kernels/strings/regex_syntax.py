r"""RE2's syntax of regular expressions, as a tree.

A pattern is a `Sequence` of nodes: characters, assertions, groups, alternatives, repetitions.  What
flags such as (?i) change stands in the nodes themselves.  Not taken: \p{Greek} and \C, which need
RE2 itself (`UnsupportedError`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LARGEST_REPEAT = 1000  # RE2's, of nested repetitions together
LAST = 0x10FFFF
_RANGES = {
    "d": ((48, 57),),
    "s": ((9, 10), (12, 13), (32, 32)),  # leaves out the vertical tab
    "w": ((48, 57), (65, 90), (95, 95), (97, 122)),
}
_POSIX = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "ascii": "\x00\x7f",
    "blank": "\t\t  ",
    "cntrl": "\x00\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "word": "09AZ__az",
    "xdigit": "09AFaf",
}
_LETTERS = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_FLAGS = re.compile(r"\(\?([imsU]*)(-[imsU]+)?([:)])")
_NAMED = re.compile(r"\(\?P?<(\w+)>", re.ASCII)
_COUNTED = re.compile(r"\{(\d+)(,(\d*))?\}", re.ASCII)
_HEX = re.compile(r"\\x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")
_OCTAL = re.compile(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})")

Ranges = tuple[tuple[int, int], ...]


class UnsupportedError(Exception):
    """RE2 has it, and this does not."""


class MalformedError(Exception):
    """No regular expression of RE2's."""


@dataclass
class Characters:
    """One character: of the ranges, or, if `negated`, of none; with `fold` in either case."""

    ranges: Ranges
    negated: bool = False
    fold: bool = False

    def fit(self, letter: str) -> bool:
        """Return whether a character is one of them."""
        forms = {letter}
        if self.fold:
            forms |= {form for form in (letter.lower(), letter.upper()) if len(form) == 1}
        known = any(low <= ord(form) <= high for form in forms for low, high in self.ranges)
        return known != self.negated


@dataclass
class Assertion:
    """A place: begin or end of text or line, a boundary of words or none."""

    place: str


@dataclass
class Sequence:
    """Nodes, one after the other."""

    nodes: list = field(default_factory=list)


@dataclass
class GroupNode:
    """A part in parentheses; `number` is None where it is not kept."""

    number: int | None
    inner: Branch


@dataclass
class Branch:
    """Alternatives, tried in this order."""

    ways: list[Sequence]


@dataclass
class RepeatNode:
    """`inner` from `low` to `high` times (None: any number), as many as it can be if `greedy`."""

    low: int
    high: int | None
    greedy: bool
    inner: Characters | Assertion | GroupNode | RepeatNode


Node = Characters | Assertion | GroupNode | RepeatNode


def parse(text: str) -> tuple[Branch, int]:
    """Return the tree of a pattern, and how many groups are kept.
    MalformedError, UnsupportedError.
    """
    reader = _Reader(text)
    tree = reader.branch("", closing=False)
    if reader.at < len(text):
        raise MalformedError("unexpected ): " + text)
    if largest_repeat(tree) > LARGEST_REPEAT:
        raise MalformedError("invalid repetition size: " + text)
    return tree, reader.groups


def largest_repeat(node: Branch | Sequence | Node) -> int:
    """Return the most copies of a part that nested counted repetitions make."""
    if isinstance(node, Branch):
        return max(largest_repeat(way) for way in node.ways)
    if isinstance(node, Sequence):
        return max([largest_repeat(each) for each in node.nodes], default=1)
    if isinstance(node, GroupNode):
        return largest_repeat(node.inner)
    if isinstance(node, RepeatNode):
        return largest_repeat(node.inner) * max(node.low, node.high or 0, 1)
    return 1


def may_be_empty(node: Node) -> bool:
    """Return whether a node matches without a character."""
    if isinstance(node, GroupNode):
        return any(all(map(may_be_empty, way.nodes)) for way in node.inner.ways)
    if isinstance(node, RepeatNode):
        return node.low == 0 or may_be_empty(node.inner)
    return isinstance(node, Assertion)


class _Reader:
    def __init__(self, text: str):
        self.text, self.at, self.groups = text, 0, 0

    def branch(self, flags: str, closing: bool) -> Branch:
        """Return alternatives, up to the parenthesis that closes them."""
        ways, way, repeated = [], Sequence(), False
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == ")":
                if not closing:
                    break
                self.at += 1
                return Branch([*ways, way])
            if letter == "|":
                self.at += 1
                ways, way, repeated = [*ways, way], Sequence(), False
                continue
            times = self._times(letter)
            if times is not None:
                self._repeat(way, times, repeated, flags)
                repeated = True
                continue
            repeated = False
            written = _FLAGS.match(self.text, self.at)
            if written is None:
                way.nodes += self._atom(letter, flags)
                continue
            self.at = written.end()
            changed = _change_flags(flags, written[1], written[2])
            if written[3] == ":":
                way.nodes.append(GroupNode(None, self.branch(changed, True)))
            else:
                flags = changed
                repeated = not way.nodes  # nothing to repeat
        if closing:
            raise MalformedError(f"missing ): {self.text}")
        return Branch([*ways, way])

    def _times(self, letter: str) -> tuple[int, int | None, int] | None:
        """Parse a count of repetitions, and return the end of its text."""
        if letter in "*+?":
            return int(letter == "+"), 1 if letter == "?" else None, self.at + 1
        counted = _COUNTED.match(self.text, self.at) if letter == "{" else None
        if counted is None:
            return None
        low = int(counted[1])
        high = low if counted[2] is None else int(counted[3]) if counted[3] else None
        if max(low, high or 0) > LARGEST_REPEAT or high is not None and high < low:
            raise MalformedError(f"invalid repetition size: {counted[0]}")
        return low, high, counted.end()

    def _repeat(self, way: Sequence, times: tuple, repeated: bool, flags: str) -> None:
        low, high, end = times
        if repeated:
            raise MalformedError(f"bad repetition operator: {self.text[self.at : end]}")
        if not way.nodes:
            raise MalformedError(f"no argument for repetition operator: {self.text[self.at : end]}")
        lazy = self.text[end : end + 1] == "?"
        self.at = end + lazy
        greedy = lazy == ("U" in flags)
        way.nodes[-1] = RepeatNode(low, high, greedy, way.nodes[-1])

    def _atom(self, letter: str, flags: str) -> list[Node]:
        """Return the nodes at a place: of a quotation one a character, else one."""
        if letter == "(":
            return [self._group(flags)]
        if letter == "[":
            return [self._class(flags)]
        if letter == "\\":
            return self._parse_escape(flags)
        self.at += 1
        if letter == ".":
            return [Characters(() if "s" in flags else ((10, 10),), True)]
        if letter == "^":
            return [Assertion("begin line" if "m" in flags else "begin text")]
        if letter == "$":
            return [Assertion("end line" if "m" in flags else "end text")]
        return [_one(letter, flags)]

    def _group(self, flags: str) -> GroupNode:
        named = _NAMED.match(self.text, self.at)
        if self.text.startswith("(?", self.at) and named is None:
            raise MalformedError(f"invalid perl operator: {self.text[self.at : self.at + 3]}")
        self.at = self.at + 1 if named is None else named.end()
        self.groups += 1
        number = self.groups
        return GroupNode(number, self.branch(flags, True))

    def _parse_escape(self, flags: str) -> list[Node]:
        kind = self.text[self.at + 1 : self.at + 2]
        if kind == "Q":
            end = self.text.find("\\E", self.at)
            quoted = self.text[self.at + 2 : end if end >= 0 else len(self.text)]
            self.at = end + 2 if end >= 0 else len(self.text)
            return [_one(letter, flags) for letter in quoted]
        places = {"A": "begin text", "z": "end text", "b": "boundary", "B": "no boundary"}
        if kind in places:
            self.at += 2
            return [Assertion(places[kind])]
        ranges = self._several(kind)
        if ranges is None:
            return [_one(self._character(), flags)]
        self.at += 2
        return [Characters(*ranges)]

    def _several(self, kind: str) -> tuple[Ranges, bool] | None:
        """Return the characters of \\d, \\S and so on, and whether they are excluded."""
        if kind and kind in "pPC":
            raise UnsupportedError(f"\\{kind}")
        if not kind or kind not in "dswDSW":
            return None
        return _RANGES[kind.lower()], kind.isupper()

    def _character(self) -> str:
        """Return the character that an escape stands for."""
        text = self.text
        for pattern, base in ((_HEX, 16), (_OCTAL, 8)):
            match = pattern.match(text, self.at)
            if match is not None:
                code = int(match[1] or match[match.lastindex or 1], base)
                if code > LAST:
                    break
                self.at = match.end()
                return chr(code)
        kind = text[self.at + 1 : self.at + 2]
        if kind in _LETTERS:
            self.at += 2
            return chr(_LETTERS[kind])
        if kind and kind.isascii() and not kind.isalnum():
            self.at += 2
            return kind
        raise MalformedError(f"invalid escape sequence: \\{kind}" if kind else "trailing \\")

    def _class(self, flags: str) -> Characters:
        start = self.at
        self.at += 1
        negated = self.text.startswith("^", self.at)
        self.at += negated
        ranges: list[tuple[int, int]] = []
        first = True
        while first or not self.text.startswith("]", self.at):
            if self.at >= len(self.text):
                raise MalformedError(f"missing ]: {self.text[start:]}")
            ranges += self._of_class()
            first = False
        self.at += 1
        return Characters(tuple(ranges), negated, "i" in flags)

    def _of_class(self) -> list[tuple[int, int]]:
        """Return the ranges of one member of a class."""
        text = self.text
        named = re.compile(r"\[:(\^?)(\w*):\]").match(text, self.at)
        if named is not None:
            if named[2] not in _POSIX:
                raise MalformedError(f"invalid character class range: {named[0]}")
            self.at = named.end()
            ends = [ord(letter) for letter in _POSIX[named[2]]]
            ranges = tuple(zip(ends[::2], ends[1::2]))
            return list(complement(ranges) if named[1] else ranges)
        several = self._several(text[self.at + 1 : self.at + 2]) if text[self.at] == "\\" else None
        if several is not None:
            self.at += 2
            return list(complement(several[0]) if several[1] else several[0])
        low = high = self._of_range()
        if text.startswith("-", self.at) and not text.startswith("-]", self.at):
            self.at += 1
            if self.at >= len(text):
                raise MalformedError(f"missing ]: {text}")
            high = self._of_range()
            if high < low:
                raise MalformedError(f"invalid character class range: {low}-{high}")
        return [(ord(low), ord(high))]

    def _of_range(self) -> str:
        if self.text[self.at] == "\\":
            return self._character()
        self.at += 1
        return self.text[self.at - 1]


def complement(ranges: Ranges) -> Ranges:
    """Return all other characters."""
    found, start = [], 0
    for low, high in sorted(ranges):
        if low > start:
            found.append((start, low - 1))
        start = max(start, high + 1)
    return (*found, (start, LAST)) if start <= LAST else tuple(found)


def _one(letter: str, flags: str) -> Characters:
    return Characters(((ord(letter), ord(letter)),), fold="i" in flags)


def _change_flags(flags: str, more: str, less: str | None) -> str:
    return "".join((set(flags) | set(more)) - set(less or ""))
