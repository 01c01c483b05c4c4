"""Vocabulary of the whole house: dtypes, shapes, errors, primitives, dispatch.  Imports only NumPy."""
