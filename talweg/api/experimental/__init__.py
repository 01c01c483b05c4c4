"""tf.experimental: functions of several fields that TensorFlow keeps there."""
