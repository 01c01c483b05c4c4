"""The number is a tensor, and one trace serves."""

import talweg as tf


@tf.function
def scaled(x, factor):
    return x * factor


for step in range(8):
    scaled(tf.ones([3]), tf.constant(float(step)))
