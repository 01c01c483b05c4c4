"""tf.queue: queues of tensors between threads."""
