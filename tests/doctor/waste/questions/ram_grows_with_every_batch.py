"""RAM increases with every batch until the process is killed. How do I free tensors?"""

import talweg as tf

w = tf.Variable(tf.random.normal([128, 64]), name="w")
predictions = []
for step in range(500):
    batch = tf.random.normal([32, 128])
    output = tf.nn.relu(batch @ w)  # here
    predictions.append(output)
    if step % 100 == 0:
        print(step, float(tf.reduce_mean(output)))
