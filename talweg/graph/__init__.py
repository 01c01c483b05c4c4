"""What a program is: nodes, structures.  Knows no executor."""
