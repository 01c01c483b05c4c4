"""tf.compat.v1: graphs, sessions, and what TensorFlow 1 had beside them."""
