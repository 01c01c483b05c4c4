"""Gradients that puzzle researchers: what `tape.explain` answers, and what it says to write.

Each program is asked in three ways: by a tape, by a function that is traced, and by a graph in a
session.  The answer names the cause, its line (marked HERE) and a cure that fits it.
"""

from __future__ import annotations

import pytest

import talweg as tf
from tests.doctor.values.test_twelve import by_a_graph, by_a_tape, by_a_trace


def zero(w):
    """Zeros that the derivative goes through, with a slope of one."""
    return w - tf.stop_gradient(w)


# -- NaN and infinities


def log_of_a_softmax(w):
    p = tf.nn.softmax(w * 200.0)
    return -tf.reduce_sum(tf.math.log(p))  # HERE


def log_of_one_minus_a_sigmoid(w):
    return tf.reduce_sum(tf.math.log(1.0 - tf.sigmoid(w * 40.0)))  # HERE


def mask_by_a_product(w):
    x = zero(w)
    y = tf.math.log(x)  # HERE
    return tf.reduce_sum(y * tf.cast(x > 0.0, tf.float32))


def hidden_reciprocal(w):
    y = 1.0 / zero(w)  # HERE
    return tf.reduce_sum(tf.where(zero(w) > 0.0, y, tf.zeros_like(y)))


def mean_over_an_empty_mask(w):
    mask = tf.cast(w > 100.0, tf.float32)
    return tf.reduce_sum(w * mask) / tf.reduce_sum(mask)  # HERE


def arc_of_one(w):
    return tf.reduce_sum(tf.acos(w / tf.stop_gradient(w)))  # HERE


def root_by_pow(w):
    return tf.reduce_sum(zero(w) ** 0.5)  # HERE


def norm_of_nothing(w):
    return tf.norm(zero(w))  # HERE


def deviation_of_constants(w):
    return tf.math.reduce_std(zero(w))  # HERE


def singular_matrix(w):
    return tf.reduce_sum(tf.linalg.cholesky(w[:, None] * w[None, :]))  # HERE


def everything_masked_out(w):
    scores = tf.where(w > 100.0, w, tf.constant(float("-inf")))
    return tf.reduce_sum(tf.nn.softmax(scores))  # HERE


def overflow(w):
    return tf.reduce_sum(tf.exp(w * 100.0))  # HERE


# -- zeros


def sign(w):
    return tf.reduce_sum(tf.sign(w))  # HERE


def clipped(w):
    return tf.reduce_sum(tf.clip_by_value(w, -0.1, 0.1))  # HERE


def difference_with_itself(w):
    return tf.reduce_sum(w - w)  # HERE


def two_paths_that_cancel(w):
    return tf.reduce_sum(w * 2.0) - tf.reduce_sum(w * 2.0)  # HERE


def dead_in_the_middle(w):
    h = w
    for layer in range(5):
        h = tf.nn.relu(h - (50.0 if layer == 2 else 0.0))  # HERE
    return tf.reduce_sum(h)


def at_the_minimum(w):
    return tf.reduce_sum(zero(w) ** 2.0)  # HERE


# -- vanishing to nothing


def saturated_over_time(w):
    h = w
    for _ in range(200):
        h = tf.tanh(h * 5.0)  # HERE
    return tf.reduce_sum(h)


def linear_over_time(w):
    h = w
    for _ in range(200):
        h = h * 1.2  # HERE
    return tf.reduce_sum(h)


CASES = {
    log_of_a_softmax: ("not finite", "TW340", "log_softmax"),
    log_of_one_minus_a_sigmoid: ("not finite", "TW340", "log_sigmoid"),
    mask_by_a_product: ("not finite", "TW340", "two tf.where"),
    hidden_reciprocal: ("not finite", "TW346", "two tf.where"),
    mean_over_an_empty_mask: ("not finite", "TW340", "divide_no_nan"),
    arc_of_one: ("not finite", "TW345", "clip_by_value"),
    root_by_pow: ("not finite", "TW345", "tf.maximum"),
    norm_of_nothing: ("not finite", "TW347", "1e-12"),
    deviation_of_constants: ("not finite", "TW347", "reduce_variance"),
    singular_matrix: ("not finite", "TW341", "identity"),
    everything_masked_out: ("not finite", "TW341", "-1e9"),
    overflow: ("not finite", "TW342", "logsumexp"),
    sign: ("zero", "TW350", "tanh"),
    clipped: ("zero", "TW350", "clip gradients"),
    difference_with_itself: ("zero", "TW355", "one element"),
    two_paths_that_cancel: ("zero", "TW355", "one element"),
    dead_in_the_middle: ("zero", "TW350", "leaky_relu"),
    at_the_minimum: ("zero", "TW352", "minimum"),
    saturated_over_time: ("vanishing", "TW356", "residual"),
    linear_over_time: ("exploding", "TW357", "clip_by_global_norm"),
}


@pytest.mark.parametrize("ask", [by_a_tape, by_a_trace, by_a_graph])
@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_the_answer(function, ask):
    kind, code, cure = CASES[function]
    found = ask(function)
    text = str(found)
    assert found.connected and not found.healthy, text
    assert (found.kind, found.code) == (kind, code), text
    assert "HERE" in text, text
    assert cure in found.remedy, text
