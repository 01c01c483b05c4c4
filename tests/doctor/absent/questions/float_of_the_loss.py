"""Target must be a tensor? My loss is just a number, why can TensorFlow not differentiate it?"""

import talweg as tf

w = tf.Variable(3.0)
losses = []
with tf.GradientTape() as tape:
    total = float(tf.square(w))  # here
    losses.append(total)
try:
    print(tape.gradient(total, w))
except TypeError as error:
    print(error)
print(tape.explain(total, w))
