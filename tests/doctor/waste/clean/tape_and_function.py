"""A compiled training step, with an evaluation after each epoch."""

import numpy as np

import talweg as tf


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.layers = []
        for rows, columns in ((8, 16), (16, 16), (16, 1)):
            w = tf.Variable(tf.random.normal([rows, columns], stddev=0.2), name="w")
            b = tf.Variable(tf.zeros([columns]), name="b")
            self.layers.append((w, b))

    def __call__(self, x):
        for w, b in self.layers[:-1]:
            x = tf.nn.relu(x @ w + b)
        w, b = self.layers[-1]
        return x @ w + b


model = Model()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    variables = model.trainable_variables
    for variable, gradient in zip(variables, tape.gradient(loss, variables)):
        variable.assign_sub(0.05 * gradient)
    return loss


random = np.random.default_rng(0)
x_all = random.standard_normal((300, 8)).astype(np.float32)
y_all = x_all.sum(axis=1, keepdims=True)
losses = []
for epoch in range(6):
    for start in range(0, 300, 64):
        x, y = x_all[start : start + 64], y_all[start : start + 64]
        loss = train_step(tf.constant(x), tf.constant(y))
        losses.append(float(loss))
    error = tf.reduce_mean(tf.abs(model(tf.constant(x_all)) - y_all))
    print(epoch, losses[-1], error.numpy())
