"""Keras programs whose losses are recorded under TensorFlow; see support.py."""
