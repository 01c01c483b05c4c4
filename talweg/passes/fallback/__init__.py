"""Host fallback: the steps of a compiled program that the interpreter runs."""
