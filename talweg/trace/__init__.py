"""Tracing: from Python functions to graphs, with bodies of branches, loops and functions."""
