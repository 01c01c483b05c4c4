"""NumPy text of what is more than one NumPy call; imports nothing but NumPy, SciPy and `core`."""
