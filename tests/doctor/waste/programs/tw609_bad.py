"""The Gram matrix of the data is computed in each step, of the same data."""

import talweg as tf

data = tf.random.normal([200, 50])
w = tf.Variable(tf.zeros([50, 1]))
for step in range(300):
    gram = tf.matmul(data, data, transpose_a=True)  # here
    w.assign_sub(0.001 * (gram @ w - 1.0))
print(tf.norm(w))
