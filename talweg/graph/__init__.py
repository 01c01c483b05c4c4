"""The graph layer defines what a program is: nodes (primitives applied to nodes), bodies, nests.

Knows no executor.
"""
