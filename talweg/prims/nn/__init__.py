"""Primitives of neural networks: activations, losses, convolution, pooling."""
