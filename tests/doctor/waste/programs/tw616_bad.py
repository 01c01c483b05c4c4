"""The clipped weights are thrown away."""

import talweg as tf

w = tf.Variable(tf.ones([3]) * 5.0)
for step in range(3):
    w.assign_add(tf.ones([3]))
    tf.clip_by_value(w, -1.0, 1.0)  # here
print(w.numpy())
