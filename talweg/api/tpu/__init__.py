"""tf.tpu: descriptions of embedding tables, which models have on every machine."""
