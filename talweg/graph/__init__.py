"""The graph layer defines programs: nodes (primitives applied to nodes), bodies, nests.

Knows no executor.
"""
