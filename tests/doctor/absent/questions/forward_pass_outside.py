"""gradients = tape.gradient(loss, model.trainable_variables) gives a list of None."""

import talweg as tf


class Model(tf.Module):
    def __init__(self):
        self.kernel = tf.Variable(tf.ones([3, 1]), name="kernel")

    def __call__(self, x):
        return x @ self.kernel


model = Model()
x, y = tf.ones([5, 3]), tf.zeros([5, 1])

predictions = model(x)  # here
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.square(predictions - y))
kernel = model.kernel
print(tape.gradient(loss, kernel))
print(tape.explain(loss, kernel))
