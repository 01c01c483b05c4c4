"""Primitives of files and encoded data."""
