"""A variable is made after the initializer, so nothing initializes it."""

import talweg.compat.v1 as tf

with tf.Graph().as_default(), tf.Session() as session:
    w = tf.Variable(tf.ones([3]), name="w")
    init = tf.global_variables_initializer()
    late = tf.Variable(tf.zeros([3]), name="late")  # here
    y = w + late
    session.run(init)
    print(session.run(w))
