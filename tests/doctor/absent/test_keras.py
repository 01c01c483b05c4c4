"""Keras on talweg: names of its variables, lines of the user's, and what its trainer is told."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import talweg as tf


def model():
    keras = tf.keras

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.first = keras.layers.Dense(1, name="first")
            self.frozen = keras.layers.Dense(1, name="frozen")

        def call(self, x):
            return self.first(x) + tf.stop_gradient(self.frozen(x))  # HERE

    return Model()


DATA = np.ones((4, 3), np.float32)


def test_the_line_is_the_users_and_the_name_that_of_keras():
    network = model()
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(network(DATA)))
    variables = network.trainable_variables
    assert [g is None for g in tape.gradient(loss, variables)] == [False, False, True, True]
    found = tape.explain(loss, variables)
    assert [each.code for each in found] == ["", "", "TW327", "TW327"]
    assert "HERE" in found[2].lines[0].source
    assert found[2].source.endswith("frozen/kernel")
    assert "the same for" in str(found)


def test_fit_tells_why(caplog):
    network = model()
    network.compile(optimizer="sgd", loss="mse")
    with caplog.at_level(logging.WARNING, logger="talweg"), pytest.warns(UserWarning):
        network.fit(DATA, DATA[:, :1], epochs=2, verbose=0)
    lines = [record.getMessage() for record in caplog.records if record.name == "talweg"]
    assert len(lines) == 2 and all("TW327" in line and "HERE" in line for line in lines)


def test_lines_of_mixed_precision_are_the_users():
    """Keras casts through optree, whose lines are no more the user's than Keras's own."""
    keras = tf.keras
    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        layer = keras.layers.Dense(2)
        x = tf.ones([2, 3])
        layer.build(x.shape)
        found = tf.explain_gradients(
            lambda: tf.reduce_mean(tf.cast(layer(x), tf.float32)) * 1e-9,  # HERE
            layer.trainable_variables[0],
        )
    finally:
        keras.mixed_precision.set_global_policy("float32")
    assert found.code == "TW359" and "optree" not in str(found)
    assert all("HERE" in str(line) for line in found.lines)
