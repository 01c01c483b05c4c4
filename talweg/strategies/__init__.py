"""tf.distribute: strategies, with one replica."""
