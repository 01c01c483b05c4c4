"""A sum over elements, in Python."""

import talweg as tf

x = tf.random.normal([1000])
total = 0.0
for i in range(1000):
    total += float(x[i])  # here
print(total)
