"""My custom loss uses NumPy and SciPy. model.fit says: no gradients provided for any variable."""

import numpy as np

import talweg as tf

w = tf.Variable([0.5, -0.3], name="w")
target = np.array([1.0, 2.0], np.float32)


def my_loss(y_true, y_pred):
    difference = np.abs(y_true - y_pred)  # here
    return tf.reduce_mean(tf.convert_to_tensor(difference))


with tf.GradientTape() as tape:
    prediction = tf.sigmoid(w * 3.0)
    loss = my_loss(target, prediction)
print(tape.gradient(loss, w))
print(tape.explain(loss, w))
