"""Compiler passes: named steps from graph to program and from program to program."""
