"""TensorFlow 1: tf.gradients returns [None], and the optimizer skips my variable."""

import talweg.compat.v1 as tf

with tf.Graph().as_default():
    x = tf.placeholder(tf.float32, [None])
    threshold = tf.get_variable("threshold", initializer=0.5)
    scale = tf.get_variable("scale", initializer=1.0)
    mask = tf.to_float(tf.greater(x, threshold))  # here
    loss = tf.reduce_mean(tf.square(scale * mask))
    print(tf.gradients(loss, [threshold]))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    step = optimizer.minimize(loss, var_list=[threshold, scale])
    try:
        tf.gradients(loss, [threshold], unconnected_gradients=tf.UnconnectedGradients.ERROR)
    except (AttributeError, ValueError) as error:
        print(error)
