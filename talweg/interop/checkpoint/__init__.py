"""tf.train.Checkpoint: objects with state, by the names that lead to them, to files and back."""
