"""My recurrent cell keeps its state in a variable, and its weights get no gradient."""

import talweg as tf

w = tf.Variable(0.5, name="w")
state = tf.Variable(0.0, trainable=False, name="state")

with tf.GradientTape() as tape:
    for x in (1.0, 2.0, 3.0):
        state.assign(tf.tanh(w * x + state))  # here
    loss = tf.square(state - 1.0)
print(tape.gradient(loss, w))
print(tape.explain(loss, w))
