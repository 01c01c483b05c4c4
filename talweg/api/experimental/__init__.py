"""tf.experimental: what has no better place."""
