"""The loop interpreter: runs loop programs with NumPy, as the meaning of the language."""
