"""tf.strings in functions and graphs, regular expressions by each engine, numbers and hashes."""

import random
import sys
import time

import numpy as np
import pytest

import talweg as tf
from talweg.kernels.strings import numbers, pike, regex, regex_syntax, unicode

TEXTS = np.array([b"a bbb c", b"Abc \xc3\xa9", b"x"], object)
FUNCTIONS = {
    "split": lambda x: tf.strings.split(x).to_tensor(),
    "bytes_split": lambda x: tf.strings.bytes_split(x).to_tensor(),
    "decode": lambda x: tf.strings.unicode_decode(x, "UTF-8").to_tensor(),
    "unicode_split": lambda x: tf.strings.unicode_split(x, "UTF-8").to_tensor(),
    "encode": lambda x: tf.strings.unicode_encode(tf.strings.unicode_decode(x, "UTF-8"), "UTF-8"),
    "transcode": lambda x: tf.strings.unicode_transcode(x, "UTF-8", "UTF-16-BE"),
    "reduce_join": lambda x: tf.strings.reduce_join(x, 0, separator="-"),
    "segments": lambda x: tf.strings.unsorted_segment_join(x, tf.strings.length(x) // 4, 3, "+"),
    "ngrams": lambda x: tf.strings.ngrams(tf.strings.split(x), 2, pad_values="*").to_tensor(),
    "numbers": lambda x: tf.strings.to_number(tf.as_string(tf.strings.length(x)), tf.int64),
    "hashes": lambda x: tf.strings.to_hash_bucket(x, 100) + tf.strings.to_hash_bucket_fast(x, 9),
    "strong": lambda x: tf.strings.to_hash_bucket_strong(x, 100, [1, 2]),
    "replace": lambda x: tf.strings.regex_replace(x, "b+", r"(\0)"),
    "replace_by_tensor": lambda x: tf.strings.regex_replace(x, tf.strings.substr(x[0], 0, 1), "Z"),
    "match": lambda x: tf.strings.regex_full_match(x, "a.*"),
    "match_by_tensor": lambda x: tf.strings.regex_full_match(x, x[0]),
    "format": lambda x: tf.strings.format("<{}>", x),
    "join": lambda x: tf.strings.join([x, "!", x], "."),
    "script": lambda x: tf.strings.unicode_script(tf.strings.unicode_decode(x[0], "UTF-8")),
    "lower": lambda x: tf.strings.lower(x, "utf-8"),
    "substr": lambda x: tf.strings.substr(x, 0, 1, unit="UTF8_CHAR"),
}
PATTERNS = ["a+?b", "(a|ab)(c|bcd)(d*)", "a*", "(a*)*b", "^a|b$", r"\ba", "[^a-c]x?", "(?i)B+"]
PATTERNS += ["(a+)+$", "x*?y|.", r"\d+|\w", "(?:ab|a)(?:c|bc)?", "", "a|", "(?m)^b", "(b)|(a)"]
PATTERNS += ["a{2,3}", r"[\s\d]", r"\S$", "[^x]", "ab|a", "a[0-9]+"]


@pytest.mark.parametrize("size", [3, None])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_in_functions(name, size):
    """A traced function gives what the call gives, whether the size is known or not."""
    function = FUNCTIONS[name]
    wanted = function(tf.constant(TEXTS)).numpy()
    traced = tf.function(function, input_signature=[tf.TensorSpec([size], tf.string)])
    np.testing.assert_array_equal(traced(tf.constant(TEXTS)).numpy(), wanted)


def test_in_data():
    """Strings are split in the pipeline of a dataset."""
    data = tf.data.Dataset.from_tensor_slices(["a b", "c d e"]).map(tf.strings.split)
    assert [x.numpy().tolist() for x in data] == [[b"a", b"b"], [b"c", b"d", b"e"]]


def _texts(seed, count=60):
    chosen = random.Random(seed)
    letters = "aabbcdxy1 \nÀé"
    return ["".join(chosen.choices(letters, k=chosen.randint(0, 9))).encode() for _ in range(count)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_engines_agree(pattern, monkeypatch):
    """RE2, where it is there, Pike's machine and Python's matcher give the same."""
    regex.compile_pattern.cache_clear()
    usual = regex.compile_pattern(pattern.encode())
    monkeypatch.setitem(sys.modules, "re2", None)
    regex.compile_pattern.cache_clear()
    ours = regex.compile_pattern(pattern.encode())
    machine = regex.Pattern(ours.groups, ours.search, ours.full, None)
    rewrite = regex.Rewrite(rb"<\0>")
    for text in _texts(pattern):
        for found in (ours, machine):
            assert found.matches(text) == usual.matches(text), text
            for everywhere in (True, False):
                replaced = usual.replace(text, rewrite, everywhere)
                assert found.replace(text, rewrite, everywhere) == replaced, text
    regex.compile_pattern.cache_clear()


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("pattern", ["(a+)+c", "(a|aa)+c", "(a*)*c", "a*a*a*a*c", "(.*)(.*)(.*)c"])
def test_linear_time(pattern, blocked, monkeypatch):
    """What takes a matcher that tries again years takes none of the engines a second."""
    if blocked:
        monkeypatch.setitem(sys.modules, "re2", None)
    regex.compile_pattern.cache_clear()
    start = time.process_time()
    assert not regex.compile_pattern(pattern.encode()).matches(b"a" * 200)
    assert time.process_time() - start < 2
    regex.compile_pattern.cache_clear()


def test_machine_goes_through_the_text_once():
    """Ten times the text takes Pike's machine about ten times the time, not a hundred."""

    def taken(size):
        machine = pike.PikeMachine(*regex_syntax.parse("(a+)+c"))
        start = time.process_time()
        machine.matches(b"a" * size)
        return time.process_time() - start

    taken(100)
    assert taken(5000) < 40 * max(min(taken(500) for _ in range(3)), 1e-4)


def test_floats_are_rounded_once():
    """A decimal number just above the middle of two float32 is rounded up, as if read at once."""
    low, high = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
    from fractions import Fraction

    middle = (Fraction(float(low)) + Fraction(float(high))) / 2
    digits = f"{middle.numerator * 10**60 // middle.denominator}"
    text = f"{digits[0]}.{digits[1:]}1".encode()
    assert numbers.read_float32(text) == high
    assert numbers.read_float32(text[:-1]) == low


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16-BE", "UTF-32-BE"])
def test_characters_go_round(encoding):
    """Encoding what was decoded gives the string, and offsets are where its characters begin."""
    policy = unicode.Policy()
    for text in ["", "aé", "中文\U0001f60a", "a\0b"]:
        name = encoding.replace("-BE", "_be").lower()
        data = text.encode(name)
        codes, places = unicode.decode(data, encoding, policy)
        assert unicode.encode(codes, encoding, policy) == data
        sizes = [len(letter.encode(name)) for letter in text]
        assert places.tolist() == np.cumsum([0, *sizes])[: len(text)].tolist()


def test_a_failed_call_names_what_is_wrong():
    """Errors say the argument and what was expected."""
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_buckets"):
        tf.strings.to_hash_bucket_fast("a", 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid pattern"):
        tf.strings.regex_replace("a", "(", "")
    with pytest.raises(tf.errors.InvalidArgumentError, match="could not correctly convert"):
        tf.strings.to_number("one")
