"""Waste: work, graph nodes and copies of a program that serve nothing."""
