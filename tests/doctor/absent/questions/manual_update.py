"""Gradient descent by hand: the first step works, then the gradient is None. Why?"""

import talweg as tf

x = tf.constant([1.0, 2.0, 3.0])
y = tf.constant([2.0, 4.0, 6.0])
w = tf.Variable(0.1)
b = tf.Variable(0.0)

for epoch in range(2):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(w * x + b - y))
    dw, db = tape.gradient(loss, [w, b])
    if dw is None:
        print(tape.explain(loss, w))
        break
    w = w - 0.1 * dw  # here
    b = b - 0.1 * db
