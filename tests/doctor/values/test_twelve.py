"""Twelve gradients that puzzle, and two that do not: what `tape.explain` answers for each.

Each program is asked in three ways: by a tape, by a function that is traced, and by a graph in a
session; the answer is the same.
"""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf

ones, variable = tf.ones, tf.Variable


# -- none


def rounded(w):
    return tf.reduce_sum(tf.round(w))  # HERE


def stopped(w):
    return tf.reduce_sum(tf.stop_gradient(w) * 2.0)  # HERE


def through_integers(w):
    return tf.reduce_sum(tf.cast(tf.cast(w, tf.int32), tf.float32))  # HERE


# -- zeros


def dead_relu(w):
    return tf.reduce_sum(tf.nn.relu(-tf.abs(w) - 1.0))  # HERE


def one_class(w):
    return tf.reduce_mean(tf.nn.softmax(w[:, None])) * 3.0  # HERE


def saturated(w):
    return tf.reduce_mean(tf.sigmoid(w * 0.0 + 200.0 * tf.abs(w)))  # HERE


def masked(w):
    return tf.reduce_sum(tf.where(w > 100.0, w * w, 0.0))  # HERE


def times_zero(w):
    return tf.reduce_sum(w * tf.zeros([3]))  # HERE


# -- NaN and infinities


def log_of_zero(w):
    return tf.reduce_sum(tf.math.log(w - w[0]))  # HERE


def root_of_zero(w):
    return tf.reduce_sum(tf.sqrt(w - w[0]))  # HERE


def hidden_by_where(w):
    x = w - w[0]
    return tf.reduce_sum(tf.where(x > 0.0, tf.math.log(x), 0.0))  # HERE


# -- vanishing and exploding


def through_layers(w):
    h = w
    for _ in range(40):
        h = tf.sigmoid(h)  # HERE
    return tf.reduce_sum(h)


def through_time(w):
    h = w
    for _ in range(14):
        h = tf.tanh(0.1 * h)  # HERE
    return tf.reduce_sum(h)


def exploding(w):
    h = w
    for _ in range(12):
        h = h * 10.0  # HERE
    return tf.reduce_sum(h)


CASES = {
    rounded: ("no derivative", "TW324"),
    stopped: ("stop_gradient", "TW327"),
    through_integers: ("dtype", "TW322"),
    dead_relu: ("zero", "TW350"),
    one_class: ("zero", "TW355"),
    saturated: ("zero", "TW351"),
    masked: ("zero", "TW352"),
    times_zero: ("zero", "TW352"),
    log_of_zero: ("not finite", "TW340"),
    root_of_zero: ("not finite", "TW345"),
    hidden_by_where: ("not finite", "TW346"),
    through_layers: ("vanishing", "TW356"),
    through_time: ("vanishing", "TW356"),
    exploding: ("exploding", "TW357"),
}


def by_a_tape(function):
    w = variable([1.0, 2.0, 3.0], name="w")
    with tf.GradientTape() as tape:
        y = function(w)
    return tape.explain(y, w)


def by_a_trace(function):
    w = variable([1.0, 2.0, 3.0], name="w")
    return tf.explain_gradients(lambda: tf.function(function)(w), w)


def by_a_graph(function):
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        w = v1.get_variable("w", initializer=[1.0, 2.0, 3.0])
        y = function(w)
        session.run(v1.global_variables_initializer())
        return tf.explain_gradients(y, w, session=session)


@pytest.mark.parametrize("ask", [by_a_tape, by_a_trace, by_a_graph])
@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_the_answer(function, ask):
    found = ask(function)
    kind, code = CASES[function]
    text = str(found)
    assert found.code == code, text
    assert found.connected == (kind in ("zero", "not finite", "vanishing", "exploding"))
    if found.connected:
        assert found.kind == kind and not found.healthy
    assert "HERE" in text and found.remedy, text
    assert repr(found) == text
    assert found.svg().startswith("<svg") and code in found._repr_html_()


@pytest.mark.parametrize("ask", [by_a_tape, by_a_trace, by_a_graph])
def test_a_healthy_gradient(ask):
    found = ask(lambda w: tf.reduce_sum(tf.tanh(w)))
    expected = np.linalg.norm(1 - np.tanh([1.0, 2.0, 3.0]) ** 2)
    assert found.connected and found.healthy and found.code == ""
    np.testing.assert_allclose(found.norm, expected, rtol=1e-5)
    assert "its norm is" in found.verdict
    assert [step.name for step in found.path] == ["tanh", "reduce_sum"]
    assert [step.norm for step in found.path] == pytest.approx([3**0.5, 1.0])


def test_the_norms_along_the_path_are_those_of_the_gradient():
    w = tf.Variable(tf.constant([1.0, -2.0, 3.0], tf.float64))
    with tf.GradientTape(persistent=True) as tape:
        a = tf.sin(w)
        b = a * a
        y = tf.reduce_sum(tf.exp(b))
    found = tape.explain(y, w)
    expected = [np.linalg.norm(tape.gradient(y, x)) for x in (a, b)]
    assert [step.norm for step in found.path][:2] == pytest.approx(expected)
    assert found.norm == pytest.approx(np.linalg.norm(tape.gradient(y, w)))


def test_most_units_are_dead():
    w = tf.Variable([-1.0, -2.0, -3.0, 4.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.nn.relu(w))
    found = tape.explain(y, w)
    assert found.healthy and "75% of its elements are 0" in found.verdict
    assert any("relu lets nothing through for 75%" in note for note in found.notes)


def test_early_steps_are_forgotten():
    w = tf.Variable(0.1)
    with tf.GradientTape() as tape:
        h = tf.constant(1.0)
        for _ in range(20):
            h = tf.tanh(w * h + 0.5)
    found = tape.explain(h, w)
    assert found.healthy
    assert any("through time it vanishes" in note and "20 uses" in note for note in found.notes)


def test_a_branch_that_was_not_taken():
    w = tf.Variable(2.0)

    @tf.function
    def f(x):
        if x > 0.0:
            return x * 3.0
        return x * w

    with tf.GradientTape() as tape:
        y = f(tf.constant(1.0))
    found = tape.explain(y, w)
    assert found.kind == "zero" and found.code == "TW352" and "branch" in found.verdict


def test_several_sources_in_one_answer():
    layers = [tf.Variable(0.01, name=f"layer{i}") for i in range(8)]
    with tf.GradientTape() as tape:
        h = tf.constant(1.0)
        for w in layers:
            h = tf.tanh(w * h)
        y = h * 1.0
    found = tape.explain(y, layers)
    text = str(found)
    assert "8 of 8 sources have a gradient" in text and "vanishing" in text
    assert text.count("try:") == 1 and "the same for" in text
    norms = [each.norm for each in found]
    assert all(f"{norm:.2e}" in text for norm in norms)


def test_a_gradient_that_was_taken_before_is_still_explained():
    w = tf.Variable([1.0, 0.0])
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(tf.sqrt(w))
    assert np.isinf(tape.gradient(y, w)[1])
    assert tape.explain(y, w).code == "TW345"


def test_nothing_is_changed():
    w = tf.Variable([1.0, 0.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.sqrt(w))
    tape.explain(y, w)
    np.testing.assert_array_equal(tape.gradient(y, w), [0.5, np.inf])
    np.testing.assert_array_equal(w, [1.0, 0.0])
