"""The initializer is made once."""

import talweg.compat.v1 as tf

with tf.Graph().as_default(), tf.Session() as session:
    w = tf.Variable(tf.ones([3]), name="w")
    init = tf.global_variables_initializer()
    for restart in range(5):
        session.run(init)
        print(session.run(w))
