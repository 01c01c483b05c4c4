"""Python to graphs: bodies of branches, loops and functions."""
