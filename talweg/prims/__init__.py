"""The primitives: one declaration an operation, with all its rules."""
