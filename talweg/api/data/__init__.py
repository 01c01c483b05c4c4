"""tf.data: the public names of `talweg/pipeline/`."""
