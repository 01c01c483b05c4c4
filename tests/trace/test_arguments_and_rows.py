"""Arguments named with an underscore; rows of ragged tensors known when a function runs."""

import numpy as np
import pytest

import talweg as tf


def test_arguments_may_begin_with_an_underscore():
    """`lambda x, _: ...` raised ValueError: a placeholder may not be called so."""
    first = tf.function(lambda x, _: x + 1)
    assert float(first(1.0, tf.constant(2.0))) == 2
    second = tf.function(lambda __a, _b, _1: __a - _b * _1)
    assert float(second(tf.constant(1.0), tf.constant(2.0), tf.constant(3.0))) == -5
    third = tf.function(lambda _: _ * 2, input_signature=[tf.TensorSpec([])])
    assert float(third(1.0)) == 2


MADE = {
    "from_row_lengths": [3, 0, 5, 4],
    "from_row_splits": [0, 3, 3, 8, 12],
    "from_value_rowids": [0, 0, 0, 2, 2, 2, 2, 2, 3, 3, 3, 3],
}


@pytest.mark.parametrize("make", MADE)
def test_rows_of_values_whose_number_is_not_known(make):
    """It was refused: "row_lengths divides 12 values, but there are None"."""

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def sums(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            rows = getattr(tf.RaggedTensor, make)(tf.reshape(x, [-1]), MADE[make])
            total = tf.reduce_sum(tf.reduce_sum(rows, 1) ** 2)
        return rows.to_tensor(), tape.gradient(total, x)

    x = np.arange(12.0, dtype=np.float32)
    dense, gradient = sums(x.reshape(4, 3))
    assert dense.numpy().tolist() == [
        [0, 1, 2, 0, 0],
        [0, 0, 0, 0, 0],
        [3, 4, 5, 6, 7],
        [8, 9, 10, 11, 0],
    ]
    np.testing.assert_allclose(gradient.numpy().ravel(), [6] * 3 + [50] * 5 + [76] * 4)
    with pytest.raises(tf.errors.InvalidArgumentError):
        sums(np.ones([4, 4], np.float32))


@pytest.mark.parametrize("row", [0, 1, 3, -1, -4])
def test_a_row_of_known_rows_that_only_a_run_knows(row):
    """`map_fn` over a ragged tensor made inside a function raised TypeError."""
    lengths = [3, 1, 5, 3]

    @tf.function
    def of(x, row):
        rows = tf.RaggedTensor.from_row_lengths(x, lengths)
        with tf.GradientTape() as tape:
            tape.watch(x)
            made = tf.RaggedTensor.from_row_lengths(x, lengths)
            cubes = tf.map_fn(lambda q: tf.reduce_sum(q**3), made, fn_output_signature=tf.float32)
            total = tf.reduce_sum(cubes)
        return rows[row], tape.gradient(total, x)

    x = np.arange(12.0, dtype=np.float32)
    chosen, gradient = of(tf.constant(x), tf.constant(row))
    ends = np.cumsum(lengths)
    end = ends[row]
    np.testing.assert_array_equal(chosen, x[end - lengths[row] : end])
    np.testing.assert_allclose(gradient, 3 * x**2)
    with pytest.raises((tf.errors.InvalidArgumentError, IndexError)):
        of(tf.constant(x), tf.constant(4))
