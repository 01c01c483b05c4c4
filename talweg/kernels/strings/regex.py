r"""Regular expressions in time linear in the text, with RE2's syntax and meaning (Cox 2010).

What runs a pattern:

    re      a pattern of which no part can be tried again (characters, alternatives of a fixed
            width, one repetition at the end), on text of ASCII; the same in Python and RE2
    RE2     anything else, where the package google-re2 is installed
    Pike's  machine (`pike.py`) otherwise: Python, slow, and still linear

Where there are many strings machine code runs an automaton (`automaton.py`), if there is one; what
groups matched it finds by going back (`captures.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

from talweg.core.errors import invalid
from talweg.kernels.strings import pike, regex_syntax
from talweg.kernels.strings.automaton import Automaton, MatchKernel, ReplacementKernel
from talweg.kernels.strings.captures import Captures, GroupKernel
from talweg.kernels.strings.regex_syntax import Branch, Characters, GroupNode, Node, RepeatNode

_GROUP = re.compile(rb"\\(.?)", re.DOTALL)


class Rewrite:
    r"""The replacement of a match: texts and groups, \0 to \9, with \\ for \.

    As in RE2 a group that the pattern lacks means that nothing is replaced, and an escape that
    there is not ends the text; where one match alone is replaced, that is left as it is.
    """

    def __init__(self, text: bytes):
        self.parts: list = []
        self.broken, copied = False, 0
        for escape in _GROUP.finditer(text):
            self.parts.append(text[copied : escape.start()])
            what, copied = escape.group(1), escape.end()
            if what.isdigit():
                self.parts.append(int(what))
            elif what == b"\\":
                self.parts.append(what)
            else:
                self.broken = True
                break
        if not self.broken:
            self.parts.append(text[copied:])
        self.largest = max([part for part in self.parts if type(part) is int], default=0)
        self.constant = None if self.largest else self._plain()

    def __eq__(self, other: object) -> bool:
        return type(other) is Rewrite and (self.parts, self.broken) == (other.parts, other.broken)

    def __hash__(self) -> int:
        return hash((tuple(self.parts), self.broken))

    def _plain(self) -> bytes | None:
        """Return the text, if there is no group in it."""
        plain = all(type(part) is bytes for part in self.parts)
        return b"".join(self.parts) if plain else None

    def of(self, group: Callable[[int], bytes | None]) -> bytes:
        """Return the text for a match."""
        parts = [part if type(part) is bytes else group(part) or b"" for part in self.parts]
        return b"".join(parts)


class Pattern:
    """A compiled pattern: `search(text, start)` gives the spans of match and groups, or None."""

    def __init__(
        self, groups: int, search: Callable, full: Callable, quick: Any, parsed: Any = None
    ):
        self.groups, self.search, self.full, self.quick = groups, search, full, quick
        self._parsed = parsed

    @cached_property
    def ordered(self) -> Automaton | None:
        """The automaton for the first match of a text; None if the pattern has none."""
        return _automaton(self._parsed, True)

    @cached_property
    def unordered(self) -> Automaton | None:
        """The automaton for whole texts; None if the pattern has none."""
        return _automaton(self._parsed, False)

    def match_kernel(self) -> MatchKernel:
        """Return the kernel that tests many strings for matches."""
        return MatchKernel(lambda: self.unordered)

    @cached_property
    def captures(self) -> Captures | None:
        """The capture groups of matches; None where the pattern has no automaton."""
        try:
            return self.ordered and Captures(self.ordered)
        except ValueError:  # there would be many links
            return None

    def replacement_kernel(
        self, rewrite: Rewrite, everywhere: bool
    ) -> ReplacementKernel | GroupKernel | None:
        """Return the kernel that replaces in many strings; None where nothing would change."""
        if rewrite.broken or rewrite.largest > self.groups:
            return None
        if rewrite.constant is None:
            return GroupKernel(lambda: self.captures, rewrite, everywhere)
        return ReplacementKernel(lambda: self.ordered, rewrite.constant, everywhere)

    def matches(self, text: bytes) -> bool:
        """Return whether all of the text is a match."""
        if self.quick is not None and text.isascii():
            return self.quick.fullmatch(text) is not None
        return self.full(text)

    def replace(self, text: bytes, rewrite: Rewrite, everywhere: bool) -> bytes:
        """Return the text with each match, or the first, written as `rewrite` says."""
        if rewrite.largest > self.groups or rewrite.broken and not everywhere:
            return text
        if self.quick is not None and text.isascii():
            plain = rewrite.constant
            written = (lambda m: rewrite.of(m.group)) if plain is None else _escape_rewrite(plain)
            return self.quick.sub(written, text, 0 if everywhere else 1)
        pieces, at, last = [], 0, -1
        while at <= len(text):
            spans = self.search(text, at)
            if spans is None:
                break
            start, end = spans[0]
            pieces.append(text[at:start])
            if start == end == last:  # no empty match at the end of the one before
                size = _rune(text, start)
                pieces.append(text[start : start + size])
                at = start + size
                continue
            pieces.append(rewrite.of(lambda group, spans=spans: _part(text, spans[group])))
            at = last = end
            if not everywhere:
                break
        pieces.append(text[at:])
        return b"".join(pieces)


def _automaton(parsed: Any, ordered: bool) -> Automaton | None:
    if parsed is None:
        return None
    try:
        tree, groups = parsed
        return Automaton(tree, groups, ordered)
    except ValueError:  # it would be large, or asks what is around a place
        return None


def _escape_rewrite(text: bytes) -> bytes:
    """Return a text as what Python's `re` is to write, character by character."""
    return text.replace(b"\\", b"\\\\")


def _part(text: bytes, span: tuple[int, int]) -> bytes:
    return text[span[0] : span[1]] if span[0] >= 0 else b""


def _rune(text: bytes, place: int) -> int:
    """Count the bytes of the character at a place; 1 for invalid ones."""
    first = text[place] if place < len(text) else 0
    size = 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    try:
        text[place : place + size].decode()
    except UnicodeDecodeError:
        return 1
    return size


@lru_cache(256)
def compile_pattern(pattern: bytes) -> Pattern:
    """Return a pattern; InvalidArgumentError for what RE2 does not take."""
    parsed = _parse_pattern(pattern)
    quick = None if isinstance(parsed, str) else _quick(parsed[0])
    engine = _by_re2(pattern) or _by_machine(pattern, parsed)
    plain = parsed if pattern.isascii() and not isinstance(parsed, str) else None
    return Pattern(engine[0], engine[1], engine[2], quick, plain)


def _by_re2(pattern: bytes) -> tuple | None:
    """Return RE2's engine; None where the package is not there."""
    try:
        import re2
    except ImportError:
        return None
    options = re2.Options()
    options.log_errors = False
    try:
        matcher = re2.compile(pattern, options)
    except re2.error as error:
        raise _refusal(pattern, str(error)) from None

    def search(text: bytes, start: int) -> list | None:
        match = matcher.search(text, start)
        return match and [match.span(group) for group in range(matcher.groups + 1)]

    return matcher.groups, search, lambda text: matcher.fullmatch(text) is not None


def _by_machine(pattern: bytes, parsed: tuple[Branch, int] | str) -> tuple:
    if isinstance(parsed, str):
        raise _refusal(pattern, parsed)
    tree, groups = parsed
    machine = pike.PikeMachine(tree, groups)
    return groups, machine.search, machine.matches


def _refusal(pattern: bytes, why: str) -> Exception:
    text = pattern.decode(errors="replace")
    return invalid("TW207", f"Invalid pattern: {text}, error: {why}", "RE2's syntax")


def _parse_pattern(pattern: bytes) -> tuple[Branch, int] | str:
    """Return the tree of a pattern and the number of its groups; or why there is none."""
    try:
        return regex_syntax.parse(pattern.decode())
    except UnicodeDecodeError:
        return "invalid UTF-8"
    except regex_syntax.MalformedError as error:
        return str(error)
    except (regex_syntax.UnsupportedError, RecursionError) as error:
        return f"{error} needs the package google-re2: pip install 'talweg[regex]'"


def _quick(tree: Branch) -> Any:
    """Return Python's own pattern where nothing in it can be tried in many ways; else None."""
    nodes = tree.ways[0].nodes if len(tree.ways) == 1 else []
    if not nodes or not all(map(_is_fixed, nodes[:-1])):
        return None
    last = nodes[-1]
    if not _is_fixed(last):
        repeats = isinstance(last, RepeatNode) and last.greedy and last.low > 0
        if not repeats or not _is_fixed(last.inner):
            return None
    return re.compile("".join(map(_in_pythons_words, nodes)).encode())


def _is_fixed(node: Node) -> bool:
    """Return whether a node stands for one character, or a choice of texts without repetition.

    None of them is empty: on empty matches Python and RE2 go on differently.
    """
    if isinstance(node, GroupNode):
        return all(way.nodes and all(map(_is_fixed, way.nodes)) for way in node.inner.ways)
    return isinstance(node, Characters) and not node.fold


def _in_pythons_words(node: Node) -> str:
    """Return a node of which all is fixed, and repetitions of such,
    for Python and texts of ASCII.
    """
    if isinstance(node, Characters):
        parts = [(low, min(high, 127)) for low, high in node.ranges if low < 128]
        if len(parts) == 1 and parts[0][0] == parts[0][1] and not node.negated:
            return f"\\x{parts[0][0]:02x}"  # faster than a class
        inside = "".join([f"\\x{low:02x}-\\x{high:02x}" for low, high in parts])
        if not inside:
            return "[\\x00-\\x7f]" if node.negated else "[^\\x00-\\xff]"
        return f"[{'^' * node.negated}{inside}]"
    if isinstance(node, RepeatNode):
        high = "" if node.high is None else node.high
        return f"{_in_pythons_words(node.inner)}{{{node.low},{high}}}"
    assert isinstance(node, GroupNode)
    ways = ["".join(map(_in_pythons_words, way.nodes)) for way in node.inner.ways]
    return f"({'?:' if node.number is None else ''}{'|'.join(ways)})"
