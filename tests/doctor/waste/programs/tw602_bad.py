"""The initializer is asked for in the arguments of session.run, each time."""

import talweg.compat.v1 as tf

with tf.Graph().as_default(), tf.Session() as session:
    w = tf.Variable(tf.ones([3]), name="w")
    for restart in range(5):
        session.run(tf.global_variables_initializer())  # here
        print(session.run(w))
