"""Fusion: which values are materialized, which loops compute them, which are inlined."""
