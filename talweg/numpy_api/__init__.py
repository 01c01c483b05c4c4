"""tf.experimental.numpy: NumPy's functions, with NumPy's names and promotion, over tensors."""
