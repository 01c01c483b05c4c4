import talweg as tf

x = tf.ones([2, 3])
print(x.reshape(3, 2))
