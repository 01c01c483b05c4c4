"""tf.types.experimental: classes for annotations and `isinstance`, and base classes."""

from __future__ import annotations

import abc
from typing import Any, Union

import numpy as np

from talweg.api.export import export, export_value
from talweg.core.value import Tensor
from talweg.trace.concrete import ConcreteFunction
from talweg.trace.function import Function
from talweg.trace.function_type import FunctionType
from talweg.trace.trace_type import SupportsTracingProtocol, TraceType

TensorLike = Union[  # noqa: UP007 -- also what isinstance is asked with
    Tensor, int, float, bool, str, bytes, complex, tuple, list, np.ndarray, np.generic
]
export_value(TensorLike, "types.experimental.TensorLike")
export("types.experimental.TraceType")(TraceType)
export("types.experimental.SupportsTracingProtocol")(SupportsTracingProtocol)
export("types.experimental.FunctionType")(FunctionType)


@export("types.experimental.Callable")
class Callable(metaclass=abc.ABCMeta):
    """Base of functions made by `tf.function` and their traces: a `function_type`, and calls.

    >>> import talweg as tf
    >>> isinstance(tf.function(lambda x: x), tf.types.experimental.Callable)
    True
    """

    @property
    @abc.abstractmethod
    def function_type(self) -> Any:
        """The types of the parameters and results."""

    @abc.abstractmethod
    def __call__(self, *args: object, **kwargs: object) -> Any: ...


@export("types.experimental.AtomicFunction")
class AtomicFunction(Callable):
    """A function of a graph whose captures are arguments; for annotations.

    >>> import talweg as tf
    >>> issubclass(tf.types.experimental.AtomicFunction, tf.types.experimental.Callable)
    True
    """

    @abc.abstractmethod
    def call_with_captures(self, args: object, kwargs: object, captures: object) -> Any:
        """Return the results for arguments and captures."""


Callable.register(Function)
Callable.register(ConcreteFunction)
