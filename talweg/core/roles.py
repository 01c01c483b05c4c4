"""The roles of primitives in a graph that are more than operations on their operands.

A declaration says it (`role = Role.PROJECTION`); what walks graphs and programs asks for it, so no
code outside of `prims` knows those primitives by their names.
"""

from __future__ import annotations

from enum import Enum, IntEnum


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


class Trait(Enum):
    """A property of a primitive that passes, executors or the doctor make use of."""

    SAME_MEMORY = "its result is its operand's elements, in the same order: one memory serves both"
    MATRICES_IN_PLACE = "BLAS can read matrices of its result in the memory of its operand"
    REINDEXES = "its elements are those of its first operand at other indices"
    KEEPS_LIMITS = "its integers lie between the limits of those of its first operand"
    KEEPS_UNIFORMITY = "of equal elements it makes equal elements"
    CHEAP_TO_REPEAT = "a reverse program computes it again rather than keep its result"
    PASSES_ON = "it hands values on without looking at elements, whatever they are"
    MOVES_ROWS = "it can be applied to a stack of elements of a dataset, one axis further on"
    TAKES_ELEMENTS = "it takes elements of a tensor out by index"
    GIVES_PARTS = "its results are parts of its operand: the kernel takes elements of any kind"
    NO_ARITHMETIC = "it moves or converts numbers and computes none"
    NORMALIZES = "it divides by a sum over classes"
    RANDOM_STREAM = "it gives the state of a random stream, a part of the operation that draws"
    STACK_OPERATION = "it may be applied to stacks of which only a run knows how long they are"
