"""Attributes of traced functions, private in TensorFlow, that libraries use."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import DType, resource
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.graph.handle import Handle
from talweg.trace.implementations import offer_implementation
from talweg.trace.methods import signature_of

if TYPE_CHECKING:
    from talweg.graph.node import Node
    from talweg.graph.symbol import Symbol


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


@dataclass
class CapturedResource:
    """Stands for a variable among the inputs of a function's graph, a scalar of dtype resource."""

    name: str
    dtype: DType = resource
    shape: TensorShape = field(default_factory=lambda: TensorShape([]))


class TraceGraphAttributes:
    """The attributes of a function's graph that libraries use, those of TensorFlow's `FuncGraph`.

    Variables are captured: outside by their handles, inside as resources.
    """

    captured: dict[int, tuple[Any, Node]]
    function_name: str
    input_nodes: list[Node]
    outer: Any
    symbol: Callable[[Node], Symbol]
    writes: dict[Handle, Node]
    formals: tuple = ()  # handles of the variables among the arguments
    output_nodes: tuple[Node, ...] = ()  # results, once the trace is closed
    pack: Any = None  # builds the nest of the results

    def close(self, outputs: tuple[Node, ...], pack: Callable[[list], Any]) -> None:
        """End the trace, with these results; from now on it does not keep the graph around."""
        if self.outer is not None:
            self.outer_reference, self.outer = weakref.ref(self.outer), None
        for node in outputs:
            node.holders += 1  # so that the graph goes on listing what the function does
        self.output_nodes, self.pack, self.closed = outputs, pack, True

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function_name

    @property
    def captures(self) -> list[tuple[Any, Any]]:
        """The tensors and variables used from outside, each with what stands for it inside."""
        found = []
        for outside, node in self.captured.values():
            if type(outside) is not Handle:
                found.append((outside, self.symbol(node)))
            elif outside not in self.formals:
                found.append((outside, CapturedResource(self.symbol(node).name)))
        return found

    @property
    def external_captures(self) -> list:
        """The tensors, and handles of variables, used from outside."""
        return [outside for outside, _ in self.captures]

    @property
    def internal_captures(self) -> list:
        """What stands inside for tensors and variables used from outside."""
        return [inside for _, inside in self.captures]

    @property
    def inputs(self) -> list:
        """The arguments, then the captures."""
        return [*map(self.symbol, self.input_nodes), *self.internal_captures]

    @property
    def outputs(self) -> list:
        """The results, flat; none while the function is traced."""
        return [self.symbol(node) for node in self.output_nodes]

    @property
    def structured_outputs(self) -> Any:
        """The results in their structure; None while the function is traced."""
        return None if self.pack is None else self.pack(self.outputs)

    @property
    def variables(self) -> tuple:
        """The variables the function uses."""
        read = [value for value, _ in self.captured.values() if type(value) is Handle]
        handles = dict.fromkeys([*read, *self.writes])
        return tuple([handle.variable for handle in handles if handle not in self.formals])

    @property
    def trainable_variables(self) -> tuple:
        """The trainable variables the function uses."""
        return tuple([v for v in self.variables if v.trainable])


class ConcreteFunctionAttributes:
    """The attributes of a trace that libraries use."""

    def add_to_graph(self, g: Any = None, overwrite: bool = False) -> None:
        """Offer the trace where it implements another; else a graph finds it where it is called."""
        offer_implementation(self)  # type: ignore[arg-type]  # it is a ConcreteFunction

    def add_gradient_functions_to_graph(self, g: Any = None) -> None:
        """Do nothing: a graph builds derivatives on demand."""
