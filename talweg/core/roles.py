"""The roles of primitives in a graph that are more than operations on their operands.

A declaration says it (`role = Role.PROJECTION`); what walks graphs and programs asks for it, so no
code outside of `prims` knows those primitives by their names.
"""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    """The part that a primitive plays in graphs and programs."""

    OPERATION = 0  # computes its results from its operands, and that is all
    CONSTANT = 1  # a value that is known
    PLACEHOLDER = 2  # a value that is fed
    DEFAULTED = 3  # a placeholder with a default
    PROJECTION = 4  # one of several results of its operand
    ORDER = 5  # its operand, once control inputs have run
    SIZE = 6  # a size of its operand, as a number
    GROUP = 7  # control inputs alone
    ACT = 8  # Python that is called for what it does
    READ = 9  # a variable's value
    WRITE = 10  # a variable's new value
    INITIALIZED = 11  # whether a variable has a value
    READ_OR_INITIAL = 12  # a variable's value, or the one that it starts with
    BRANCH = 13  # one of several bodies
    LOOP = 14  # a body as long as a condition holds
    CALL = 15  # a body
    AGAIN = 16  # a body for which the same work is done again
    INNER_VALUE = 17  # a value computed in a body, seen from outside
    CUSTOM_RULE = 18  # results with a derivative of the user's
    REQUIREMENT = 19  # an assertion on values
