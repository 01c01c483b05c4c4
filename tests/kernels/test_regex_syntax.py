"""Random patterns: what RE2 takes is taken, with the same groups, and matches the same texts."""

from __future__ import annotations

import random

import pytest
import re2

from talweg.kernels.strings import pike, regex, regex_syntax

PARTS = [*"abc1_ \n-]^$.|()[]{}*+?", "a", "b", r"\d", r"\S", r"\w", r"\b", r"\B", r"\A", r"\z"]
PARTS += [r"\Q.*\E", r"\E", r"\_", r"\-", r"\n", r"\x41", r"\x{61}", r"\x4", r"\012", r"\1", r"\8"]
PARTS += ["[ab]", "[^a]", "[]a]", "[a-c]", "[a-]", "[-a]", "[a-b-c]", "[[:alpha:]]", "[[:^digit:]]"]
PARTS += ["[[:foo:]]", r"[\d-]", r"[a-\d]", r"[\s\S]", r"[\b]", "(?i)", "(?m)", "(?s)", "(?U)"]
PARTS += ["(?i:", "(?-i)", "(?is-m:", "(?P<x>", "(?<y>", "(?:", "{2}", "{1,2}", "{0,}", "{3,1}"]
PARTS += ["{1001}", "*?", "+?", "??", "**", "é", "K", "(a|b)", "()", "[é-ü]", "(?=a)", r"\Z", r"\e"]
TEXTS = [b"", b"aab", b"abcabc", b"a1 b\nB", b"K k \xc3\xa9b", b"a.*]-^", b"\n", b"xAa\na_"]


def spans(match, groups):
    return match and [match.span(group) for group in range(groups + 1)]


@pytest.mark.parametrize("seed", range(4))
def test_as_re2(seed):
    chosen = random.Random(seed)
    quiet = re2.Options()
    quiet.log_errors = False
    for _ in range(600):
        pattern = "".join(chosen.choices(PARTS, k=chosen.randint(1, 6)))
        try:
            theirs = re2.compile(pattern.encode(), quiet)
        except re2.error:
            theirs = None
        try:
            tree, groups = regex_syntax.parse(pattern)
        except regex_syntax.MalformedError as error:
            assert theirs is None, f"{pattern!r}: {error}"
            continue
        assert theirs is not None and groups == theirs.groups, repr(pattern)
        machine, quick = pike.PikeMachine(tree, groups), regex._quick(tree)
        for text in TEXTS:
            wanted = spans(theirs.search(text), groups)
            assert machine.search(text, 0) == wanted, f"{pattern!r} in {text!r}"
            assert machine.matches(text) == (theirs.fullmatch(text) is not None)
            if quick is not None and text.isascii():
                assert spans(quick.search(text), groups) == wanted, f"{pattern!r} in {text!r}"


@pytest.mark.parametrize("pattern", [r"\pL", r"\C"])
def test_what_needs_re2(pattern):
    with pytest.raises(regex_syntax.UnsupportedError):
        regex_syntax.parse(pattern)
