"""Lowering of convolutions: direct, depthwise, and by Winograd's algorithm."""
