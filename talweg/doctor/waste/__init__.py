"""Waste: what a program computes, builds or moves for nothing."""
