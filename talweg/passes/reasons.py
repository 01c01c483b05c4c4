"""Reasons of refusal: why a program has no compiled form, each with a code.

Only what specializes a program (`passes/specialize/specializer.py`) may raise a
`SpecializationError`: a refusal.  The program is right then, and the interpreter runs it.  What
goes wrong behind that is a fault of the compiler (`faults.py`).
"""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """A reason of refusal; its code is the name in lower case, with hyphens.

    `{}`: what it is about.
    """

    # Sizes and values
    SIZE_OF_VALUE = "a size depends on a value"
    SIZE_REFUSED = "there is no such size: {}"
    SHAPE_OF_RESULT = "the shape of the result of {} depends on values"
    DTYPE = "values of dtype {} are not compiled"
    OPERANDS = "{} refuses its operands: {}"
    ALWAYS_FAILS = "it fails, whatever its arguments are"
    TOO_LITTLE = "what could be compiled is too little ({})"
    # Slices
    INDEX_OUTSIDE = "an index is out of range"
    SLICE_STEPS = "a slice with steps that depend on values"
    SLICE_CLIPPED = "a slice that is clipped"
    # Variables and results
    VARIABLE_UNSET = "the variable {} has no value"
    VARIABLE_SHAPE = "a variable gets another shape"
    VARIABLE_SHAPE_UNKNOWN = "the shape of a variable's new value is not known"
    ASSIGNED_SHAPE = "a value of another shape is assigned to a variable"
    RESULT_IS_LIST = "a result is a list or a history"
    RESULT_KIND = "a result is neither an array nor a list or history"
    # Steps that the interpreter runs in the middle of a compiled program
    HOST_RANDOM = "random numbers are drawn by what is not compiled"
    HOST_LIST = "a list or a history that the interpreter has otherwise"
    # Calls
    CALLS_LONG = "the function that is called has, with all that it calls, more than {} steps"
    # Loops
    LOOP_SHAPE = "the shape of a loop variable changes"
    LOOP_KIND = "a loop variable that is now this, now that"
    LOOP_UNSETTLED = "what is known of a loop's variables does not settle"
    LOOP_END = "a loop that ends depending on values"
    LOOP_MEMORY = "memory for all trips there may be is too much"
    LOOP_NOT_KEPT = "a value of a loop of which nothing was kept"
    LOOP_COUNT_NOT_KEPT = "how often a loop ran of which nothing was kept"
    LOOP_ROWS_SAME = "the rows of a loop variable are all the same"
    HISTORY_ENDLESS = "the history of a loop of unknown length"
    HISTORY_ENDLESS_WITHIN = "the history of a loop of unknown length in such a loop"
    HISTORY_OTHERS = "histories of other values"
    # Lists
    LIST_OPERAND = "{} works on lists or histories"
    LIST_DIFFERS = "the elements of a list differ"
    LIST_SUM_DIFFERS = "the elements of two lists that are added differ"
    LIST_ELEMENTS = "the elements of a list are not known"
    LIST_LENGTH = "the length of a list is not known"
    LIST_LENGTH_OF_VALUE = "the length of a list depends on values, or is below zero"
    LIST_OF_RANGE = "numbers that are counted as far as a value says are put in a list"
    LIST_GROWS_BY_VALUE = "a list grows to a length that depends on values"
    LIST_PLACES = "places in a list depend on values"
    LIST_PLACE_UNKNOWN = "the place of an element is not known yet"
    LIST_OUTSIDE = "an element outside of a list"
    LIST_SUM = "a sum of single elements of a list"
    LIST_SUM_ELEMENT = "an element of a sum of single elements"
    LIST_ROWS_SAME = "lists of rows that are all the same"
    LIST_ROWS_APART = "the rows of a list are not in an array"
    LIST_ABSENT_SHAPE = "the shape of an absent element is not known"
    LIST_UNWRITTEN = "a list without written elements"
    LIST_OF_LISTS = "a list of lists as an array"
    LIST_SCALARS = "scalars are no parts"
    LIST_LENGTHS = "the lengths do not fill the array"
    # Lists of unknown length: stacks
    STACK_USED = "a list of unknown length is used as a whole"
    STACK_MADE = "a list of unknown length is made as a whole"
    STACK_CHANGED = "a list of unknown length is changed as a whole"
    STACK_PART = "a part of a list of unknown length"
    STACK_GROWING = "a list is used while a loop makes it longer"
    STACK_IN_LIST = "stacks of unknown length in a list that changes"

    @property
    def code(self) -> str:
        """The code that reports show for the reason."""
        return self.name.lower().replace("_", "-")


class SpecializationError(Exception):
    """A refusal: a program has no compiled form, for a `reason` with `details`."""

    def __init__(self, reason: Reason, *details: object):
        super().__init__(f"{reason.value.format(*details)} [{reason.code}]")
        self.reason, self.details = reason, details
