"""Saliency map: the gradient of the class score by the input image is None."""

import talweg as tf

tf.random.set_seed(0)
kernel = tf.Variable(tf.random.normal([9, 4]), name="kernel")
image = tf.random.uniform([1, 9])

with tf.GradientTape() as tape:
    scores = tf.nn.softmax(image @ kernel)  # here
    top = scores[0, 2]
saliency = tape.gradient(top, image)
print(saliency)
print(tape.explain(top, image))
