"""The public functions of tf.summary: values written to event files, which TensorBoard shows."""
