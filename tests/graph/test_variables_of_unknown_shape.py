"""Functions take sizes of variables whose shape is open from the run, not from the trace."""

import numpy as np
import pytest

import talweg as tf

CALLS = {
    "shape": lambda v: tf.shape(v),
    "size": lambda v: tf.size(v),
    "rank": lambda v: tf.rank(v),
    "eye": lambda v: tf.eye(tf.shape(v)[0]),
    "zeros": lambda v: tf.zeros(tf.shape(v)),
    "range": lambda v: tf.range(tf.shape(v)[0]),
    "reshape": lambda v: tf.reshape(v, [tf.shape(v)[1], -1]),
    "uniform": lambda v: tf.random.stateless_uniform(tf.shape(v), [1, 2]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("shape", [[None, 3], None])
def test_sizes_of_the_run(name, shape):
    v = tf.Variable(np.ones([13, 3]), shape=tf.TensorShape(shape))
    function = tf.function(lambda: CALLS[name](v))
    for size in (13, 14, 5):
        v.assign(np.ones([size, 3]))
        np.testing.assert_array_equal(function(), CALLS[name](tf.ones([size, 3])))


def test_shapes_of_gradients():
    v, w = (tf.Variable([1.0, 2.0], shape=tf.TensorShape(None)) for _ in range(2))

    @tf.function
    def gradients():
        with tf.GradientTape(persistent=True) as tape:
            y = tf.reduce_sum(v * v)
        zero = tf.UnconnectedGradients.ZERO
        return tape.gradient(v, v), tape.gradient(y, w, unconnected_gradients=zero)

    for value in ([1.0, 2.0], [[1.0], [2.0], [3.0]], 4.0):
        v.assign(value), w.assign(value)
        ones, zeros = gradients()
        np.testing.assert_array_equal(ones, np.ones_like(value))
        np.testing.assert_array_equal(zeros, np.zeros_like(value))


def test_tangents():
    v, w = (tf.Variable([1.0, 2.0], shape=[None]) for _ in range(2))

    @tf.function
    def tangents():
        with tf.autodiff.ForwardAccumulator(v.value(), tf.ones_like(v)) as accumulator:
            y, places = v * v, tf.argmax([tf.reduce_sum(v), 2.0])
        assert accumulator.jvp(places) is None
        return accumulator.jvp(y), accumulator.jvp(w, "zero")

    for value in ([1.0, 2.0], [1.0, 2.0, 3.0]):
        v.assign(value), w.assign(value)
        slope, zeros = tangents()
        np.testing.assert_array_equal(slope, 2 * np.array(value))
        np.testing.assert_array_equal(zeros, np.zeros(len(value)))


def test_tangents_of_what_is_kept_whole():
    n = tf.Variable([[3.0, 1.0], [1.0, 2.0]], shape=tf.TensorShape(None))

    @tf.function
    def place():
        x = n.value()
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = tf.argmax([x, 2.0])
        assert accumulator.jvp(y) is None
        return y

    n.assign(1.0)
    assert place().numpy() == 1


def test_slices_by_variables():
    i, w, u = tf.Variable(1), tf.Variable([1.0, 2.0, 5.0]), tf.Variable([1.0, 2.0], shape=[None])
    function = tf.function(lambda: (w[:i], w[i:], w[i], u[:i], u[i:], w[::i]))
    for number, value in ((1, [1.0, 2.0]), (2, [4.0, 5.0, 6.0])):
        i.assign(number), u.assign(value)
        a, b = np.array([1.0, 2.0, 5.0]), np.array(value)
        wanted = (a[:number], a[number:], a[number], b[:number], b[number:], a[::number])
        for got, expected in zip(function(), wanted):
            np.testing.assert_array_equal(got, expected)


def test_statistics_in_variables_of_a_wider_dtype():
    x, variance = tf.constant([[1.5, -2.0]], tf.float16), tf.Variable(2.0)
    y = tf.nn.batch_normalization(x, [0.25, 0.5], 1.0, None, variance, 1e-3)
    assert y.dtype == tf.float16
    np.testing.assert_array_equal(y, np.array([[2.498, -4.996]], np.float16))
    assert tf.strings.substr("abcd", 1, tf.Variable(2, dtype=tf.int64)).numpy() == b"bc"
