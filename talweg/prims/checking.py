"""Checks of values that let them through unchanged."""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import ELEMENTWISE, check_dtype, primitive
from talweg.core.dtypes import FLOATING, int32
from talweg.core.errors import invalid
from talweg.core.primitive import Reject, Sample


@primitive
class check_numerics:
    """y = x; InvalidArgumentError with `message` if any element is infinite or NaN.

    The cotangent is checked in turn, as TensorFlow does.
    """

    operands = "x"
    accepts = FLOATING

    def infer(x, *, message):
        check_dtype("check_numerics", "tensor", x.dtype, FLOATING)
        return Aval(x.dims, x.dtype)

    def numpy(x: np.ndarray, *, message):
        if not np.isfinite(x).all():
            found = [name for name, test in (("Inf", np.isinf), ("NaN", np.isnan)) if test(x).any()]
            count = int(x.size - np.isfinite(x).sum())
            raise invalid(
                "TW209",
                f"{message} : tensor of shape {x.shape} had {' and '.join(found)} values "
                f"({count} of {x.size} elements)",
                "finite values",
            )
        return x

    def requires(t, x, *, message):
        t.require(t.is_finite(x))

    def scalar(s, x, *, message):
        return x

    def transpose_x(g, x, *, message):
        return check_numerics(g, message=f"gradient of: {message}")

    batch = ELEMENTWISE
    memory = "view"
    samples = (Sample([3], message=""), Sample([], message="m"), Sample([0, 2], message=""))
    rejects = (
        Reject([3], dtype=int32, message="", code="TW102"),
        Reject(np.array([1.0, np.nan]), message="", code="TW209"),
    )
