"""tf.compat.v1.layers: functions and objects that make variables and apply them."""
