"""WARNING: 5 out of the last 5 calls triggered tf.function retracing. Why is it so slow?"""

import talweg as tf

w = tf.Variable(tf.ones([8, 1]), name="w")


@tf.function
def train_step(x, learning_rate, epoch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ w))
    w.assign_sub(learning_rate * tape.gradient(loss, w))
    return loss


for epoch in range(10):
    x = tf.random.normal([4, 8])
    train_step(x, 0.1 / (epoch + 1), epoch)  # here
