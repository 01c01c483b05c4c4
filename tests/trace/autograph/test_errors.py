"""Errors in converted code: the user's class, file and line."""

import traceback

import pytest

import talweg as tf
from talweg.core import settings


def frames(error):
    """(file name, line of text) of each frame of a traceback, ours in this file."""
    found = traceback.extract_tb(error.__traceback__)
    return [(frame.name, frame.line) for frame in found if frame.filename == __file__]


def test_traceback_shows_the_code_as_written():
    class OwnError(Exception):
        def __init__(self, code, text):
            super().__init__(text)
            self.code = code

    def helper(x):
        if x > 3:
            raise OwnError(7, "too large")
        return x

    @tf.function
    def run(x):
        for _ in tf.range(3):
            x = helper(x)
        return x

    with pytest.raises(OwnError) as caught:
        run(tf.constant(1))
    assert caught.value.code == 7 and str(caught.value) == "too large"
    lines = [line for _, line in frames(caught.value)]
    assert lines[-4:] == [
        "for _ in tf.range(3):",
        "x = helper(x)",
        "if x > 3:",
        'raise OwnError(7, "too large")',
    ]
    assert [name for name, _ in frames(caught.value)][-4:] == ["run", "run", "helper", "helper"]


def test_messages_name_the_line():
    @tf.function
    def run(x):
        y = x * 2
        while tf.reduce_sum(y) > 0:
            y = tf.matmul(y, tf.ones([3, 1]))
        return y

    with pytest.raises(ValueError) as caught:
        run(tf.ones([2, 2]))
    assert "in run: y = tf.matmul(y, tf.ones([3, 1]))" in str(caught.value)
    assert "test_errors.py:" in str(caught.value)


def test_inner_frames_are_kept_when_asked_for():
    def inner(x):
        return x.nothing

    @tf.function
    def run(x):
        if x > 0:
            x = inner(x)
        return x

    def count():
        with pytest.raises(AttributeError) as caught:
            run(tf.constant(1))
        return len(traceback.extract_tb(caught.value.__traceback__))

    short = count()
    with settings.debug(1):
        assert count() > short


def test_assertions():
    @tf.function
    def root(x, n):
        assert n > 0, f"n is {n}"
        assert x >= 0.0, "negative"
        return tf.sqrt(x)

    assert float(root(tf.constant(4.0), 1)) == 2.0
    with pytest.raises(AssertionError, match="n is 0"):
        root(tf.constant(4.0), 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="negative"):
        root(tf.constant(-4.0), 1)


def test_state_is_restored_after_an_error():
    class Box:
        value = 5

    box = Box()

    @tf.function
    def run(x):
        if x > 0:
            box.value = x
            raise ValueError("stop")
        return x

    with pytest.raises(ValueError, match="stop"):
        run(tf.constant(1))
    assert box.value == 5


def test_undefined_names():
    @tf.function
    def run(x, flag):
        if flag:
            y = x
        return y + 1

    assert int(run(tf.constant(1), True)) == 2
    with pytest.raises(UnboundLocalError, match="local variable 'y'"):
        run(tf.constant(1), False)
