"""The public functions of tf.random."""
