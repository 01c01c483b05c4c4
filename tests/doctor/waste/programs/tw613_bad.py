"""A layer makes its weights each time it is called."""

import talweg as tf


def dense(x):
    weights = tf.Variable(tf.ones([3, 3]), name="weights")  # here
    return tf.nn.relu(x @ weights)


x = tf.ones([2, 3])
for step in range(20):
    print(float(tf.reduce_sum(dense(x))))
