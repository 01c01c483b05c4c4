"""The public functions of tf.math."""
