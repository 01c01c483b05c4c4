"""A million numbers become part of the graph."""

import numpy as np

import talweg.compat.v1 as tf

many_ones = np.ones((1000, 1000))
with tf.Graph().as_default(), tf.Session() as session:
    total = tf.reduce_sum(many_ones)  # here
    print(session.run(total))
