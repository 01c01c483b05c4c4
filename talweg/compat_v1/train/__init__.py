"""tf.compat.v1.train: optimizers, learning rates, averages, checkpoints, sessions that train."""
