"""A layer that thresholds its input stops learning: gradient None for everything before it."""

import talweg as tf

tf.random.set_seed(0)
w1 = tf.Variable(tf.random.normal([4, 4]), name="w1")
w2 = tf.Variable(tf.random.normal([4, 1]), name="w2")
x = tf.random.normal([8, 4])


@tf.function
def network(x):
    hidden = tf.tanh(x @ w1)
    spikes = tf.cast(hidden > 0.2, tf.float32)  # here
    return spikes @ w2


with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.square(network(x)))
g1, g2 = tape.gradient(loss, [w1, w2])
print(g1, g2 is not None)
print(tape.explain(loss, [w1, w2]))
