"""Executors, which run functionalized programs: the interpreter, compiled code, XLA."""
