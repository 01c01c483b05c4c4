import talweg as tf

x = tf.constant(3.0)
with tf.GradientTape() as tape:
    y = x * x
slope = tape.gradient(y, x)
print(slope * 0.1)
