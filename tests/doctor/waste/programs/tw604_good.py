"""The numbers are fed."""

import numpy as np

import talweg.compat.v1 as tf

many_ones = np.ones((1000, 1000))
with tf.Graph().as_default(), tf.Session() as session:
    things = tf.placeholder(tf.float64)
    total = tf.reduce_sum(things)
    print(session.run(total, {things: many_ones}))
