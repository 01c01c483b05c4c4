"""ValueError: GraphDef cannot be larger than 2GB. I only have one dataset!"""

import numpy as np

import talweg.compat.v1 as tf

images = np.random.default_rng(0).random((2000, 784), dtype=np.float32)
with tf.Graph().as_default():
    w = tf.Variable(tf.zeros([784, 10]), name="w")
    data = tf.constant(images)  # here
    logits = tf.matmul(data, w)
    init = tf.global_variables_initializer()
    with tf.Session() as sess:
        sess.run(init)
        print(sess.run(logits).shape)
