"""Numbers are kept, not tensors."""

import talweg as tf

w = tf.Variable(tf.ones([64, 64]))
history = []
for step in range(400):
    x = tf.random.normal([32, 64])
    output = x @ w
    history.append(float(tf.reduce_mean(output)))
print(history[-1])
