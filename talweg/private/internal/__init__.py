"""tf.__internal__: names of TensorFlow for libraries that are built on it."""
