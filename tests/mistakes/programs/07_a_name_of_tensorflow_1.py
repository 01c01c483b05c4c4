import talweg as tf

session = tf.Session()
