"""Sonnet."""

from __future__ import annotations

import numpy as np
import sonnet as snt
import tensorflow as tf

X = np.linspace(-1, 1, 24).reshape(8, 3).astype("float32")


def job_multilayer_perceptron():
    """An MLP trained with Adam, called through tf.function methods."""
    tf.random.set_seed(1)

    class Net(snt.Module):
        def __init__(self):
            super().__init__()
            self.inner = snt.nets.MLP([4, 1], w_init=snt.initializers.Constant(0.3))

        @tf.function
        def __call__(self, x):
            return self.inner(x)

    net, optimizer, losses = Net(), snt.optimizers.Adam(0.1), []
    for _ in range(5):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((net(X) - X[:, :1]) ** 2)
        grads = tape.gradient(loss, net.trainable_variables)
        optimizer.apply(grads, net.trainable_variables)
        losses.append(loss.numpy())
    return losses, [v.name for v in net.trainable_variables]


def job_layers():
    """Convolution, normalization, LSTM, vector quantization."""
    tf.random.set_seed(1)
    ones = snt.initializers.Constant(0.1)
    image = np.arange(32.0, dtype="float32").reshape(1, 4, 4, 2)
    convolved = snt.Conv2D(2, 3, w_init=ones)(image)
    normalized = snt.BatchNorm(True, True)(convolved, is_training=True)
    core = snt.LSTM(3, w_i_init=ones, w_h_init=ones)
    output, _ = snt.dynamic_unroll(core, X[:, None], core.initial_state(1))
    return convolved.numpy(), normalized.numpy(), output.numpy()
