"""Pooling and patches as loops."""
