"""The bias was forgotten."""

import talweg as tf

w = tf.Variable(tf.ones([3, 1]), name="w")
bias = tf.Variable(tf.zeros([1]), name="bias")  # here
x = tf.ones([4, 3])
for step in range(5):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ w - 1.0))
    w.assign_sub(0.1 * tape.gradient(loss, w))
