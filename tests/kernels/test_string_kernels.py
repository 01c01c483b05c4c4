"""String kernels in machine code give what Python gives, for whatever is in the strings."""

import random

import numpy as np
import pytest

import talweg as tf
from talweg.kernels import fingerprints
from talweg.kernels.native import engine, translate
from talweg.kernels.strings import native, words

COUNT = 3000


def _strings(seed, letters=b"aBz \t09.-+eE\xc3\xa9\xff\x00", longest=40):
    chosen = random.Random(seed)
    made = [bytes(chosen.choices(letters, k=chosen.randint(0, longest))) for _ in range(COUNT)]
    return np.array([*made, b"x" * 200], object)


@pytest.fixture(autouse=True)
def _compiled_at_once(monkeypatch):
    monkeypatch.setattr(native, "MANY", 1)
    monkeypatch.setattr(native, "_seen", {})


def _both(function, x, monkeypatch):
    """What machine code gives, and what Python gives."""
    fast = function(tf.constant(x))
    with monkeypatch.context() as patch:
        patch.setattr(native, "MANY", 10**9)
        patch.setattr(native, "_seen", {})
        slow = function(tf.constant(x))
    return fast, slow


FUNCTIONS = {
    "length": tf.strings.length,
    "characters": lambda x: tf.strings.length(x, unit="UTF8_CHAR"),
    "lower": tf.strings.lower,
    "upper": tf.strings.upper,
    "strip": tf.strings.strip,
    "hash": lambda x: tf.strings.to_hash_bucket(x, 2**62),
    "fast": lambda x: tf.strings.to_hash_bucket_fast(x, 2**62),
    "strong": lambda x: tf.strings.to_hash_bucket_strong(x, 2**62, [2**64 - 5, -7]),
    "start": lambda x: tf.strings.substr(x, 0, 3),
    "first_characters": lambda x: tf.strings.substr(x, 0, 2, unit="UTF8_CHAR"),
    "words": lambda x: tf.strings.split(x).flat_values,
    "lengths": lambda x: tf.strings.split(x, " ").row_lengths(),
    "parts": lambda x: tf.strings.split(x, "a").flat_values,
    "long_separator": lambda x: tf.strings.split(x, "aB").flat_values,
    "bytes": lambda x: tf.strings.bytes_split(x).flat_values,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_python(name, monkeypatch):
    """Every kernel agrees with Python's own function on strings of all kinds."""
    fast, slow = _both(FUNCTIONS[name], _strings(name), monkeypatch)
    np.testing.assert_array_equal(fast.numpy(), slow.numpy())


@pytest.mark.parametrize("start, size", [(0, 0), (-1, 1), (2, -1), (1, 100)])
def test_parts(start, size, monkeypatch):
    """Parts from either end, and of all that follows."""
    x = np.array([b"ab" + text for text in _strings("parts")], object)
    fast, slow = _both(lambda t: tf.strings.substr(t, start, size), x, monkeypatch)
    np.testing.assert_array_equal(fast.numpy(), slow.numpy())


def test_places_outside_are_refused():
    """The code leaves to Python what it cannot do, and Python raises."""
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
        tf.strings.substr(tf.constant([b"abc"] * 50 + [b"a"]), 2, 1)


NUMBERS = [
    "0",
    "-0",
    "1",
    "-1.5",
    "0.1",
    "1e22",
    "1e-22",
    "3.4028235e38",
    "1e-45",
    "9007199254740993",
]
NUMBERS += [
    "16777217",
    "0.30000000000000004",
    "123456789012345678901",
    "1e300",
    "-1e-300",
    " 7 ",
    "+5",
]
NUMBERS += ["nan", "inf", "0x10", "1.", ".5", "1.17549435e-38", "8.5e-39", "1.00000005960464477539"]


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_floats_read(dtype, monkeypatch):
    """Numbers are read to the last bit, those that one product gives and those it does not."""
    chosen = random.Random(3)
    more = [f"{chosen.gauss(0, 1) * 10 ** chosen.randint(-30, 30):.{chosen.randint(0, 17)}e}"]
    more += [repr(chosen.uniform(-1e6, 1e6)) for _ in range(500)]
    x = np.array([text.encode() for text in NUMBERS * 3 + more], object)
    fast, slow = _both(lambda t: tf.strings.to_number(t, dtype), x, monkeypatch)
    assert fast.numpy().tobytes() == slow.numpy().tobytes()


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.uint32, tf.uint64])
def test_integers_read(dtype, monkeypatch):
    """Integers of all widths, up to the largest."""
    low, high = int(dtype.min), int(dtype.max)
    texts = [str(n) for n in (low, high, 0, 7, high // 3)] * 10 + [" 4 ", "007"]
    fast, slow = _both(
        lambda t: tf.strings.to_number(t, dtype),
        np.array([text.encode() for text in texts], object),
        monkeypatch,
    )
    np.testing.assert_array_equal(fast.numpy(), slow.numpy())


@pytest.mark.parametrize("digits", [-1, 0, 1, 3, 9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_written(dtype, digits, monkeypatch):
    """Digits are those of C's printf, rounded to even from the exact value."""
    chosen = np.random.default_rng(1)
    x = chosen.normal(size=500) * 10.0 ** chosen.integers(-40, 38, 500)
    more = [
        0.0,
        -0.0,
        0.5,
        1.5,
        2.5,
        -0.125,
        1e-300,
        np.inf,
        -np.inf,
        np.nan,
        0.0000005,
        1e15,
        4e12,
    ]
    x = np.concatenate([x, more]).astype(dtype)
    fast, slow = _both(lambda t: tf.as_string(t, precision=digits), x, monkeypatch)
    np.testing.assert_array_equal(fast.numpy(), slow.numpy())


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64"])
def test_integers_written(dtype, monkeypatch):
    """Integers of all dtypes, the smallest too."""
    info = np.iinfo(dtype)
    x = np.array([info.min, info.max, 0, 1, info.max // 7] * 8, dtype)
    fast, slow = _both(tf.as_string, x, monkeypatch)
    np.testing.assert_array_equal(fast.numpy(), slow.numpy())


def test_numbering():
    """Keys have the numbers of their places, anything else -1."""
    keys = np.array(sorted(set(_strings("keys").tolist())), object)
    numbering = native.Numbering(keys)
    np.testing.assert_array_equal(numbering.of(keys), np.arange(len(keys)))
    others = np.array([b"#" + key for key in keys], object)
    assert (numbering.of(others) == -1).all()


def test_references_are_kept_and_let_go():
    """Results own their strings: none is lost with the operand, none is left over."""
    import gc
    import sys

    x = np.array([b"Talweg %d" % k for k in range(100)], object)
    before = [sys.getrefcount(text) for text in x]
    for _ in range(5):
        found = [
            native.StringKernel(name, (a, b)).of(x, object, str)
            for name, a, b in (("change_case", 65, 90), ("take_bytes", 0, -1), ("strip", 0, 0))
        ]
    assert found[1][3] is x[3]
    values, counts = words.words_of(x, b"", -1)
    assert values[1] == b"0" and counts.tolist() == [2] * 100
    del found, values
    gc.collect()
    assert [sys.getrefcount(text) for text in x] == before


def test_hashes_are_one_text():
    """The text of the hashes is Python, too."""
    assert fingerprints.fingerprint(b"TensorFlow") % 3 == 2
    module = translate.NativeModule()
    module.add(fingerprints.fingerprint)
    assert "define internal i64 @fingerprint(i64 %a.s)" in module.text()


def test_code_that_is_no_code():
    """Text that is not LLVM gives no functions."""
    assert engine.addresses("nonsense", ("f",)) is None
