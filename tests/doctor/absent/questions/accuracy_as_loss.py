"""I want to maximise accuracy (or F1) directly, but every gradient is None."""

import talweg as tf

tf.random.set_seed(0)
kernel = tf.Variable(tf.random.normal([4, 3]), name="kernel")
bias = tf.Variable(tf.zeros([3]), name="bias")
images, labels = tf.random.normal([8, 4]), tf.constant([0, 1, 2, 0, 1, 2, 0, 1], tf.int64)


def accuracy(logits, labels):
    predicted = tf.argmax(logits, axis=1)  # here
    return tf.reduce_mean(tf.cast(tf.equal(predicted, labels), tf.float32))


with tf.GradientTape() as tape:
    loss = 1.0 - accuracy(images @ kernel + bias, labels)
gradients = tape.gradient(loss, [kernel, bias])
print(gradients)
print(tape.explain(loss, [kernel, bias]))
