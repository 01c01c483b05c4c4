"""tf.quantization: numbers of few bits, for storage and for training with their rounding."""
