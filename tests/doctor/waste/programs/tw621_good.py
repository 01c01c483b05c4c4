"""One session serves all predictions."""

import numpy as np

import talweg.compat.v1 as tf

graph = tf.Graph()
with graph.as_default():
    x = tf.placeholder(tf.float32, [3])
    y = tf.reduce_sum(x * 2.0)
session = tf.Session(graph=graph)


def predict(value):
    return session.run(y, {x: value})


for number in range(10):
    predict(np.ones(3))
session.close()
