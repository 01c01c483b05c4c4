r"""Regular expressions in time linear in the text, with RE2's syntax and meaning (Cox 2010).

What runs a pattern:

    re      a pattern of which no part can be tried again (characters, alternatives of a fixed
            width, one repetition at the end), on text of ASCII; the same in Python and RE2
    RE2     anything else, where the package google-re2 is installed
    Pike's  machine (`pike.py`) otherwise: Python, slow, and still linear
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from talweg.core.errors import invalid
from talweg.kernels.strings import pike

LARGEST_REPEAT = 1000  # RE2's
_GROUP = re.compile(rb"\\(.?)", re.DOTALL)
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7f",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_BLANKS = "\\t\\n\\f\\r "  # RE2's \\s, which leaves out the vertical tab
_SPELLED = {"\\z": "\\Z", "\\s": f"[{_BLANKS}]", "\\S": f"[^{_BLANKS}]"}
_SPELLED_IN_CLASS = {"\\s": _BLANKS}
_ABSENT = (
    codes.GROUPREF,
    codes.GROUPREF_EXISTS,
    codes.ASSERT,
    codes.ASSERT_NOT,
    getattr(codes, "POSSESSIVE_REPEAT", None),
    getattr(codes, "ATOMIC_GROUP", None),
)


class Rewrite:
    r"""What stands for a match: texts and groups, \0 to \9, with \\ for \.

    As in RE2 a group that the pattern lacks means that nothing is replaced, and an escape that
    there is not ends the text; where one match alone is replaced, that is left as it is.
    """

    def __init__(self, text: bytes):
        self.parts: list = []
        self.broken, place = False, 0
        for escape in _GROUP.finditer(text):
            self.parts.append(text[place : escape.start()])
            what, place = escape.group(1), escape.end()
            if what.isdigit():
                self.parts.append(int(what))
            elif what == b"\\":
                self.parts.append(what)
            else:
                self.broken = True
                break
        if not self.broken:
            self.parts.append(text[place:])
        self.largest = max([part for part in self.parts if type(part) is int], default=0)
        self.constant = None if self.largest else self._plain()

    def __eq__(self, other: Any) -> bool:
        return type(other) is Rewrite and (self.parts, self.broken) == (other.parts, other.broken)

    def __hash__(self) -> int:
        return hash((tuple(self.parts), self.broken))

    def _plain(self) -> bytes | None:
        """The text, if there is no group in it."""
        plain = all(type(part) is bytes for part in self.parts)
        return b"".join(self.parts) if plain else None

    def of(self, group: Callable[[int], bytes | None]) -> bytes:
        """The text for a match."""
        parts = [part if type(part) is bytes else group(part) or b"" for part in self.parts]
        return b"".join(parts)


class Pattern:
    """A compiled pattern: `search(text, start)` gives the spans of match and groups, or None."""

    def __init__(self, groups: int, search: Callable, full: Callable, quick: Any):
        self.groups, self.search, self.full, self.quick = groups, search, full, quick

    def matches(self, text: bytes) -> bool:
        """Whether all of the text is a match."""
        if self.quick is not None and text.isascii():
            return self.quick.fullmatch(text) is not None
        return self.full(text)

    def replaced(self, text: bytes, rewrite: Rewrite, everywhere: bool) -> bytes:
        """The text with each match, or the first, written as `rewrite` says."""
        if rewrite.largest > self.groups or rewrite.broken and not everywhere:
            return text
        if self.quick is not None and text.isascii():
            plain = rewrite.constant
            written = (lambda m: rewrite.of(m.group)) if plain is None else lambda _: plain
            return self.quick.sub(written, text, 0 if everywhere else 1)
        found, place, last = [], 0, -1
        while place <= len(text):
            spans = self.search(text, place)
            if spans is None:
                break
            start, end = spans[0]
            found.append(text[place:start])
            if start == end == last:  # no empty match at the end of the one before
                size = _rune(text, start)
                found.append(text[start : start + size])
                place = start + size
                continue
            found.append(rewrite.of(lambda group, spans=spans: _part(text, spans[group])))
            place = last = end
            if not everywhere:
                break
        found.append(text[place:])
        return b"".join(found)


def _part(text: bytes, span: tuple[int, int]) -> bytes:
    return text[span[0] : span[1]] if span[0] >= 0 else b""


def _rune(text: bytes, place: int) -> int:
    """The bytes of the character at a place; 1 for what is none."""
    first = text[place] if place < len(text) else 0
    size = 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    try:
        text[place : place + size].decode()
    except UnicodeDecodeError:
        return 1
    return size


@lru_cache(256)
def compiled(pattern: bytes) -> Pattern:
    """A pattern; InvalidArgumentError for what RE2 does not take."""
    tree = _parsed(pattern)
    quick = _quick(tree)
    engine = _by_re2(pattern) or _by_machine(pattern, tree)
    return Pattern(engine[0], engine[1], engine[2], quick)


def _by_re2(pattern: bytes) -> tuple | None:
    """RE2's engine; None where the package is not there."""
    try:
        import re2
    except ImportError:
        return None
    options = re2.Options()
    options.log_errors = False
    try:
        found = re2.compile(pattern, options)
    except re2.error as error:
        raise _refused(pattern, str(error)) from None

    def search(text: bytes, start: int) -> list | None:
        match = found.search(text, start)
        return match and [match.span(group) for group in range(found.groups + 1)]

    return found.groups, search, lambda text: found.fullmatch(text) is not None


def _by_machine(pattern: bytes, tree: Any) -> tuple:
    if tree is None:
        raise _refused(pattern, "no regular expression, or one that needs google-re2")
    machine = pike.Machine(tree)
    return tree.state.groups - 1, machine.search, machine.matches


def _refused(pattern: bytes, why: str) -> Exception:
    text = pattern.decode(errors="replace")
    return invalid("TW207", f"Invalid pattern: {text}, error: {why}", "RE2's syntax")


def _parsed(pattern: bytes) -> Any:
    """Python's tree of a pattern of RE2's; None for what they do not have in common."""
    try:
        text = _in_pythons_words(pattern.decode())
        if text is None:
            return None
        tree = parser.parse(text, re.ASCII)
    except (re.error, OverflowError, RecursionError, UnicodeDecodeError):
        return None
    return tree if _common(tree) else None


def _in_pythons_words(text: str) -> str | None:
    r"""The pattern with Python's spelling of RE2's \z, \Q..\E, $, [[:alpha:]]; None without one."""
    if "\\p" in text or "\\P" in text or "\\C" in text or "\\Z" in text or "(?U" in text:
        return None
    text = re.sub(r"\\Q(.*?)(?:\\E|\Z)", lambda m: re.escape(m[1]), text, flags=re.DOTALL)
    text = re.sub(r"\[:(\w+):\]", lambda m: _POSIX.get(m[1], m[0]), text)
    if "[:^" in text:
        return None
    found, place, in_class = [], 0, False
    while place < len(text):
        letter = text[place]
        if letter == "\\":
            pair = text[place : place + 2]
            if in_class and pair == "\\S":
                return None
            words = _SPELLED_IN_CLASS if in_class else _SPELLED
            found.append(words.get(pair, pair))
            place += 2
            continue
        in_class = letter == "[" or in_class and letter != "]"
        end = letter == "$" and not in_class and "(?m" not in text
        found.append("\\Z" if end else letter)
        place += 1
    return "".join(found)


def _common(tree: Any) -> bool:
    """Whether RE2 has all of a tree, with the same meaning."""
    for code, argument in tree:
        if code in _ABSENT:
            return False
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            low, high, _ = argument
            if low > LARGEST_REPEAT or high is not codes.MAXREPEAT and high > LARGEST_REPEAT:
                return False
        if not all(map(_common, parts_of(code, argument))):
            return False
    return True


def parts_of(code: Any, argument: Any) -> list:
    """The trees inside of a node."""
    if code is codes.BRANCH:
        return list(argument[1])
    if code is codes.SUBPATTERN:
        return [argument[3]]
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        return [argument[2]]
    return []


def _quick(tree: Any) -> Any:
    """Python's own pattern where nothing in it can be tried in many ways; else None."""
    if tree is None or tree.state.flags & (re.IGNORECASE | re.MULTILINE | re.DOTALL):
        return None
    *firsts, last = list(tree) or [None]
    if last is None or not all(_fixed(*node) for node in firsts):
        return None
    if not _fixed(*last):
        code, argument = last
        if code is not codes.MAX_REPEAT or not all(_fixed(*node) for node in argument[2]):
            return None
        if argument[0] == 0 or len(argument[2]) != 1:
            return None
    return re.compile(tree.state.str.encode())


def _fixed(code: Any, argument: Any) -> bool:
    """Whether a node stands for one character, or a choice of texts without repetition.

    None of them is empty: on empty matches Python and RE2 go on differently.
    """
    parts = parts_of(code, argument)
    if parts:
        plain = code is not codes.SUBPATTERN or not argument[1]
        repeats = code in (codes.MAX_REPEAT, codes.MIN_REPEAT)
        whole = all(len(part) and all(_fixed(*node) for node in part) for part in parts)
        return plain and whole and not repeats
    return code in (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY)
