"""TensorFlow's checkpoint format V2 (a "tensor bundle"): a table of entries, and files of data."""
