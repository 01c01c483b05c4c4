import talweg as tf


@tf.function
def scaled(x):
    scale = tf.Variable(2.0)
    return x * scale


print(scaled(tf.ones([2])))
print(scaled(tf.ones([3])))
