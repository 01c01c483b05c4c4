"""The second layer is not on the path to the loss."""

import talweg as tf

first = tf.Variable(tf.ones([3, 3]), name="first")
second = tf.Variable(tf.ones([3, 1]), name="second")  # here
x = tf.ones([4, 3])
for step in range(5):
    with tf.GradientTape() as tape:
        hidden = x @ first
        output = hidden @ second
        loss = tf.reduce_mean(tf.square(hidden - 1.0))
    print(output.shape)
    gradients = tape.gradient(loss, [first, second])
    first.assign_sub(0.1 * gradients[0])
