"""Places and sizes computed from integers wrap round as the dtype does, wherever they are computed.

Eagerly, interpreted and compiled, in functions and graphs; the values are TensorFlow's.
"""

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

QUARTER = 2**30
X = np.array([1.0, 2.0, 3.0], np.float32)
I32 = np.int32(QUARTER)
CASES = {  # a function of numbers and an integer; the integer; what TensorFlow 2.21 gives
    "an index": (lambda x, i: x[4 * i + 1], I32, 2.0),
    "a sum": (lambda x, i: x[i + i + i + i + 1], I32, 2.0),
    "a difference": (lambda x, i: x[(-i - i) - i - i + 2], I32, 3.0),
    "a quotient of a product": (lambda x, i: x[(4 * i) // 2], I32, 1.0),
    "a remainder of a product": (lambda x, i: x[(4 * i + 5) % 3], I32, 3.0),
    "a maximum": (lambda x, i: x[tf.maximum(2 * i, 1)], I32, 2.0),
    "of 64 bits": (lambda x, i: x[4 * i + 1], np.int64(2**62), 2.0),
    "a bound": (lambda x, i: x[: 4 * i + 2], I32, [1.0, 2.0]),
    "tf.slice": (lambda x, i: tf.slice(x, [4 * i + 1], [4 * i + 1]), I32, [2.0]),
    "tf.gather": (lambda x, i: tf.gather(x, 4 * i + 1), I32, 2.0),
    "tf.zeros": (lambda x, i: tf.zeros([4 * i + 2]), I32, [0.0, 0.0]),
    "tf.fill": (lambda x, i: tf.fill([4 * i + 2], 1.0), I32, [1.0, 1.0]),
    "tf.broadcast_to": (lambda x, i: tf.broadcast_to(1.0, [4 * i + 2]), I32, [1.0, 1.0]),
    "tf.tile": (lambda x, i: tf.tile(x[:1], [4 * i + 2]), I32, [1.0, 1.0]),
    "tf.pad": (lambda x, i: tf.pad(x[:1], [[4 * i + 1, 0]]), I32, [0.0, 1.0]),
    "tf.one_hot": (lambda x, i: tf.one_hot(0, 4 * i + 2), I32, [1.0, 0.0]),
    "tf.range": (lambda x, i: tf.range(i * i), np.int32(65536), []),
}


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
@pytest.mark.parametrize("shapes", ["known", "unknown"])
@pytest.mark.parametrize("name", CASES)
def test_integers_wrap_in_functions(name, shapes, executor):
    function, integer, wanted = CASES[name]
    kinds = [tf.TensorSpec([None] if shapes == "unknown" else [3], tf.float32)]
    kinds.append(tf.TensorSpec([], tf.as_dtype(integer.dtype)))
    with settings.executor(executor):
        given = tf.function(function, input_signature=kinds)(X, integer)
    np.testing.assert_array_equal(given, wanted)


@pytest.mark.parametrize("name", CASES)
def test_integers_wrap_eagerly_and_in_graphs(name):
    function, integer, wanted = CASES[name]
    np.testing.assert_array_equal(function(tf.constant(X), tf.constant(integer)), wanted)
    with tf.Graph().as_default():
        places = [tf.compat.v1.placeholder(tf.as_dtype(x.dtype)) for x in (X, integer)]
        found = function(*places)
        with tf.compat.v1.Session() as session:
            np.testing.assert_array_equal(
                session.run(found, dict(zip(places, (X, integer)))), wanted
            )


def test_a_size_multiplied_by_much_wraps():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def places(x):
        return tf.zeros([tf.shape(x)[0] * 2**30 * 2 + 1])

    assert places([1.0, 2.0]).shape == [1]
