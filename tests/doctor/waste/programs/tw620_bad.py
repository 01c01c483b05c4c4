"""A loop over a Python range is written out into the trace."""

import talweg as tf


@tf.function
def decay(x):
    for i in range(400):
        x = x * 0.99 + 0.01  # here
    return x


print(decay(tf.ones([3])))
