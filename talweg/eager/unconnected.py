"""What stands for a gradient where there is no path from target to source."""

from __future__ import annotations

import enum
from typing import Any

from talweg.core.errors import value_error


class UnconnectedGradients(enum.Enum):
    """What the gradient is where there is no path: `None`, zeros, or an error that explains."""

    NONE = "none"
    ZERO = "zero"
    ERROR = "error"

    @classmethod
    def of(cls, value: Any) -> UnconnectedGradients:
        """`value` (one of these, or its name) as one of these; ValueError if it is none."""
        if type(value) is cls:
            return value
        try:
            return cls(str(value).lower())
        except ValueError:
            raise value_error(
                "TW207",
                f"Unknown value for unconnected_gradients: {value!r}",
                "tf.UnconnectedGradients.NONE, ZERO or ERROR",
            ) from None
