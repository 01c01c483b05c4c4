"""Examples: named features in TensorFlow's records, written as messages and read as tensors."""
