"""Variables inside functions that functions call: written in place where nobody else looks."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.passes.functionalize import program_of
from talweg.passes.specialize import specializer


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """Programs that can be compiled as a whole are, from the first call on; no others."""
    monkeypatch.setattr(specializer, "ATTEMPTS", 0)
    with settings.executor("llvm"):
        yield


def _data(variable):
    """Where the value of a variable lies."""
    return np.asarray(variable.handle_read()._array).ctypes.data


def unknown(x):
    """`x`, through Python: a program with this in it is interpreted."""
    (found,) = tf.numpy_function(lambda x: x, [x], [x.dtype])
    return tf.ensure_shape(found, [])


def stepping(*variables):
    """A function that calls another, which adds to variables."""

    @tf.function
    def add(x):
        for variable in variables:
            variable.assign_add(tf.fill([1000], x))
        return x

    return tf.function(lambda x: add(unknown(x)) + 1.0)


def test_a_called_function_writes_in_place():
    first, second = tf.Variable(tf.zeros([1000])), tf.Variable(tf.ones([1000]))
    step = stepping(first, second)
    step(tf.constant(1.0))
    places = _data(first), _data(second)
    for _ in range(3):
        step(tf.constant(1.0))
        assert (_data(first), _data(second)) == places
    assert first.numpy()[5] == 4.0 and second.numpy()[999] == 5.0


def test_what_was_read_before_keeps_its_value():
    v = tf.Variable(tf.zeros([1000]))
    step = stepping(v)
    step(tf.constant(1.0))
    before, view = v.value(), v.value()[:10]
    step(tf.constant(1.0))
    assert before.numpy()[0] == 1.0 and view.numpy()[9] == 1.0 and v.numpy()[0] == 2.0


def test_a_value_that_the_caller_needs_later_is_kept():
    v = tf.Variable(tf.zeros([1000]))

    @tf.function
    def add(x):
        v.assign_add(tf.fill([1000], x))

    @tf.function
    def step(x):
        before = v.read_value()
        add(unknown(x))
        return before, v.read_value()

    for number in range(3):
        before, after = step(tf.constant(1.0))
        assert before.numpy()[0] == number and after.numpy()[0] == number + 1


def test_loops_count_every_time():
    v = tf.Variable(tf.zeros([1000]))

    @tf.function
    def add(x):
        v.assign_add(tf.fill([1000], x))

    @tf.function
    def steps():
        for _ in tf.range(5):
            (x,) = tf.numpy_function(lambda: np.float32(1), [], [tf.float32])
            add(tf.ensure_shape(x, []))

    steps()
    steps()
    assert v.numpy()[0] == 10.0


def test_what_failed_leaves_what_was_written_before():
    v = tf.Variable(tf.zeros([1000]))

    @tf.function
    def add(x):
        v.assign_add(tf.fill([1000], x))

    @tf.function
    def step(x, fail):
        add(unknown(x))
        tf.debugging.assert_equal(fail, False)
        return x

    step(tf.constant(1.0), tf.constant(False))
    with pytest.raises(tf.errors.InvalidArgumentError):
        step(tf.constant(1.0), tf.constant(True))
    assert v.numpy()[0] == 2.0


def test_shapes_that_cannot_be_compiled_are_asked_once():
    step = stepping(tf.Variable(tf.zeros([1000])))
    for _ in range(3):
        step(tf.constant(1.0))
    tier = program_of(step.get_concrete_function(tf.constant(1.0)).body).tier
    assert not tier.versions and len(tier.refused) == 1
