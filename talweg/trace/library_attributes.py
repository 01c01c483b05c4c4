"""Attributes of traced functions, private in TensorFlow, that libraries use."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from talweg.core.errors import value_error
from talweg.trace.implementations import offer_implementation
from talweg.trace.methods import signature_of


class FunctionSpec:
    """The parameters of a traced function, as libraries ask for them."""

    def __init__(self, signature: inspect.Signature | None, input_signature: Any, jit: bool | None):
        self._parameters = [] if signature is None else list(signature.parameters.values())
        self.input_signature, self.jit_compile = input_signature, jit

    @property
    def arg_names(self) -> list[str]:
        """The names of the parameters that have a place."""
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [p.name for p in self._parameters if p.kind in kinds]

    @property
    def default_values(self) -> dict[str, Any]:
        """The values of the parameters that may be left out."""
        return {p.name: p.default for p in self._parameters if p.default is not p.empty}

    @property
    def fullargspec(self) -> inspect.FullArgSpec:
        """The parameters by their kinds."""
        names = {kind: [p.name for p in self._parameters if p.kind is kind] for kind in _KINDS}
        args, known = self.arg_names, self.default_values
        positional = tuple([known[name] for name in args if name in known])
        by_name = {name: known[name] for name in names[_KINDS[1]] if name in known}
        return inspect.FullArgSpec(
            args=args,
            varargs=next(iter(names[_KINDS[0]]), None),
            varkw=next(iter(names[_KINDS[2]]), None),
            defaults=positional or None,
            kwonlyargs=names[_KINDS[1]],
            kwonlydefaults=by_name or None,
            annotations={},
        )


_KINDS = (
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.KEYWORD_ONLY,
    inspect.Parameter.VAR_KEYWORD,
)


class FunctionAttributes:
    """The attributes of a traced function that modules and libraries use."""

    _python_function: Callable[..., Any]
    _signature: Any
    _traces: dict
    _jit_compile: bool | None
    input_signature: Any

    @property
    def function_spec(self) -> FunctionSpec:
        """The parameters of the Python function."""
        return FunctionSpec(self._signature, self.input_signature, self._jit_compile)

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
        offer_implementation(self)  # type: ignore[arg-type]  # it is a ConcreteFunction

    def add_gradient_functions_to_graph(self, g: Any = None) -> None:
        """Do nothing: a graph builds derivatives on demand."""
