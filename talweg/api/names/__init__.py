"""Public names: the absent ones, those that will never be there, those of specs."""
