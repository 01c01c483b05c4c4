"""Each prediction of my web service takes 100 ms. The model is tiny."""

import numpy as np

import talweg.compat.v1 as tf

graph = tf.Graph()
with graph.as_default():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.Variable(tf.ones([3, 1]), name="w")
    y = tf.matmul(x, w)
    init = tf.global_variables_initializer()


def handle_request(values):
    with tf.Session(graph=graph) as sess:  # here
        sess.run(init)
        return sess.run(y, {x: values})


for request in range(12):
    handle_request(np.ones((1, 3)))
