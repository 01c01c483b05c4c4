"""tf.compat.v1.distributions: probability distributions as TensorFlow 1 had them."""
