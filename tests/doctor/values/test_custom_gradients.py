"""What is said of a gradient that goes through a `tf.custom_gradient`, or through half precision.

A custom gradient replaces the derivative of what its function computes: the norms along the path
are those of what it returns.
"""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf


def doubled(pullback):
    """2 x with a gradient of one's own."""

    @tf.custom_gradient
    def custom(x):
        return 2.0 * x, pullback

    return custom


def explained(function):
    """The gradient that a tape gives, and what is said of it."""
    w = tf.Variable([1.0, 2.0], name="w")
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(function(w * 1.0))
    return tape.gradient(loss, w).numpy(), tape.explain(loss, w)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("factor", [5.0, 0.5, 1.0])
def test_the_norm_is_that_of_the_custom_gradient(traced, factor):
    function = doubled(lambda g: g * factor)
    gradient, found = explained(tf.function(function) if traced else function)
    assert found.healthy
    assert found.norm == pytest.approx(np.linalg.norm(gradient)) == pytest.approx(factor * 2**0.5)


@pytest.mark.parametrize("traced", [False, True])
def test_zeros_of_a_custom_gradient(traced):
    function = doubled(lambda g: g * 0.0)
    gradient, found = explained(tf.function(function) if traced else function)
    assert not gradient.any() and (found.kind, found.code) == ("zero", "TW353")
    assert "custom gradient" in found.verdict and found.remedy


def test_the_function_is_named():
    _, found = explained(doubled(lambda g: g * 0.0))
    assert found.verdict.startswith("the custom gradient of custom returned zeros")
    assert [(step.name, step.zeros) for step in found.path][:2] == [("mul", 1.0), ("custom", 0.0)]


@pytest.mark.parametrize("traced", [False, True])
def test_nan_of_a_custom_gradient(traced):
    function = doubled(lambda g: g / (g - g))
    _, found = explained(tf.function(function) if traced else function)
    assert (found.kind, found.code) == ("not finite", "TW349")


@pytest.mark.parametrize("traced", [False, True])
def test_nan_inside_the_function_is_followed_into_it(traced):
    @tf.custom_gradient
    def custom(x):
        return tf.math.log(x - 1.0), lambda g: g  # HERE

    _, found = explained(tf.function(custom) if traced else custom)
    assert found.code == "TW340" and "HERE" in str(found)


def test_the_target_is_the_result_itself():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = doubled(lambda g: g * 3.0)(w)
    assert tape.explain(y, w).norm == pytest.approx(3.0 * 2**0.5)


def test_the_same_by_a_function_that_is_run():
    w = tf.Variable([1.0, 2.0])
    custom = doubled(lambda g: g * 0.0)
    assert tf.explain_numerics(lambda: tf.reduce_sum(custom(w)), w).code == "TW353"


def test_a_graph_says_that_it_was_not_followed():
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2])
        y = tf.reduce_sum(doubled(lambda g: g)(x))
        found = tf.explain_gradients(y, x, session=session, feed_dict={x: [1.0, 2.0]})
    assert found.connected and any("was not looked at" in note for note in found.notes)


@pytest.mark.parametrize(
    "product",
    [
        lambda h: h * h * tf.constant(1e-4, tf.float16),
        lambda h: h * tf.constant(3e-5, tf.float16),
        lambda h: h[None, :] @ tf.constant([[1e-5], [1e-5]], tf.float16),
    ],
    ids=["square", "factor", "matmul"],
)
def test_underflow_in_half_precision(product):
    w = tf.Variable([3e-4, 2e-4])
    with tf.GradientTape() as tape:
        y = product(tf.cast(w, tf.float16))
        loss = tf.reduce_mean(tf.cast(y, tf.float32)) * 1e-3
    found = tape.explain(loss, w)
    assert (found.kind, found.code) == ("zero", "TW359"), str(found)
    assert "float16" in found.verdict and "LossScaleOptimizer" in found.remedy
    assert found.numerics.operation in ("mul", "matmul")


def test_what_cancels_is_no_underflow():
    w = tf.Variable(tf.constant([1.0, 2.0], tf.float16))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.softmax(w))
    assert tape.explain(loss, w).code == "TW355"
