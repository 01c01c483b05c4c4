"""TensorArray and lists of tensors."""
