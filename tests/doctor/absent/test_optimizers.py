"""What is remembered of an absent gradient until an optimizer meets it, and what is then said."""

from __future__ import annotations

import logging

import talweg as tf
from talweg.eager import absence


def test_an_optimizer_in_eager_mode(caplog):
    w, b = tf.Variable(1.4, name="w"), tf.Variable(1.0, name="b")
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
    with caplog.at_level(logging.WARNING, logger="talweg"):
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = tf.round(w) * b  # HERE
            gradients = tape.gradient(loss, [w, b])
            optimizer.apply_gradients(zip(gradients, [w, b]))
    lines = [record.getMessage() for record in caplog.records if record.name == "talweg"]
    assert len(lines) == 1 and "TW324" in lines[0] and "HERE" in lines[0]


def remembered() -> int:
    """The id of a variable without a gradient, which is known while it lives."""
    w, b = tf.Variable(1.4), tf.Variable(1.0)
    with tf.GradientTape() as tape:
        loss = b * 2.0
    tape.gradient(loss, w)
    assert absence.is_known(w)
    return id(w)


def test_what_is_remembered_dies_with_the_variable():
    assert remembered() not in absence._pending


def test_what_is_remembered_holds_no_array():
    w, b = tf.Variable(tf.zeros([1000])), tf.Variable(1.0)
    with tf.GradientTape() as tape:
        tf.square(w)
        loss = b * 2.0
    assert tape.gradient(loss, [w, b])[0] is None
    evidence = absence._pending[id(w)][1]
    assert evidence.records and not any(
        hasattr(part, "_array") for record in evidence.records for part in record[1]
    )


def warnings_of(caplog, steps):
    with caplog.at_level(logging.WARNING, logger="talweg"):
        steps()
    return [record.getMessage() for record in caplog.records if record.name == "talweg"]


def test_a_none_that_goes_into_arithmetic_is_told_once(caplog):
    x = tf.constant(2.0)

    def steps():
        for _ in range(3):
            with tf.GradientTape() as tape:
                y = x * x
            g = tape.gradient(y, x)
            assert g is None

    (line,) = warnings_of(caplog, steps)
    assert "TW310" in line and "tape.watch(x)" in line


def test_an_integer_source_is_told_once(caplog):
    n, w = tf.Variable(3), tf.Variable(2.0)

    def steps():
        for _ in range(3):
            with tf.GradientTape() as tape:
                y = w * tf.cast(n, tf.float32)
            assert tape.gradient(y, [n, w])[0] is None

    (line,) = warnings_of(caplog, steps)
    assert "TW323" in line and "tf.Variable(3.0)" in line


def test_one_none_of_several_says_nothing(caplog):
    a, b = tf.Variable(1.0), tf.constant(1.0)

    def steps():
        with tf.GradientTape() as tape:
            y = a * b
        assert tape.gradient(y, [a, b])[1] is None

    assert warnings_of(caplog, steps) == []
