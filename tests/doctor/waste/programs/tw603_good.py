"""The loss is built once."""

import numpy as np

import talweg.compat.v1 as tf

with tf.Graph().as_default(), tf.Session() as session:
    x = tf.placeholder(tf.float32, [3])
    loss = tf.reduce_sum(tf.square(x))
    for step in range(20):
        value = session.run(loss, {x: np.ones(3)})
