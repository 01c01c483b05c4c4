"""tf.compat.v1.metrics: values that grow over many runs, in local variables."""
