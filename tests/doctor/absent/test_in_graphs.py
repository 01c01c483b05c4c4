"""`tf.gradients(..., unconnected_gradients=ERROR)`, functions, and what optimizers log."""

from __future__ import annotations

import logging

import pytest

import talweg
import talweg.compat.v1 as tf


def refusal(ys, xs, **options):
    with pytest.raises(ValueError, match="There is no gradient") as caught:
        tf.gradients(ys, xs, unconnected_gradients="error", **options)
    return str(caught.value)


def variable(name, value=1.0):
    return tf.get_variable(name, initializer=value)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_round():
    w = variable("w")
    y = tf.square(tf.round(w * 2.0))  # HERE
    text = refusal(y, [w])
    assert "TW324" in text and "HERE" in text and "straight-through" in text and "mul" in text


def test_not_used():
    w, b = variable("w"), variable("b")
    text = refusal(b * 2.0, w)
    assert "TW314" in text and "w was never used" in text


def test_stop_gradients_argument():
    w = variable("w")
    middle = w * 2.0  # HERE
    text = refusal(tf.square(middle), w, stop_gradients=[middle])
    assert "TW327" in text and "HERE" in text


def test_assignment_behind_a_control_dependency():
    w, v = variable("w"), variable("v")
    with tf.control_dependencies([v.assign(w * 2.0)]):  # HERE
        y = v.read_value() * 3.0
    text = refusal(y, w)
    assert "TW328" in text and "HERE" in text


def test_integer_placeholder():
    n = tf.placeholder(tf.int32, [])  # HERE
    text = refusal(tf.cast(n, tf.float32), n)
    assert "TW323" in text and "HERE" in text


def test_replaced_by_a_tensor():
    w = variable("w")
    y = w * w
    w = w - 0.1 * tf.gradients(y, w)[0]  # HERE
    text = refusal(y, w)
    assert "TW329" in text and "HERE" in text


def test_exchanged():
    w = variable("w")
    x = tf.identity(w)
    y = x * x
    assert "TW337" in refusal(x, y)


def test_both_branches_are_blocked():
    w, flag = variable("w"), tf.placeholder(tf.bool, [])
    y = tf.cond(flag, lambda: tf.round(w), lambda: tf.floor(w)) * 2.0  # HERE
    text = refusal(y, w)
    assert "TW324" in text and "HERE" in text and "cond" in text or "branch" in text


def test_numpy_function():
    w = variable("w")
    y = tf.py_func(lambda a: a, [w * 2.0], tf.float32)  # HERE
    text = refusal(y, w)
    assert "TW321" in text and "HERE" in text


# -- optimizers


def test_an_optimizer_says_once_why_a_gradient_is_none(caplog):
    w, b = variable("w"), variable("b")
    loss = tf.square(tf.round(w)) + tf.square(b)  # HERE
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    with caplog.at_level(logging.WARNING, logger="talweg"):
        for _ in range(3):
            optimizer.apply_gradients(optimizer.compute_gradients(loss, [w, b]))
    lines = [record.getMessage() for record in caplog.records if record.name == "talweg"]
    assert len(lines) == 1
    assert "TW324" in lines[0] and "HERE" in lines[0] and "w" in lines[0] and "\n" not in lines[0]


def test_explanations_as_values():
    w, b = variable("w"), variable("b")
    loss = tf.round(w) * b  # HERE
    found = talweg.explain_gradients(loss, [w, b])
    assert [each.code for each in found] == ["TW324", ""]
    assert "HERE" in found[0].lines[0].source
    assert talweg.explain_gradients(loss, b).connected


def test_a_custom_gradient_that_gave_none():
    @talweg.custom_gradient
    def f(x):
        return x * 2.0, lambda upstream: None

    w = variable("w")
    y = f(w * 1.0)  # HERE
    text = refusal(y, w)
    assert "TW333" in text and "HERE" in text


def test_an_array_that_a_session_gave():
    w = variable("w")
    prediction = w * 2.0
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        array = session.run(prediction)  # HERE
    loss = tf.square(tf.constant(array) - 1.0)
    text = refusal(loss, w)
    assert "TW320" in text and "HERE" in text


def test_unknown_sizes_are_question_marks():
    x = tf.placeholder(tf.float32, [None, 3])
    found = talweg.explain_gradients(tf.reduce_sum(tf.round(x)), x)
    assert found.breaking.value == "float32[?, 3]"


def test_the_result_of_a_loop_that_leads_on_is_shown():
    w = variable("w")
    _, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * w), (0, w))
    found = talweg.explain_gradients(y, w)
    assert found.connected and found.path[0].value == "float32[]"
