"""The sum comes first, then one product."""

import numpy as np

import talweg.compat.v1 as tf

with tf.Graph().as_default(), tf.Session() as session:
    x, a, b = (tf.placeholder(tf.float32, [4, 4]) for _ in range(3))
    y = x @ (a + b)
    session.run(y, {x: np.eye(4), a: np.ones((4, 4)), b: np.ones((4, 4))})
