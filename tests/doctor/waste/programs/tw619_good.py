"""The step is one compiled call."""

import talweg as tf

w = tf.Variable(tf.zeros([4, 1]), name="w")
bias = tf.Variable(tf.zeros([1]), name="bias")


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        error = x @ w + bias - y
        loss = tf.reduce_mean(error * error)
    gradients = tape.gradient(loss, [w, bias])
    w.assign_sub(0.1 * gradients[0])
    bias.assign_sub(0.1 * gradients[1])


for number in range(1600):
    x = tf.random.normal([8, 4])
    step(x, tf.reduce_sum(x, axis=1, keepdims=True))
