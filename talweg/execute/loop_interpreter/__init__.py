"""The loop interpreter runs loop programs with NumPy: it defines the language's meaning."""
