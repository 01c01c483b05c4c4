"""tf.compat.v1.nn: recurrent networks."""
