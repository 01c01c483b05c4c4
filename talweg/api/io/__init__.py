"""tf.io: files, serialized tensors, bytes."""
