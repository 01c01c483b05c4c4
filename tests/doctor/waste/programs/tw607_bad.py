"""tf.function is applied in the function that is called in each step."""

import talweg as tf


def train(x):
    @tf.function  # here
    def step(x):
        return tf.reduce_sum(x * x)

    return step(x)


for number in range(8):
    train(tf.ones([3]))
