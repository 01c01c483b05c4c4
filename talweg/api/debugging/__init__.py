"""tf.debugging: assertions, checks of numbers and gradients."""
