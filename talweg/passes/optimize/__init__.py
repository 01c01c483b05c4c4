"""Optimization passes over static programs, each of which keeps the meaning."""
