"""The variables of tf.metrics have TensorFlow's names; labels may be values of sparse tensors."""

from __future__ import annotations

import numpy as np
import pytest

import talweg.compat.v1 as tf

METRICS = tf.metrics
CASES = {
    "mean_accuracy/total mean_accuracy/count": lambda x, n: METRICS.mean_per_class_accuracy(
        n, n, 3
    ),
    "true_positives/count": lambda x, n: METRICS.true_positives(x, x),
    "false_negatives/false_negatives": lambda x, n: METRICS.false_negatives_at_thresholds(
        x, x, [0.1]
    ),
    "precision/true_positives/count precision/false_positives/count": (
        lambda x, n: METRICS.precision(x, x)
    ),
    "auc/true_positives auc/false_negatives auc/true_negatives auc/false_positives": (
        lambda x, n: METRICS.auc(x, x)
    ),
    "recall_at_2_class1/true_positive_at_2_class1 recall_at_2_class1/false_negative_at_2_class1": (
        lambda x, n: METRICS.recall_at_k(n[:, None], tf.stack([x, x], 1), 2, class_id=1)
    ),
    "precision_at_k/true_positive_at_k precision_at_k/false_positive_at_k": (
        lambda x, n: METRICS.precision_at_top_k(n[:, None], n[:, None])
    ),
}


@pytest.mark.parametrize("names", CASES)
def test_variables_have_tensorflows_names(names):
    with tf.Graph().as_default(), tf.variable_scope("outer"):
        x, n = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int64, [2])
        CASES[names](x, n)
        found = [variable.op.name for variable in tf.local_variables()]
    assert found == [f"outer/{name}" for name in names.split()]


def test_labels_are_a_value_of_a_sparse_tensor():
    labels = tf.SparseTensorValue(
        np.array([[0, 0], [1, 0]], np.int64), np.array([1, 0], np.int64), np.array([2, 1], np.int64)
    )
    with tf.Graph().as_default(), tf.Session() as session:
        value, update = METRICS.recall_at_k(labels, tf.constant([[0.1, 0.9], [0.2, 0.8]]), 1)
        session.run(tf.local_variables_initializer())
        assert session.run(update) == session.run(value) == 0.5
