"""Compiling modules and linking object code into the process."""
