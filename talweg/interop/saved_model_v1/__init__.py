"""tf.compat.v1.saved_model: graphs with signatures, saved from a session and loaded into one."""
