"""Checking gradients: right ones pass, wrong ones are found to the element, jumps to the line."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.uniform(0.3, 0.8, (3, 4)), RANDOM.uniform(0.3, 0.8, (3, 4))
SQUARE = RANDOM.standard_normal((3, 3))
POSITIVE = SQUARE @ SQUARE.T + np.eye(3)


def custom_loss(y_true, y_pred):
    """The loss of the second seed, with its switch of formulas."""
    error = tf.abs(y_true - y_pred)
    if tf.reduce_mean(error) > 0.5:  # the switch
        return tf.square(error)
    else:
        return error


RIGHT = {
    "tanh": (tf.tanh, [X]),
    "power": (tf.pow, [X, Y]),
    "softmax": (tf.nn.softmax, [X]),
    "attention": (lambda q, k: tf.nn.softmax(q @ tf.transpose(k)) @ k, [X, Y]),
    "inverse": (tf.linalg.inv, [POSITIVE]),
    "complex": (lambda z: tf.abs(z) ** 2, [tf.constant([1 + 2j, 0.5j])]),
    "analytic": (lambda z: tf.exp(z) * z, [tf.constant(1 + 2j)]),
    "nest": (lambda d: d["a"] * d["b"], [{"a": tf.constant(1.0), "b": tf.constant(2.0)}]),
    "two results": (lambda x: (tf.sin(x), {"b": tf.cos(x)}), [X]),
    "integer beside": (tf.gather, [X, tf.constant([1, 0])]),
    "small and large": (tf.sqrt, [[1e-8, 1e8]]),
    "relu beside its kink": (tf.nn.relu, [X - 0.55]),
    "huber": (lambda x: tf.where(tf.abs(x) > 0.5, tf.abs(x) - 0.25, x * x), [X]),
    "loop": (
        tf.function(
            lambda x: tf.while_loop(
                lambda i, a: i < 5, lambda i, a: (i + 1, 2.0 * tf.sin(a)), [0, x]
            )[1]
        ),
        [X],
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name):
    f, args = RIGHT[name]
    found = tf.check_gradients(f, args)
    assert found and found.verdict == "right" and found.code == "", str(found)
    assert found.error < 1e-6 and found.dtype == "float64"


def test_symmetric_arguments():
    """Cholesky reads one triangle: only symmetric changes are changes of its argument."""
    found = tf.check_gradients(tf.linalg.cholesky, [POSITIVE])
    assert found and "symmetric" in found.note


def test_what_the_complex_step_is_for():
    exact = tf.check_gradients(tf.exp, [X]).comparisons[0]
    assert exact.complex_step == pytest.approx(exact.reverse, rel=1e-14)
    assert tf.check_gradients(tf.abs, [X]).comparisons[0].complex_step is None


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_the_loss_of_the_seed_jumps(wrap, executor):
    with settings.executor(executor):
        found = tf.check_gradients(wrap(custom_loss), [[1.0, 2.0], [1.4, 2.7]])
        assert (found.verdict, found.code) == ("jump", "TW361")
        nearest = found.switches[0]
        assert 0 < nearest.distance < 0.1 and nearest.operation == "greater"
        assert found.place.source.endswith("# the switch")
        assert "Huber" in found.cure
        at = tf.check_gradients(wrap(custom_loss), [[1.0, 2.0], [1.5, 2.5]])
        assert at.switches[0].distance == 0 and at.place == found.place
        far = tf.check_gradients(wrap(custom_loss), [[1.0, 2.0], [9.0, 9.0]])
        assert far, str(far)


def test_how_near_is_near():
    args = [[1.0, 2.0], [1.3, 2.5]]
    assert tf.check_gradients(custom_loss, args, near=0.01)
    assert not tf.check_gradients(custom_loss, args, near=0.2)
    assert tf.check_gradients(custom_loss, args, near=0)


def test_an_operation_that_jumps_by_itself():
    found = tf.check_gradients(tf.round, [[0.45, 2.2]])
    assert found.verdict == "jump" and found.switches[0].operation == "round"
    assert "straight-through" in found.cure
    assert found.switches[0].size == pytest.approx(
        abs(found.switches[0].above - found.switches[0].below)
    )


def test_the_worst_element_of_many():
    @tf.custom_gradient
    def almost(x):
        one = tf.one_hot(77, 1000, dtype=x.dtype)
        return tf.sin(x), lambda g: g * tf.cos(x) * (1.0 + 0.01 * one)

    x = RANDOM.standard_normal(1000)
    found = tf.check_gradients(lambda x: tf.reduce_sum(almost(x)), [x])
    assert found.verdict == "wrong" and found.worst.index == (77,)
    assert found.worst.analytic / found.worst.numeric == pytest.approx(1.01, rel=1e-5)
    assert "custom gradient of almost" in found.cause


@pytest.mark.parametrize("factor", [1.001, -1.0, 0.0])
def test_wrong_by_any_factor(factor):
    @tf.custom_gradient
    def wrong(x):
        return x * x, lambda g: factor * 2.0 * g * x

    found = tf.check_gradients(lambda x: wrong(x), [[0.5, 2.0]])
    assert not found and found.verdict == "wrong" and found.worst.source == "x"


def test_in_float32():
    w = tf.Variable(RANDOM.standard_normal((4, 5)).astype("f4"), name="w")
    before = w.numpy()
    found = tf.check_gradients(
        lambda x: tf.tanh(x @ w), [tf.constant(X, tf.float32)], variables=[w]
    )
    assert found and found.dtype == "the dtypes given" and found.error < 1e-2
    assert (w.numpy() == before).all()
    found = tf.check_gradients(
        lambda: tf.reduce_sum(tf.square(w)) * tf.stop_gradient(w[0, 0]), variables=[w]
    )
    assert found.verdict == "wrong" and found.worst.source == "w" and found.worst.index == (0, 0)
    assert "stop_gradient" in found.cause


def test_variables_come_back_after_an_error():
    w = tf.Variable([1.0])

    def fragile(x):
        if float(w[0]) != 1.0:
            raise KeyError("moved")
        return x * w

    with pytest.raises(KeyError):
        tf.check_gradients(fragile, [[1.0]], variables=[w])
    assert w.numpy() == [1.0]


def test_near_a_singular_point_is_no_jump():
    assert tf.check_gradients(tf.math.log, [[1.0, 1e-9]])
    assert tf.check_gradients(lambda x: tf.math.log(x), [[1.0, -2.0]]).verdict == "not finite"


def test_nothing_to_check():
    with pytest.raises(ValueError, match=r"gives nothing that has a derivative"):
        tf.check_gradients(tf.argmax, [[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"nothing to differentiate by"):
        tf.check_gradients(lambda n: n, [tf.constant(1)])


def test_against_tf_test():
    """`tf.test.compute_gradient` gives both Jacobians, as in TensorFlow."""
    exact, estimated = tf.test.compute_gradient(tf.tanh, [tf.constant([0.5, -1.0])])
    assert np.allclose(exact[0], estimated[0], atol=1e-3)
    assert np.allclose(np.diag(exact[0]), 1 - np.tanh([0.5, -1.0]) ** 2)


def test_prints():
    found = tf.check_gradients(custom_loss, [[1.0, 2.0], [1.4, 2.7]])
    text = str(found)
    assert text.splitlines()[0] == (
        "the gradient is right, but the function jumps near by  [TW361]"
    )
    assert "# the switch" in text and repr(found) == text
    assert "TW361" in found._repr_html_()


def test_in_a_graph():
    """What is checked runs eagerly, whatever graph is in force."""
    with tf.Graph().as_default():
        assert tf.check_gradients(tf.tanh, [np.array([0.5])])
