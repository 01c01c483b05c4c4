"""Derivatives and batching, read from the declarations."""
