"""I learn a position and look it up in a table. Why has the position no gradient?"""

import talweg as tf

table = tf.constant([0.0, 1.0, 4.0, 9.0])
position = tf.Variable(1.3, name="position")

with tf.GradientTape() as tape:
    index = tf.cast(position, tf.int32)  # here
    value = tf.gather(table, index)
    loss = tf.square(value - 2.0)
print(tape.gradient(loss, position))
print(tape.explain(loss, position))
