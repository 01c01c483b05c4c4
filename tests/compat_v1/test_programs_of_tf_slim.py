"""What TF-Slim's own tests met: small parts of the first generation that programs use."""

from __future__ import annotations

import importlib

import pytest

import talweg.compat.v1 as tf


def test_sparse_tensors_are_evaluated_in_the_default_session():
    with tf.Graph().as_default(), tf.Session():
        ids = tf.placeholder(tf.int64, [2])
        value = tf.SparseTensor([[0], [2]], ids, [3]).eval({ids: [7, 8]})
    assert isinstance(value, tf.SparseTensorValue)
    assert value.values.tolist() == [7, 8]
    assert value.dense_shape.tolist() == [3]


def test_print_passes_texts_on(capsys):
    with tf.Graph().as_default(), tf.Session() as session:
        text = tf.Print(tf.constant(["a", "b"]), [tf.constant(3)], "seen: ")
        assert session.run(text).tolist() == [b"a", b"b"]
    assert "seen: [3]" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["FIFOQueue", "RandomShuffleQueue"])
def test_queues_want_shapes_that_are_fully_defined(kind):
    options = {"min_after_dequeue": 0} if kind == "RandomShuffleQueue" else {}
    with pytest.raises(ValueError, match="shapes must be fully defined"):
        getattr(tf.queue, kind)(capacity=3, dtypes=tf.int32, shapes=[[None, 3]], **options)
    tf.queue.PaddingFIFOQueue(3, tf.int32, shapes=[[None, 3]])


def test_the_rest_of_a_slice_from_beyond_the_end_is_an_error_of_the_graph():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="begin"):
            tf.slice(tf.constant([1, 2]), [3], [-1])
        with pytest.raises(tf.errors.InvalidArgumentError):  # TensorFlow sees this when it runs
            tf.slice(tf.constant([1, 2]), [3], [1])


def test_weights_of_predictions_of_unknown_rank():
    with tf.Graph().as_default(), tf.Session() as session:
        predictions, labels = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        weights = tf.constant([[1, 2, 3, 4], [4, 3, 2, 1]])
        _, update = tf.metrics.precision(labels, predictions, weights)
        session.run(tf.local_variables_initializer())
        given = {
            predictions: [[1, 0, 1, 0], [1, 0, 1, 0]],
            labels: [[0, 1, 1, 0], [1, 0, 0, 1]],
        }
        assert session.run(update, given) == pytest.approx(0.7)


def test_weights_of_any_dtype_and_a_k_that_is_not_known():
    module = importlib.import_module("talweg.compat_v1.metrics.top_k")
    with tf.Graph().as_default(), tf.Session() as session:
        scores = tf.constant([[0.1, 0.9], [0.2, 0.8]])
        labels = tf.constant([[1], [0]], tf.int64)
        _, update = tf.metrics.recall_at_k(labels, scores, 1, weights=tf.constant([1.0, 3.0]))
        session.run(tf.local_variables_initializer())
        assert session.run(update) == 0.25
        with pytest.raises(ValueError, match="predictions_idx"):
            module.average_precision_at_top_k(labels, tf.placeholder(tf.int64, [2, None]))
        with pytest.raises(ValueError, match="predictions_idx"):
            module.average_precision_at_top_k(labels, (2, 1))


def test_assertions_say_that_they_failed_as_tensorflow_does():
    with tf.Graph().as_default(), tf.Session() as session:
        check = tf.assert_equal(tf.placeholder_with_default([1, 2], [2]), [1, 3])
        with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed: Condition x"):
            session.run(check)


def test_layers_of_users_add_to_their_weights():
    class Doubled(tf.layers.Layer):
        def call(self, inputs):
            w = tf.get_variable("w", [])
            self._trainable_weights.append(w)
            return inputs * w

    with tf.Graph().as_default():
        layer = Doubled()
        layer(tf.ones([2]))
        assert [w.name for w in layer.trainable_weights] == ["doubled/w:0"]


def test_devices_are_equal_however_they_are_written():
    case = tf.test.TestCase()
    case.assertDeviceEqual("/device:cpu:0", "cpu:0")
    case.assertDeviceEqual("/job:ps/task:0/cpu:0", "/job:ps/task:0/device:CPU:0")
    with pytest.raises(AssertionError):
        case.assertDeviceEqual("cpu:0", "cpu:1")


def test_private_helpers_of_graphs():
    framework = importlib.import_module("talweg.private.framework")
    first, second = tf.Graph(), tf.Graph()
    with first.as_default():
        a = tf.constant(0.0)
    with second.as_default():
        b = tf.constant(1.0)
    assert framework._get_graph_from_inputs([a]) is first
    with pytest.raises(ValueError, match="must be from the same graph"):
        framework._get_graph_from_inputs([a, b])
    with pytest.raises(ValueError, match="not from the passed-in graph"):
        framework._get_graph_from_inputs([a], second)
