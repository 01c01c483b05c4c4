"""Sparse and ragged tensors in functions: what is known of them, and rows by index."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf

RAGGED = tf.ragged.constant([[1, 2], [], [3], [4, 5, 6]])
PAIRS = tf.RaggedTensor.from_row_splits(np.arange(12.0).reshape(6, 2), [0, 2, 2, 6])
DEEP = tf.ragged.constant([[[1], [2, 3]], [], [[4]]])


@pytest.mark.parametrize(
    ("rows", "indices", "wanted"),
    [
        (RAGGED, [3, 0], [[4, 5, 6], [1, 2]]),
        (RAGGED, [[3, 0], [2, 2]], [[[4, 5, 6], [1, 2]], [[3], [3]]]),
        (RAGGED, 2, [3]),
        (DEEP, [2, 0, 0], [[[4]], [[1], [2, 3]], [[1], [2, 3]]]),
        (PAIRS, [1, 0], [[], [[0.0, 1.0], [2.0, 3.0]]]),
        (RAGGED, tf.ragged.constant([[3], [0, 1]]), [[[4, 5, 6]], [[1, 2], []]]),
        (np.arange(5), tf.ragged.constant([[3], [0, 1]]), [[3], [0, 1]]),
    ],
)
def test_gather_of_ragged_rows(rows, indices, wanted):
    given = indices if isinstance(indices, tf.RaggedTensor) else tf.constant(indices)
    for call in (tf.gather, tf.function(lambda x, i: tf.gather(x, i))):
        found = call(rows, given)
        assert (found.to_list() if hasattr(found, "to_list") else found.numpy().tolist()) == wanted


@pytest.mark.parametrize("index", [4, -1])
def test_gather_outside(index):
    for call in (tf.gather, tf.function(lambda x, i: tf.gather(x, i))):
        with pytest.raises(tf.errors.InvalidArgumentError):
            call(RAGGED, tf.constant([index]))


def test_gradient_of_gathered_rows():
    values = tf.Variable(np.arange(6.0))
    with tf.GradientTape() as tape:
        rows = tf.gather(RAGGED.with_values(values), [3, 3, 0])
        total = tf.reduce_sum(rows.flat_values**2)
    np.testing.assert_array_equal(tape.gradient(total, values), [0, 2, 0, 12, 16, 20])


def test_one_trace_for_a_signature_of_composites():
    shapes = []

    @tf.function(input_signature=[tf.SparseTensorSpec([None, 4]), tf.TensorSpec([], tf.int32)])
    def dense(x, n):
        shapes.append(x.shape.as_list())
        return tf.sparse.to_dense(x) * tf.cast(n, tf.float32)

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None, 2], tf.float64, 1)])
    def padded(x):
        shapes.append((x.shape.as_list(), x.flat_values.shape.as_list()))
        return x.to_tensor()

    for size in (2, 3):
        assert dense(tf.sparse.from_dense(np.eye(4, dtype="f")[:size]), 1).shape == (size, 4)
    assert padded(PAIRS).shape == (3, 4, 2) and padded(PAIRS[:2]).shape == (2, 2, 2)
    assert shapes == [[None, 4], ([None, None, 2], [None, 2])]


def test_shapes_of_sparse_elements_are_known():
    dataset = tf.data.Dataset.from_tensor_slices(tf.sparse.from_dense(np.eye(4, dtype="f")))
    shapes = []

    def note(x):
        shapes.append(x.shape.as_list())
        return x

    assert list(dataset.batch(2).map(note).element_spec.shape) == [None, 4]
    assert shapes == [[None, 4]]


def test_one_branch_where_sizes_decide():
    @tf.function(input_signature=[tf.TensorSpec([None, 4])])
    def classes(y):
        return tf.__internal__.smart_cond.smart_cond(
            tf.shape(y)[-1] > 1, lambda: tf.argmax(y, -1), lambda: tf.squeeze(y, -1)
        )

    assert classes(np.eye(4, dtype="f")[:2]).numpy().tolist() == [0, 1]


def test_rows_of_a_tensor_of_unknown_size():
    ragged = tf.function(tf.RaggedTensor.from_tensor)
    spec = tf.TensorSpec([None, None])
    called = tf.function(lambda x: ragged(x), input_signature=[spec])
    assert called([[1.0, 2.0]]).to_list() == [[1.0, 2.0]]


@pytest.mark.parametrize("value", [RAGGED, DEEP, tf.sparse.from_dense([[0, 3], [4, 0]])])
def test_a_spec_says_what_parts_become(value):
    spec = tf.type_spec_from_value(value)
    parts = tf.nest.flatten([value, 1], expand_composites=True)
    assert len(tf.nest.flatten([spec, 1], expand_composites=True)) == len(parts)
    made, one = tf.nest.pack_sequence_as([spec, 0], parts, expand_composites=True)
    assert one == 1 and type(made) is type(value) and tf.type_spec_from_value(made) == spec


def test_what_both_branches_know_of_a_sparse_shape_is_known_after_them():
    @tf.function(input_signature=[tf.SparseTensorSpec([None, 3, 3]), tf.TensorSpec([])])
    def halved(x, y):
        result = tf.cond(
            y > 0.0,
            lambda: x.with_values(x.values / 2.0),
            lambda: x.with_values(x.values * 2.0),
        )
        assert result.shape.as_list() == [None, 3, 3]
        return tf.sparse.to_dense(result)

    x = tf.sparse.from_dense(tf.ones([2, 3, 3]))
    assert halved(x, tf.constant(1.0)).numpy().tolist() == np.full([2, 3, 3], 0.5).tolist()
