"""A short eager training loop with logging, a moving average and predictions as arrays."""

import numpy as np

import talweg as tf

random = np.random.default_rng(0)
w = tf.Variable(tf.zeros([3, 1]), name="w")
b = tf.Variable(tf.zeros([1]), name="b")
steps = tf.Variable(0, trainable=False, dtype=tf.int64)
average, outputs = None, []
for step in range(100):
    x = random.standard_normal((16, 3)).astype("float32")
    y = x.sum(axis=1, keepdims=True) + 1.0
    with tf.GradientTape() as tape:
        prediction = tf.matmul(x, w) + b
        loss = tf.reduce_mean(tf.square(prediction - y))
    gradients = tape.gradient(loss, [w, b])
    w.assign_sub(0.1 * gradients[0])
    b.assign_sub(0.1 * gradients[1])
    steps.assign_add(1)
    average = float(loss) if average is None else 0.9 * average + 0.1 * float(loss)
    if step % 10 == 0:
        print(step, average, tf.norm(w).numpy())
        outputs.append(prediction.numpy())
