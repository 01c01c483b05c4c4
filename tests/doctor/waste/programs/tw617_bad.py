"""Every output is kept to print one number at the end."""

import talweg as tf

w = tf.Variable(tf.ones([64, 64]))
history = []
for step in range(400):
    x = tf.random.normal([32, 64])
    output = x @ w  # here
    history.append(output)
print(float(tf.reduce_mean(history[-1])))
