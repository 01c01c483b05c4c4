"""tf.compat.v1: graphs, sessions, and the rest of TensorFlow 1."""
