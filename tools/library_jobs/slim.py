"""TF-Slim."""

from __future__ import annotations

import tempfile

import numpy as np
import tensorflow.compat.v1 as tf
import tf_slim as slim

tf.disable_v2_behavior()
X = np.linspace(-1, 1, 8 * 8 * 8 * 3).reshape(8, 8, 8, 3).astype("float32")


def network(images):
    """Convolutions under an arg_scope (its batch normalization wants an older tf_keras)."""
    start = tf.constant_initializer(0.02)
    with slim.arg_scope(
        [slim.conv2d, slim.fully_connected],
        weights_initializer=start,
        weights_regularizer=slim.l2_regularizer(0.1),
    ):
        net = slim.conv2d(images, 4, [3, 3], scope="first")
        net = slim.max_pool2d(net, [2, 2], scope="pool")
        net = slim.repeat(net, 2, slim.conv2d, 4, [3, 3], scope="more")
        net = slim.flatten(net)
        return slim.fully_connected(net, 2, activation_fn=None, scope="logits")


def job_train():
    """`slim.learning.train` with summaries left out, and the checkpoint it writes."""
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        labels = tf.one_hot(np.arange(8) % 2, 2)
        slim.losses.softmax_cross_entropy(network(tf.constant(X)), labels)
        total = slim.losses.get_total_loss()
        train = slim.learning.create_train_op(total, tf.train.GradientDescentOptimizer(0.1))
        names = [v.op.name for v in slim.get_model_variables()]
        last = slim.learning.train(
            train, folder, number_of_steps=5, log_every_n_steps=100, save_summaries_secs=0
        )
        reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(folder))
        return last, names, reader.get_tensor("logits/weights")[:2]


def job_layers():
    """Layers, regularizers, variables."""
    with tf.Graph().as_default(), tf.Session() as session:
        net = network(tf.constant(X))
        other = slim.separable_conv2d(
            tf.constant(X), 4, [3, 3], 2, weights_initializer=tf.constant_initializer(0.1)
        )
        normed = slim.layer_norm(slim.stack(slim.flatten(other), slim.fully_connected, [4, 3]))
        losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
        session.run(tf.global_variables_initializer())
        shapes = [v.shape.as_list() for v in slim.get_variables()]
        return session.run([net, other, tf.add_n(losses)]), normed.shape.as_list(), shapes


def job_metrics():
    """Streaming metrics, evaluated once."""
    with tf.Graph().as_default():
        values, updates = slim.metrics.aggregate_metric_map(
            {
                "accuracy": slim.metrics.streaming_accuracy(
                    tf.constant([1, 0, 1]), tf.constant([1, 1, 1])
                ),
                "error": slim.metrics.streaming_mean_squared_error(
                    tf.constant([1.0, 2.0]), tf.constant([1.5, 2.0])
                ),
            }
        )
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            session.run(list(updates.values()))
            return session.run(values)
