"""FailedPreconditionError: attempting to use an uninitialized value. But I ran the initializer!"""

import talweg.compat.v1 as tf

with tf.Graph().as_default():
    w = tf.Variable(tf.ones([3]), name="w")
    init = tf.global_variables_initializer()
    bias = tf.Variable(tf.zeros([3]), name="bias")  # here
    with tf.Session() as sess:
        sess.run(init)
        try:
            sess.run(w + bias)
        except tf.errors.FailedPreconditionError as error:
            print(type(error).__name__)
