"""The public functions of tf.linalg."""
