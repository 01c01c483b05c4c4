"""NumPy kernels of strings: encodings, regular expressions, numbers as text, machine code."""
