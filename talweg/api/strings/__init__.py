"""tf.strings: functions of text."""
