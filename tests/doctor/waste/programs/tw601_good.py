"""The operations are built once; what changes is fed."""

import numpy as np

import talweg.compat.v1 as tf

with tf.Graph().as_default(), tf.Session() as session:
    x = tf.placeholder(tf.float32, [3])
    scale = tf.placeholder(tf.float32, [])
    y = tf.reduce_sum(x * scale)
    total = 0.0
    for step in range(10):
        total += session.run(y, {x: np.ones(3), scale: step})
