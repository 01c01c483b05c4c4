"""My custom training loop is ten times slower than model.fit. Why?"""

import talweg as tf

w1 = tf.Variable(tf.random.normal([4, 8]), name="w1")
w2 = tf.Variable(tf.random.normal([8, 1]), name="w2")


def train_step(x, y):
    with tf.GradientTape() as tape:
        hidden = tf.nn.relu(tf.matmul(x, w1))
        loss = tf.reduce_mean(tf.square(tf.matmul(hidden, w2) - y))
    gradients = tape.gradient(loss, [w1, w2])  # here
    for variable, gradient in zip([w1, w2], gradients):
        variable.assign_sub(0.01 * gradient)
    return loss


for step in range(1500):
    x = tf.random.normal([16, 4])
    y = tf.reduce_sum(x, axis=1, keepdims=True)
    loss = train_step(x, y)
    if step % 500 == 0:
        print(step, float(loss))
