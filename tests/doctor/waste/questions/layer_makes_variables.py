"""Variables w, w_1, w_2, w_3 ... keep appearing. How do I reuse them?"""

import numpy as np

import talweg.compat.v1 as tf


def layer(x):
    w = tf.Variable(tf.ones([3, 1]), name="w")  # here
    return tf.matmul(x, w)


with tf.Graph().as_default(), tf.Session() as sess:
    x = tf.placeholder(tf.float32, [None, 3])
    for step in range(10):
        out = layer(x)
        sess.run(tf.global_variables_initializer())
        sess.run(out, {x: np.ones((2, 3))})
