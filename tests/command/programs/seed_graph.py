# The fragments of the fifth seed as one program; its loops go to 1e6, which is no int, and here to
# a thousand.
import numpy as np
import tensorflow as tf

session = tf.Session()
x = tf.Variable(1.0)
initializer = tf.global_variables_initializer()
session.run(initializer)
session.run(initializer)
session.run(tf.global_variables_initializer())
session.run(tf.global_variables_initializer())
y = x + 1.0
y = x + 1.0
z = x
for _ in range(int(1e3)):
    z = z + 1
increment_x = tf.assign(x, x + 1)
for _ in range(int(1e3)):
    session.run(increment_x)
print(session.run([x, y, z]))
many_ones = np.ones((1000, 1000))
print(session.run(tf.reduce_sum(many_ones)))
many_things = tf.placeholder(tf.float64)
adder = tf.reduce_sum(many_things)
print(session.run(adder, feed_dict={many_things: many_ones}))
input_tensor = tf.placeholder(tf.float32)
reshape_to_28 = tf.reshape(input_tensor, shape=[28, 28])
print(session.run(reshape_to_28, {input_tensor: np.ones(784)}).shape)
