"""My training loop starts fast and then crawls. What is wrong?"""

import numpy as np

import talweg.compat.v1 as tf


def get_train_op(loss):
    return tf.train.GradientDescentOptimizer(0.01).minimize(loss)  # here


with tf.Graph().as_default():
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.placeholder(tf.float32, [None, 1])
    w = tf.Variable(tf.zeros([4, 1]), name="w")
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    init = tf.global_variables_initializer()
    with tf.Session() as sess:
        sess.run(init)
        random = np.random.default_rng(0)
        for epoch in range(30):
            batch = random.standard_normal((8, 4))
            train = get_train_op(loss)
            sess.run(train, {x: batch, y: batch.sum(axis=1, keepdims=True)})
