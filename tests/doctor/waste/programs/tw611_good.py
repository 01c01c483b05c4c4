"""The bias is used."""

import talweg as tf

w = tf.Variable(tf.ones([3, 1]), name="w")
bias = tf.Variable(tf.zeros([1]), name="bias")
x = tf.ones([4, 3])
for step in range(5):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ w + bias - 1.0))
    for variable, gradient in zip([w, bias], tape.gradient(loss, [w, bias])):
        variable.assign_sub(0.1 * gradient)
