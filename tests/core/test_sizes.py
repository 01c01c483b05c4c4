"""Symbolic sizes: what is decided while a graph is built, and what they are when it runs."""

import numpy as np
import pytest

import talweg.compat.v1 as tf
from talweg.api.arguments import integers, resolve_shape
from talweg.core.dim_walks import evaluate
from talweg.core.dims import below, differ, largest, resolve_size, same, smallest
from talweg.core.errors import NeedsStaticError


@pytest.fixture
def sizes():
    """Two unknown sizes and an unknown number, which may be negative."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, None])
        n = tf.placeholder(tf.int32, [])
        yield (*x.dims, integers(n, "test", "n")[0])


def test_bounds_decide(sizes):
    a, b, n = sizes
    assert not below(a, 0)
    assert below(-a - 1, 0)
    assert differ(a + b + 1, 0)
    assert not differ(n + 1, 0)
    assert same(largest(a, 0), a)
    assert same(smallest(a, -1), -1)
    assert not below((a + 1) // 2, 0)
    assert not below(a % 4, 0)
    assert below(a % 4, 4)
    with pytest.raises(NeedsStaticError):
        bool(n < 0)


def test_equal_functions_are_one(sizes):
    a, b, _ = sizes
    assert (a // 2) * b == b * (a // 2)
    assert largest(a, b) == largest(a, b)
    halves = (a // 2) * (b // 2)
    assert halves // (b // 2) == a // 2  # which of the two it is is asked without their values


def test_a_size_that_may_be_minus_1(sizes):
    a, b, n = sizes
    assert resolve_size(a, a * b, b) is a
    found = resolve_size(n, 12, 3)
    for given, wanted in ((-1, 4), (4, 4), (0, 0)):
        assert evaluate(found, lambda atom, given=given: given) == wanted


def test_shapes_with_symbolic_sizes(sizes):
    a, b, n = sizes
    assert resolve_shape([a, -1], a * b, "test") == (a, b)
    assert resolve_shape([3, -1], 12, "test") == (3, 4)
    rows, columns = resolve_shape([n, 3], 12, "test")
    assert columns == 3 and not below(rows, 0)


def test_unknown_height_of_a_convolution():
    """Convolution, pooling and their gradients with every size unknown."""
    image = np.arange(2 * 5 * 4 * 3, dtype=np.float32).reshape(2, 5, 4, 3) / 100
    kernel = np.ones((3, 3, 3, 2), np.float32)

    def network(x):
        y = tf.nn.conv2d(x, filters=kernel, strides=2, padding="SAME")
        return tf.nn.max_pool2d(tf.nn.relu(y), 2, 1, "VALID")

    def gradient(shape):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, shape)
            y = network(x)
            g = tf.gradients(y, x)[0]
            return y.shape.as_list(), session.run([y, g], {x: image})

    static, wanted = gradient([2, 5, 4, 3])
    unknown, found = gradient([None, None, None, 3])
    assert (static, unknown) == ([2, 2, 1, 2], [None, None, None, 2])
    for a, b in zip(wanted, found):
        np.testing.assert_allclose(a, b, rtol=1e-6)
