"""The public functions of tf.image."""
