"""`TensorArray.grad`: what it refuses; its values are recorded programs (`v1/frozen_arrays.py`)."""

import numpy as np
import pytest

import talweg as tf

v1 = tf.compat.v1


def array():
    return v1.TensorArray(tf.float32, 3).unstack(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))


def test_an_array_of_gradients_is_a_value():
    with tf.Graph().as_default(), v1.Session() as session:
        values = array()
        first = values.grad("a").write(0, [1.0, 1.0])
        second = values.grad("a").write(0, [2.0, 2.0])
        found = session.run([first.stack(), second.read(0), second.read(2), first.size()])
        rows = [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
        for got, wanted in zip(found, [rows, [2.0, 2.0], [0.0, 0.0], 3]):
            np.testing.assert_array_equal(got, wanted)


def test_it_has_a_derivative():
    with tf.Graph().as_default(), v1.Session() as session:
        x = tf.constant([1.0, 2.0])
        total = array().grad("a").scatter([0, 0], tf.stack([x, x * 3.0])).read(0)
        (slope,) = tf.gradients(total * total, x)
        np.testing.assert_array_equal(session.run(slope), [32.0, 64.0])


@pytest.mark.parametrize(
    ("error", "act"),
    [
        (ValueError, lambda: array().grad("a").write(0, [1.0])),
        (tf.errors.InvalidArgumentError, lambda: array().grad("a").grad("b")),
        (tf.errors.InvalidArgumentError, lambda: array().grad("a").write(3, [1.0, 1.0]).read(0)),
        (tf.errors.InvalidArgumentError, lambda: array().grad("a").write(0, tf.constant([1, 1]))),
    ],
)
def test_it_refuses_what_fits_no_element(error, act):
    with tf.Graph().as_default(), v1.Session() as session, pytest.raises(error):
        session.run(act())


def test_there_is_none_in_eager_mode():
    with pytest.raises(NotImplementedError, match="executing eagerly"):
        tf.TensorArray(tf.float32, 3).grad("a")
