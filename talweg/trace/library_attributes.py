"""Attributes of traced functions, private in TensorFlow, that libraries use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.core.errors import value_error
from talweg.trace.implementations import offer_implementation
from talweg.trace.methods import signature_of


class FunctionAttributes:
    """The attributes of a traced function that modules and libraries use."""

    _python_function: Callable[..., Any]
    _signature: Any
    _traces: dict

    def __getattr__(self, name: str) -> Any:
        """Return the attributes of the object or function that was wrapped."""
        inner = self.__dict__.get("_python_function")
        if not name.startswith("__") and name in getattr(inner, "__dict__", ()):
            return getattr(inner, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _decorate(self, decorator: Callable[[Any], Any]) -> None:
        """Decorate the Python function; ValueError if there is a trace already."""
        if self._traces:
            raise value_error("TW401", "Functions cannot be decorated after they have been traced.")
        self._python_function = decorator(self._python_function)
        self._signature = signature_of(self._python_function)


class ConcreteFunctionAttributes:
    """The attributes of a trace that libraries use."""

    def add_to_graph(self, g: Any = None, overwrite: bool = False) -> None:
        """Offer the trace where it implements another; else a graph finds it where it is called."""
        offer_implementation(self)

    def add_gradient_functions_to_graph(self, g: Any = None) -> None:
        """Do nothing: a graph builds derivatives on demand."""
