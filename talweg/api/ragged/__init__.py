"""tf.ragged: tensors whose rows differ in length."""
