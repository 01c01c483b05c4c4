"""Results for gradients where there is no path from target to source."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.errors import value_error
from talweg.eager.convert import convert_to_tensor
from talweg.eager.tensor import wrap
from talweg.prims.layout import broadcast_to

if TYPE_CHECKING:
    from talweg.core.dtypes import DType


class UnconnectedGradients(enum.Enum):
    """The value of a gradient without a path: `None`, zeros, or an error that explains."""

    NONE = "none"
    ZERO = "zero"
    ERROR = "error"

    @classmethod
    def of(cls, value: object) -> UnconnectedGradients:
        """Return `value` (one of these, or its name) as one of these; ValueError if it is none."""
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


def zeros_of_shape(shape: tuple, dtype: DType) -> Any:
    """Return zeros of a shape whose sizes may be symbolic: an absent Jacobian."""
    if dispatch.context.base is None and all([type(size) is int for size in shape]):
        return wrap(np.zeros(shape, dtype.numpy_dtype))
    return broadcast_to(convert_to_tensor(0, dtype), shape=shape)
