import numpy as np

import talweg as tf

weights = tf.constant(np.random.default_rng(0).normal(size=[3, 2]))
print(tf.ones([4, 3]) @ weights)
