"""tf.data: input pipelines; `dataset.py` is the way in, `stage.py` what pipelines are made of."""
