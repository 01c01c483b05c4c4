"""Sums, means and extremes of segments, sparse sums and products: values, edges and errors."""

import numpy as np
import pytest

import talweg as tf

ROWS = np.arange(12, dtype="f8").reshape(6, 2) - 4
SORTED = [0, 0, 2, 2, 2, 5]


@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "float32", "float64", "int32", "int64"))
@pytest.mark.parametrize("ids", (tf.int32, tf.int64))
def test_means(dtype, ids):
    """The mean of integers drops its fraction; of no rows it is 0."""
    data, places = tf.cast(ROWS, dtype), tf.constant(SORTED, ids)
    wanted = np.zeros((6, 2))
    for segment in set(SORTED):
        wanted[segment] = ROWS[np.array(SORTED) == segment].mean(0)
    if data.dtype.is_integer:
        wanted = np.trunc(wanted)
    for function in (tf.math.segment_mean, tf.function(tf.math.segment_mean)):
        result = function(data, places)
        assert result.dtype == data.dtype
        np.testing.assert_allclose(result.numpy().astype("f8"), wanted, rtol=1e-2)


def test_means_of_complex_numbers_vectors_and_nothing():
    result = tf.math.segment_mean(tf.constant([1 + 2j, 3, 5j]), [0, 0, 2])
    np.testing.assert_allclose(result, [2 + 1j, 0, 5j])
    assert tf.math.segment_mean(tf.zeros([0, 3]), tf.zeros([0], tf.int32)).shape == (0, 3)
    assert tf.math.segment_mean(tf.zeros([2, 0]), [0, 3]).shape == (4, 0)
    odd = tf.math.segment_mean([[np.nan], [1.0], [np.inf]], [0, 1, 1])
    np.testing.assert_array_equal(odd, [[np.nan], [np.inf]])


def test_gradient_of_means():
    x = tf.constant(ROWS)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.math.segment_mean(x, SORTED) * np.arange(12.0).reshape(6, 2))
    weights = np.arange(12.0).reshape(6, 2)[SORTED] / np.bincount(SORTED)[SORTED][:, None]
    np.testing.assert_allclose(tape.gradient(y, x), weights)


@pytest.mark.parametrize("name", ("sum", "mean", "max", "min", "prod"))
def test_ids_that_are_refused(name):
    function = getattr(tf.math, f"segment_{name}")
    traced = tf.function(lambda data, ids: function(data, ids))
    for ids, message in (([1, 0], "not sorted"), ([-1, 0], "negative")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            function([1.0, 2.0], ids)
        with pytest.raises(tf.errors.InvalidArgumentError):
            traced(tf.constant([1.0, 2.0]), tf.constant(ids))
    with pytest.raises(tf.errors.InvalidArgumentError):
        function([1.0, 2.0], [0.0, 1.0])


SPARSE = np.zeros((3, 4, 2), "f4")
SPARSE[0, 1, 0], SPARSE[0, 3, 1], SPARSE[2, 0, 0], SPARSE[2, 3, 1] = 2, -3, 5, 7


@pytest.mark.parametrize("axis", (None, 0, 1, 2, -1, (0, 1), (0, 2), (1, 2), (0, 1, 2), ()))
@pytest.mark.parametrize("keepdims", (False, True))
def test_sparse_sums(axis, keepdims):
    x = tf.sparse.from_dense(SPARSE)
    wanted = SPARSE.sum(axis=axis, keepdims=keepdims)
    for function in (tf.sparse.reduce_sum, tf.function(tf.sparse.reduce_sum)):
        result = function(x, axis, keepdims)
        np.testing.assert_array_equal(result, wanted)
        assert result.shape == wanted.shape


def test_sparse_sums_of_nothing_and_outside():
    empty = tf.SparseTensor(np.zeros((0, 2), "i8"), np.zeros(0, "f4"), [2, 3])
    np.testing.assert_array_equal(tf.sparse.reduce_sum(empty, 1), [0, 0])
    for place in ([2, 0], [-1, 0]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
            tf.sparse.reduce_sum(tf.SparseTensor([place], [1.0], [2, 3]), 1)


def test_partitions_of_vectors_and_others():
    data = np.arange(12).reshape(2, 3, 2)
    ids = np.array([[0, 2, 0], [2, 2, 0]])
    for given, places in ((data, ids), (data.reshape(6, 2), ids.reshape(6)), (data[0], ids[0])):
        flat = given.reshape(places.size, -1)
        for part, result in enumerate(tf.dynamic_partition(given, places, 3)):
            np.testing.assert_array_equal(result, flat[places.reshape(-1) == part])
    for wrong in ([0, 3], [0, -1]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.dynamic_partition([1, 2], wrong, 3)
    assert [
        len(part) for part in tf.dynamic_partition(tf.zeros([0]), tf.zeros([0], tf.int32), 2)
    ] == [0, 0]
