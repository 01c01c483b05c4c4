"""A session is opened for each prediction."""

import numpy as np

import talweg.compat.v1 as tf

graph = tf.Graph()
with graph.as_default():
    x = tf.placeholder(tf.float32, [3])
    y = tf.reduce_sum(x * 2.0)


def predict(value):
    with tf.Session(graph=graph) as session:  # here
        return session.run(y, {x: value})


for number in range(10):
    predict(np.ones(3))
