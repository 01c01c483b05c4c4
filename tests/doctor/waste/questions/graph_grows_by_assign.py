"""Why does session.run get slower with every step, and memory grow?"""

import talweg.compat.v1 as tf

with tf.Graph().as_default():
    counter = tf.Variable(0, name="counter")
    init = tf.global_variables_initializer()
    with tf.Session() as sess:
        sess.run(init)
        for i in range(200):
            sess.run(tf.assign(counter, counter + 1))  # here
        print(sess.run(counter))
