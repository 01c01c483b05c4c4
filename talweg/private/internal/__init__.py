"""tf.__internal__: what TensorFlow shows to libraries that are built on it."""
