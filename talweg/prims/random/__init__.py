"""Primitives of random numbers."""
