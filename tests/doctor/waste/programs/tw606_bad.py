"""A Python number in the arguments makes a trace of its own each time."""

import talweg as tf


@tf.function
def scaled(x, factor):
    return x * factor


for step in range(8):
    scaled(tf.ones([3]), step)  # here
