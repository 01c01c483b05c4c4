"""Automata of regular expressions in machine code, beside what runs patterns one text at a time."""

import random

import numpy as np
import pytest

from talweg.kernels.strings import native, regex

PIECES = [
    "a",
    "b",
    "ab",
    ".",
    "[ab]",
    "[^a]",
    "(a|b)",
    "(a|ab)",
    "(ba|b|c)",
    "c",
    r"\s",
    "(?:bc)",
    "-",
]
ENDS = ["", "", "", "+", "*", "?", "+?", "*?", "{1,2}", "{2}"]


def _pattern(random):
    parts = [random.choice(PIECES) + random.choice(ENDS) for _ in range(random.randint(1, 4))]
    found = "".join(parts)
    if random.random() < 0.3:
        found += "|" + random.choice(PIECES) + random.choice(ENDS)
    elif random.random() < 0.2:
        found = "^" + found
    elif random.random() < 0.3:
        found += "$"
    return found.encode()


def _texts(random, count=64):
    found = [
        "".join(
            random.choices(
                "abc-\n é" if random.random() < 0.1 else "abc- ", k=random.randint(0, 12)
            )
        )
        for _ in range(count)
    ]
    array = np.empty(count, object)
    array[:] = [text.encode() for text in found]
    return array


@pytest.fixture
def _at_once(monkeypatch):
    for module in ("automaton", "captures"):
        monkeypatch.setattr(f"talweg.kernels.strings.{module}.worthwhile", lambda *_: True)


@pytest.mark.parametrize("seed", range(60))
def test_same_as_one_by_one(seed, _at_once):
    chance = random.Random(seed)
    pattern, texts = regex.compile_pattern(_pattern(chance)), _texts(chance)
    found = pattern.match_kernel().of(texts, np.bool_, pattern.matches)
    if found is not None:
        assert found.tolist() == [pattern.matches(text) for text in texts]
    for everywhere in (True, False):
        rewrite = regex.Rewrite(chance.choice([b"", b"<>", b"x\\\\y"]))

        def slow(text, rewrite=rewrite, everywhere=everywhere):
            return pattern.replace(text, rewrite, everywhere)

        kernel = pattern.replacement_kernel(rewrite, everywhere)
        found = kernel.of(texts, object, slow)
        if found is not None:
            assert found.tolist() == [slow(text) for text in texts]


@pytest.mark.parametrize("seed", range(120))
def test_groups_as_one_by_one(seed, _at_once):
    """Groups in repetitions, alternatives, at the end of the text, without a part in the match."""
    chance = random.Random(seed)
    tail = chance.choice(["(a)?", "(b|(a))*", "((a)|b)+", "(a*)(b)?", "(-|$)", "(.)(.*)", ""])
    pattern = regex.compile_pattern(_pattern(chance) + tail.encode())
    texts = _texts(chance)
    for everywhere in (True, False):
        rewrite = regex.Rewrite(chance.choice([rb"\1", rb"<\0>", rb"\2-\1x", rb"[\1]\\"]))

        def slow(text, rewrite=rewrite, everywhere=everywhere):
            return pattern.replace(text, rewrite, everywhere)

        kernel = pattern.replacement_kernel(rewrite, everywhere)
        found = kernel and kernel.of(texts, object, slow)
        if found is not None:
            assert found.tolist() == [slow(text) for text in texts]


def test_long_texts_with_groups_are_left_to_python(_at_once):
    pattern = regex.compile_pattern(b"(a)(b)?")
    texts = np.array([b"ab" * 9, b"ab" * 4000, b"a" * 3000], object)
    rewrite = regex.Rewrite(rb"\1\1\1\1\1\1\1")
    kernel = pattern.replacement_kernel(rewrite, True)
    found = kernel.of(texts, object, lambda text: pattern.replace(text, rewrite, True))
    assert found.tolist() == [b"a" * 63, b"a" * 28000, b"a" * 21000]


def test_most_patterns_have_one():
    chance = random.Random(0)
    patterns = [regex.compile_pattern(_pattern(chance)) for _ in range(50)]
    assert sum(pattern.unordered is not None for pattern in patterns) >= 45


def test_what_would_be_read_again_and_again_is_left(_at_once):
    """`(a*)*b` on many a: the code leaves the text after a bounded number of steps."""
    pattern = regex.compile_pattern(b"a+b")
    texts = np.array([b"a" * 20000] * 2, object)
    asked = []
    kernel = pattern.replacement_kernel(regex.Rewrite(b"x"), True)
    found = kernel.of(texts, object, lambda text: asked.append(text) or text)
    assert found is None or len(asked) == 2


def test_what_has_none():
    for text in (rb"\bword", b"(?m)^a", "é+".encode(), b"(a|b)*a(a|b){12}"):
        pattern = regex.compile_pattern(text)
        assert pattern.ordered is None


def test_used_from_many_strings_on():
    assert native.worthwhile("nothing_of_this_name", 10) is False
