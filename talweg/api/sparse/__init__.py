"""tf.sparse: tensors of which only some elements are kept."""
