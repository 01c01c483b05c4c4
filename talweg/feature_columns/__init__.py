"""tf.feature_column: descriptions of features, and what makes tensors of raw ones."""
