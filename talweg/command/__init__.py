"""The `talweg` command: programs are run, looked at and explained from the shell.

One file for each subcommand, loaded when it is asked for; `line.py` knows them all.
"""
