"""The public functions of tf.nn."""
