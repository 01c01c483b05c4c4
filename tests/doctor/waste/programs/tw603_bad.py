"""The loss is built again in each step; talweg gives the one that is there."""

import numpy as np

import talweg.compat.v1 as tf

with tf.Graph().as_default(), tf.Session() as session:
    x = tf.placeholder(tf.float32, [3])
    for step in range(20):
        loss = tf.reduce_sum(tf.square(x))  # here
        value = session.run(loss, {x: np.ones(3)})
