"""Lowering of pooling and patches."""
