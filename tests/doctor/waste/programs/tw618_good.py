"""A sum over elements, as one operation."""

import talweg as tf

x = tf.random.normal([1000])
total = float(tf.reduce_sum(x))
print(total)
