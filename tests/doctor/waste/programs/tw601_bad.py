"""A step's operations are built in the loop that runs them."""

import numpy as np

import talweg.compat.v1 as tf

with tf.Graph().as_default(), tf.Session() as session:
    x = tf.placeholder(tf.float32, [3])
    total = 0.0
    for step in range(10):
        y = tf.reduce_sum(x * float(step))  # here
        total += session.run(y, {x: np.ones(3)})
