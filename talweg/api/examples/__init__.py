"""tf.train.Example: named features in records, written as messages and read as tensors."""
