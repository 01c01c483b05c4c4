"""Fine-tuning: the encoder never changes. Which line cuts its gradient?"""

import talweg as tf

encoder = tf.Variable(tf.ones([3, 3]), name="encoder")
head = tf.Variable(tf.ones([3, 1]), name="head")
x = tf.ones([2, 3])


def features(x):
    return tf.stop_gradient(tf.nn.relu(x @ encoder))  # here


with tf.GradientTape() as tape:
    loss = tf.reduce_mean(features(x) @ head)
gradients = tape.gradient(loss, [encoder, head])
print([gradient is not None for gradient in gradients])
print(tape.explain(loss, [encoder, head]))
