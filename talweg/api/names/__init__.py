"""What is said of names: those that are absent, those that will never be there, those of specs."""
