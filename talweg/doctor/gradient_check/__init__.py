"""Checking gradients against differences and the complex step."""
