"""I clip my gradients, but they still explode."""

import talweg as tf

w = tf.Variable([100.0, -50.0], name="w")
for step in range(5):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(w) * tf.square(w))
    gradient = tape.gradient(loss, w)
    tf.clip_by_norm(gradient, 1.0)  # here
    w.assign_sub(1e-8 * gradient)
print(w.numpy())
