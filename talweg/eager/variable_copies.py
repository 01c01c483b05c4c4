"""Options for the copies of a variable, one for each replica."""

from __future__ import annotations

import enum


class VariableSynchronization(enum.Enum):
    """When copies of a variable are combined; accepted, there is one copy here."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """The ways to combine copies of a variable; accepted, there is one copy here."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
