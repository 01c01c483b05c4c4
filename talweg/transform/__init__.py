"""Differentiation and batching, derived from the primitives' declarations."""
