"""tf.sparse: tensors that store only some of their elements."""
