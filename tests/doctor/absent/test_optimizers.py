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
    assert tape.gradient(loss, w) is None
    evidence = absence._pending[id(w)][1]
    assert evidence.records and not any(
        hasattr(part, "_array") for record in evidence.records for part in record[1]
    )
