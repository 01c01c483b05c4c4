"""Why is @tf.function not faster on the second call?"""

import talweg as tf

models = [tf.Variable(tf.ones([4])) for _ in range(2)]


def evaluate(x):
    fn = tf.function(lambda v: tf.reduce_sum(tf.square(v)))  # here
    return fn(x)


for step in range(12):
    evaluate(models[step % 2] * 2.0)
