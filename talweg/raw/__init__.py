"""tf.raw_ops: operations by their names in graphs."""
