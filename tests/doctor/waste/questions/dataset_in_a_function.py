"""tf.function uses far more memory than eager. Where does it go?"""

import numpy as np

import talweg as tf

x_train = np.random.default_rng(0).random((4000, 128)).astype("float32")
w = tf.Variable(tf.zeros([128, 1]), name="w")


@tf.function
def full_batch_step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(x_train, w) - 1.0))  # here
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss


for step in range(5):
    print(float(full_batch_step()))
