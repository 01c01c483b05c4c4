"""tf.test: test cases and assertions."""
