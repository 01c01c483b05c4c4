"""Short whole programs and what TensorFlow gave for them; see `collection.py`."""
