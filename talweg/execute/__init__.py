"""Executors: what runs a functionalized program."""
