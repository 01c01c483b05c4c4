"""A loop over a tensor is a loop of the graph."""

import talweg as tf


@tf.function
def decay(x):
    for i in tf.range(400):
        x = x * 0.99 + 0.01
    return x


print(decay(tf.ones([3])))
