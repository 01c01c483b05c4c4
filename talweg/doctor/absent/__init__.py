"""Absent gradients: why a gradient is None."""
