"""The Gram matrix is computed before the loop."""

import talweg as tf

data = tf.random.normal([200, 50])
w = tf.Variable(tf.zeros([50, 1]))
gram = tf.matmul(data, data, transpose_a=True)
for step in range(300):
    w.assign_sub(0.001 * (gram @ w - 1.0))
print(tf.norm(w))
