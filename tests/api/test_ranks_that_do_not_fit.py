"""Shapes whose ranks only a run knows are compared there."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

v1 = tf.compat.v1
F = tf.float32
REFUSED = tf.errors.InvalidArgumentError
executors = pytest.mark.parametrize("executor", ["interpret", "llvm"])


def run_function(executor, f, *shapes):
    """The result of f of ones in these shapes, of which the trace knows nothing."""
    g = tf.function(f, input_signature=[tf.TensorSpec(None, F)] * len(shapes))
    with settings.executor(executor):
        return np.asarray(g(*[tf.ones(shape) for shape in shapes]))


def run_graph(executor, f, *arrays):
    """The same in a session, of these arrays."""
    with settings.executor(executor), tf.Graph().as_default(), v1.Session() as session:
        places = [v1.placeholder(F) for _ in arrays]
        y = f(*places)
        session.run([v1.global_variables_initializer(), v1.local_variables_initializer()])
        return session.run(y, dict(zip(places, arrays)))


def push(x, tangent):
    with tf.autodiff.ForwardAccumulator(x, tangent) as accumulator:
        y = x * x
    return accumulator.jvp(y)


def pull(x, seed):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x, output_gradients=seed)


@executors
@pytest.mark.parametrize("derive", [push, pull])
def test_tangents_and_cotangents_have_their_tensors_shape(executor, derive):
    """They were broadcast: a gradient had another shape than its source."""
    assert run_function(executor, derive, [3], [3]).tolist() == [2.0] * 3
    for other in ([2], [1], [3, 1], []):
        with pytest.raises(REFUSED, match="TW204"):
            run_function(executor, derive, [3], other)


@executors
def test_tangents_and_cotangents_of_unknown_sizes(executor):
    specs = [tf.TensorSpec([None], F)] * 2
    for derive in (push, pull):
        g = tf.function(derive, input_signature=specs)
        with settings.executor(executor), pytest.raises(REFUSED, match="TW204"):
            g(tf.ones(3), tf.ones(1))


@executors
def test_grad_ys_are_broadcast_to_their_target(executor):
    def slopes(x, seed):
        return tf.gradients(x * x, x, grad_ys=seed)[0]

    ones = np.ones
    assert run_graph(executor, slopes, ones(3), ones(1)).tolist() == [2.0] * 3
    assert run_graph(executor, slopes, ones((2, 3)), ones(3)).tolist() == [[2.0] * 3] * 2
    for other in ([2], [3, 1]):
        with pytest.raises(REFUSED):
            run_graph(executor, slopes, ones(3), ones(other))


@executors
def test_metrics_take_a_last_axis_of_one_away(executor):
    """Labels [3] and predictions [3, 1] gave the errors of all pairs, instead of three."""
    labels, predictions = np.arange(3.0), np.array([[1.0], [1.0], [4.0]])

    def error(a, b):
        return v1.metrics.mean_squared_error(a, b)[1]

    assert run_graph(executor, error, labels, predictions) == pytest.approx(5 / 3)
    assert run_graph(executor, error, predictions, labels) == pytest.approx(5 / 3)
    for other in ([2], [1], [], [2, 3]):
        with pytest.raises(REFUSED):
            run_graph(executor, error, labels, np.ones(other))


@executors
def test_weights_of_metrics(executor):
    """Weights of unknown rank were a ValueError, as were those of values of unknown size."""

    def mean(x, weights):
        return v1.metrics.mean(x, weights=weights)[1]

    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 9.0]])
    wanted = (6 + 3 * 18) / 12
    for weights in ([1.0, 3.0], [[1.0], [3.0]], [[[1.0]] * 3, [[3.0]] * 3]):
        assert run_graph(executor, mean, x, np.array(weights)) == pytest.approx(wanted)
    assert run_graph(executor, mean, x, np.float32(2.0)) == pytest.approx(4.0)
    for other in ([3], [3, 1], [1, 2]):
        with pytest.raises(REFUSED):
            run_graph(executor, mean, x, np.ones(other))
    with tf.Graph().as_default(), v1.Session() as session:
        values = v1.placeholder(F, [None])
        update = v1.metrics.mean(values, weights=[1.0, 0.0, 1.0])[1]
        session.run(v1.local_variables_initializer())
        assert session.run(update, {values: [1.0, 2.0, 5.0]}) == 3.0


@executors
def test_losses_do_not_broadcast(executor):
    def loss(a, b):
        return v1.losses.mean_squared_error(a, b)

    assert run_graph(executor, loss, np.ones(3), np.zeros(3)) == 1.0
    with pytest.raises(REFUSED, match="mean_squared_error"):
        run_graph(executor, loss, np.ones(3), np.zeros((3, 1)))


@executors
def test_a_placeholder_with_default_has_the_shape_it_says(executor):
    """A compiled program met a shape that it was not made for: an InternalError."""

    def double(x):
        return v1.placeholder_with_default(x, [3]) * 2.0

    assert run_graph(executor, double, np.ones(3)).tolist() == [2.0] * 3
    with pytest.raises(REFUSED, match="TW204"):
        run_graph(executor, double, np.ones(1))


@executors
def test_ssim_of_unknown_ranks(executor):
    """Windows are larger than the sizes that a graph tried, and batches may be broadcast."""

    def similarity(a, b):
        return tf.image.ssim(a, b, 1.0)

    assert run_function(executor, similarity, [12, 12, 1], [12, 12, 1]) == 1.0
    assert run_function(executor, similarity, [2, 12, 12, 1], [12, 12, 1]).tolist() == [1.0] * 2
    with pytest.raises(REFUSED):
        run_function(executor, similarity, [12, 12, 1], [1, 12, 1])
    with pytest.raises(REFUSED):
        run_function(executor, similarity, [3, 12, 12, 1], [2, 12, 12, 1])


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: tf.broadcast_to(x, tf.shape(y)),
        lambda x, y: tf.transpose(x, tf.shape(y)),
        lambda x, y: tf.reshape(x, tf.shape(y)),
        lambda x, y: tf.reverse(x, tf.shape(y)),
    ],
)
def test_a_wrong_shape_is_no_fault_of_the_compiler(f):
    """Recipes of operations by a vector that is known while a program is specialised."""
    for executor in ("interpret", "llvm"):
        with pytest.raises(REFUSED):
            run_function(executor, f, [2], [3])
