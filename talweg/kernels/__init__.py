"""NumPy kernels of more than one NumPy call; they import nothing but NumPy, SciPy and `core`."""
