"""The initializer is made when all variables are there."""

import talweg.compat.v1 as tf

with tf.Graph().as_default(), tf.Session() as session:
    w = tf.Variable(tf.ones([3]), name="w")
    late = tf.Variable(tf.zeros([3]), name="late")
    y = w + late
    init = tf.global_variables_initializer()
    session.run(init)
    print(session.run(y))
