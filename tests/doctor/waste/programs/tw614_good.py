"""Data is float32 where it comes in."""

import numpy as np

import talweg as tf

w = tf.Variable(tf.ones([3, 1]), name="w")
random = np.random.default_rng(0)
for step in range(10):
    batch = tf.constant(random.standard_normal((8, 3)), tf.float32)
    centred = batch - tf.reduce_mean(batch, axis=0)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(centred @ w))
    w.assign_sub(0.1 * tape.gradient(loss, w))
