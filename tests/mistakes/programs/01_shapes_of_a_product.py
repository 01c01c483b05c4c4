import talweg as tf

a = tf.ones([2, 3])
b = tf.ones([2, 3])
print(tf.matmul(a, b))
