"""The registry of derivatives by types of operations, as SHAP's DeepExplainer changes it."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import talweg as tf


@pytest.fixture
def registry():
    tf.as_tensorflow()
    return importlib.import_module("tensorflow.python.framework.ops")._gradient_registry._registry


def trained(x):
    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.tanh(tf.nn.relu(x) * 2.0)
        return tape.gradient(y, x)

    return gradient(x).numpy()


def test_a_changed_derivative_holds_for_tapes_until_it_is_put_back(registry):
    x = tf.constant([-1.0, 0.3])
    plain, seen = trained(x), []
    original = registry["Relu"]["type"]

    def tripled(op, grad):
        seen.append((op.type, len(op.inputs)))
        return 3.0 * original(op, grad)

    assert "Relu" in registry and "MaxPool" in registry and "NoSuchOperation" not in registry
    registry["Relu"]["type"] = tripled
    try:
        changed = trained(x)
    finally:
        registry["Relu"]["type"] = original
    assert np.allclose(changed, 3 * plain) and seen == [("Relu", 1)]
    assert np.allclose(trained(x), plain)


def test_derivatives_of_several_inputs_are_lists(registry):
    taken = []
    original = registry["MatMul"]["type"]

    def told(op, grad):
        taken.append(original(op, grad))
        return taken[0]

    registry["MatMul"]["type"] = told
    try:

        @tf.function
        def gradient(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.matmul(x, tf.ones([2, 3]))
            return tape.gradient(y, x)

        found = gradient(tf.ones([1, 2])).numpy()
    finally:
        registry["MatMul"]["type"] = original
    assert found.tolist() == [[3.0, 3.0]] and [type(x) for x in taken] == [list]
    entry = {"type": None, "location": ()}
    registry["TensorListReserveOfThisTest"] = entry
    del registry["TensorListReserveOfThisTest"]
