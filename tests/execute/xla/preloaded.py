"""What the server of processes imports for all of them (`processes.py`)."""

import jax  # noqa: F401

import talweg as tf

tf.keras  # noqa: B018 -- imports Keras, with talweg as its TensorFlow
