"""Calls that graphs keep whole are tried with small made-up composites, whatever their sizes."""

import tracemalloc

import numpy as np

import talweg as tf
from talweg.core import settings

MOST = 60 << 20  # bytes; the values are 4 MB


def peak_of_trace(function, argument):
    tracemalloc.start()
    try:
        function.get_concrete_function(argument)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_ragged_rows_of_a_trial_have_equal_lengths():
    """All values once lay in the first row: padded, 1,000 rows of 1,000,000 places."""
    rows = 1_000
    values = np.zeros(rows * rows, np.float32)
    ragged = tf.RaggedTensor.from_uniform_row_length(values, rows)
    ragged = tf.RaggedTensor.from_row_splits(values, ragged.row_splits)
    assert peak_of_trace(tf.function(lambda x: x.to_tensor()), ragged) < MOST
    nested = tf.RaggedTensor.from_row_splits(ragged, [0, 400, 1_000])
    assert peak_of_trace(tf.function(lambda x: x.to_tensor()), nested) < MOST


def test_places_of_a_sparse_trial_are_spread():
    count = 100_000
    indices = np.stack([np.arange(count), np.arange(count)], 1)
    sparse = tf.SparseTensor(indices, np.ones(count, np.float32), [count, count])
    for call in (
        tf.sparse.to_dense,
        tf.sparse.softmax,
        lambda x: tf.sparse.segment_sum(tf.reshape(x.values, [-1, 1]), [0, 1], [0, 0]),
    ):
        assert peak_of_trace(tf.function(call), sparse) < MOST


def test_the_call_itself_sees_its_own():
    ragged = tf.ragged.constant([[1.0, 2.0, 3.0], [], [4.0]])
    sparse = tf.sparse.from_dense([[0.0, 5.0], [6.0, 0.0]])
    assert tf.function(lambda x: x.to_tensor())(ragged).numpy().tolist() == [
        [1.0, 2.0, 3.0],
        [0.0, 0.0, 0.0],
        [4.0, 0.0, 0.0],
    ]
    assert tf.function(tf.sparse.to_dense)(sparse).numpy().tolist() == [[0.0, 5.0], [6.0, 0.0]]


def test_ranks_that_fit_by_broadcasting_are_seen():
    """Only numbers fitted when all made-up sizes were 2; the weights were taken for one always."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        weights = v1.placeholder(tf.float32)
        loss = v1.losses.mean_squared_error(tf.zeros([2, 3]), tf.ones([2, 3]), weights=weights)
        each = v1.losses.compute_weighted_loss(
            tf.ones([2, 3]), weights, reduction=v1.losses.Reduction.NONE
        )
        for value in (np.ones([2, 1]), 1.0, np.ones([2, 3])):
            for executor in ("interpret", "llvm"):
                with settings.executor(executor):
                    got = session.run([loss, each], {weights: value})
                    assert got[0] == 1 and got[1].shape == (2, 3)
