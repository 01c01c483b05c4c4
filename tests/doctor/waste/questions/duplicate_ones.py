"""Why is TensorFlow creating nodes named ones_1, ones_2, ones_3?"""

import talweg.compat.v1 as tf

with tf.Graph().as_default():
    x = tf.placeholder(tf.float32, [3, 3])
    with tf.Session() as sess:
        for i in range(50):
            mask = tf.ones([3, 3])  # here
            masked = tf.reduce_sum(x * mask)
            sess.run(masked, {x: [[1.0] * 3] * 3})
