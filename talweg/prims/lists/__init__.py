"""Primitives of lists of tensors."""
