"""Convolutions as loops: direct, depthwise and by Winograd's algorithm."""
