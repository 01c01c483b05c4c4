"""Iterating over a tensor takes seconds. NumPy does it at once!"""

import talweg as tf

values = tf.random.uniform([3000])
count = 0
for value in values:  # here
    if value > 0.5:
        count += 1
print(count)
