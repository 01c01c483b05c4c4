"""REINFORCE: why are all my policy gradients None?"""

import talweg as tf

tf.random.set_seed(0)
weights = tf.Variable(tf.random.normal([4, 2]), name="policy")
states = tf.random.normal([16, 4])

with tf.GradientTape() as tape:
    logits = states @ weights
    actions = tf.random.categorical(logits, 1)  # here
    reward = tf.reduce_mean(tf.cast(actions, tf.float32))
    loss = -reward

gradient = tape.gradient(loss, weights)
print(gradient)
print(tape.explain(loss, weights))
