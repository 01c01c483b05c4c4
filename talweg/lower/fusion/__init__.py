"""Fusion: which values are materialized, which loops compute them, what is inlined."""
