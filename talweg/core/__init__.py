"""Vocabulary: dtypes, shapes, errors, primitives, dispatch.  Imports only NumPy."""
