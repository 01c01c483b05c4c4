"""The clipped weights are assigned."""

import talweg as tf

w = tf.Variable(tf.ones([3]) * 5.0)
for step in range(3):
    w.assign_add(tf.ones([3]))
    w.assign(tf.clip_by_value(w, -1.0, 1.0))
    tf.debugging.assert_less_equal(w, 1.0)
print(w.numpy())
