"""Assignment to elements in traced functions."""

import numpy as np
import pytest

import talweg as tf
from tests.trace.autograph.support import agree


@pytest.mark.parametrize(
    "index",
    [0, -1, np.s_[1:], np.s_[:, 1], np.s_[1, 2], np.s_[..., -1], np.s_[::2, 1:], np.s_[::-1]],
    ids=str,
)
def test_elements_of_tensors_are_numpys(index):
    array = np.arange(12.0, dtype=np.float32).reshape(3, 4)

    @tf.function
    def run(x):
        x[index] = 100.0
        x[index] += 5.0
        return x

    array[index] = 105.0
    start = tf.constant(np.arange(12.0, dtype=np.float32).reshape(3, 4))
    np.testing.assert_array_equal(run(start), array)
    assert float(start[0, 0]) == 0.0


def test_masks_and_symbolic_indices():
    @tf.function
    def run(x, i):
        x[x > 2] = 0
        x[i] = 7
        x[i + 1 : i + 3] -= 1
        return x

    assert run(tf.constant([1, 2, 3, 4]), tf.constant(0)).numpy().tolist() == [7, 1, -1, 0]


def test_rows_are_broadcast():
    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def run(x):
        x[0] = 5.0
        x[1] = [1.0, 2.0]
        return x

    np.testing.assert_array_equal(run(tf.zeros([3, 2])), [[5, 5], [1, 2], [0, 0]])


def test_in_loops_and_branches():
    @tf.function
    def run(x):
        for i in tf.range(2):
            for j in tf.range(2):
                if i != j:
                    x[i, j] = i * 10 + j
        return x

    assert run(tf.zeros([2, 2], tf.int32)).numpy().tolist() == [[0, 1], [10, 0]]


def test_python_containers_are_changed_in_place():
    given = {"a": [1]}

    def run(x):
        items = [x, x]
        alias = items
        items[0] += 1
        items[1:] = [x * 3]
        given["a"][0] = 2
        return alias

    agree(run, 4)
    assert given == {"a": [2]}


def test_arrays_of_tensors():
    @tf.function
    def run(n):
        array = tf.TensorArray(tf.int32, size=3, clear_after_read=False)
        for i in tf.range(n):
            array[i] = i * 2
        return array.stack()

    assert run(tf.constant(3)).numpy().tolist() == [0, 2, 4]


def test_gradient():
    @tf.function
    def run(x, y):
        x[1] = y * 3.0
        return tf.reduce_sum(x * x)

    x, y = tf.constant([1.0, 2.0, 3.0]), tf.constant(5.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = run(x, y)
    dx, dy = tape.gradient(z, [x, y])
    assert dx.numpy().tolist() == [2.0, 0.0, 6.0] and float(dy) == 90.0
