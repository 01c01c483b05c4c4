"""Functions of single strings, element by element; the function is a parameter."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import ELEMENTWISE, primitive
from talweg.core.dtypes import DType, int32, string
from talweg.core.primitive import NoGradient, Sample


@dataclasses.dataclass(frozen=True)
class Rule:
    """What is done to each element: `apply(element, *arguments)`, with results of `dtype`.

    Rules of one function and equal arguments are equal, so that equal nodes are one.  `form` says
    what TensorFlow calls it: the type of operation, the inputs behind the elements, attributes;
    `table` is the table that the rule looks into.
    """

    apply: Callable[..., Any]
    dtype: DType
    arguments: tuple = ()
    form: tuple | None = dataclasses.field(default=None, compare=False)
    table: Any = dataclasses.field(default=None, compare=False)

    def __call__(self, array: Any) -> np.ndarray:
        """The rule on each element of an array."""
        array = np.asarray(array)
        flat = [self.apply(element, *self.arguments) for element in array.reshape(-1).tolist()]
        if self.dtype is not string:
            return np.array(flat, self.dtype.numpy_dtype).reshape(array.shape)
        found = np.empty(len(flat), object)
        found[:] = flat
        return found.reshape(array.shape)


@primitive
class text_map:
    """z[i] = rule(x[i])."""

    operands = "x"
    no_gradient = NoGradient("strings have no derivative")
    batch = ELEMENTWISE
    memory = "host"

    def infer(x, *, rule):
        return Aval(x.dims, rule.dtype)

    def numpy(x, *, rule):
        return rule(x)

    samples = (
        Sample(np.array([b"Ab", b""], object), rule=Rule(len, int32)),
        Sample(np.array([[b"abc"]], object), rule=Rule(len, int32)),
    )
