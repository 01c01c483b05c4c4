"""A network of TensorFlow 1: scopes, Adam, mini-batches, accuracy now and then, a checkpoint."""

import tempfile

import numpy as np

import talweg.compat.v1 as tf


def dense(x, units, name):
    with tf.variable_scope(name):
        w = tf.get_variable("w", [x.shape[-1], units], tf.float32, tf.glorot_uniform_initializer())
        b = tf.get_variable("b", [units], initializer=tf.zeros_initializer())
        return tf.matmul(x, w) + b


random = np.random.default_rng(0)
data = random.standard_normal((256, 20)).astype(np.float32)
labels = (data.sum(axis=1) > 0).astype(np.int64)
with tf.Graph().as_default():
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 20], name="x")
    y = tf.placeholder(tf.int64, [None], name="y")
    hidden = tf.nn.dropout(tf.nn.relu(dense(x, 32, "first")), rate=0.1)
    logits = dense(hidden, 2, "second")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.01, step, 100, 0.9)
    train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
    saver = tf.train.Saver()
    init = tf.global_variables_initializer()
    with tf.Session() as session, tempfile.TemporaryDirectory() as folder:
        session.run(init)
        for epoch in range(5):
            order = random.permutation(256)
            for start in range(0, 256, 32):
                rows = order[start : start + 32]
                session.run(train, {x: data[rows], y: labels[rows]})
            print(epoch, session.run([loss, accuracy], {x: data, y: labels}))
        path = saver.save(session, folder + "/model")
        saver.restore(session, path)
