"""Functions of saved models: traces built of their messages, and the choice among them.

A trace is built when it is first needed, so that what nobody calls costs nothing, and cannot fail.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core import dispatch
from talweg.core.errors import type_error, value_error
from talweg.core.spec import TensorSpec, TypeSpec
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.eager.variable import Variable
from talweg.graph import structure
from talweg.interop.graph_def import importing
from talweg.interop.graph_def.building import GraphBuilder
from talweg.interop.graph_def.values import ResourceEdge
from talweg.interop.saved_model.parameters import signature_of
from talweg.interop.saved_model.structured_values import read
from talweg.trace.concrete import ConcreteFunction, TraceGraph
from talweg.trace.function import Function
from talweg.trace.function_type import list_keywords, sanitize_arg_name
from talweg.trace.signature import ArgumentPlace, Container

RULES = importing.RULES  # they are registered where this is imported


class Origin:
    """Stands for the node that calls a function of the library, in errors."""

    op = "saved function"

    def __init__(self, name: str):
        self.name = name
        self.described = f"the saved function '{name}'"

    def error(self, text: str) -> ValueError:
        """Make the error of a function, to be raised."""
        return value_error("TW509", f"{self.described}: {text}")


def number_leaves(nest: object, specs: list[TensorSpec]) -> Any:
    """Return a nest of specs and values as a tree of numbered places;
    the specs of tensors are noted.
    """
    if isinstance(nest, TensorSpec):
        specs.append(nest)
        return ArgumentPlace(len(specs) - 1)
    if hasattr(nest, "part_specs"):
        return Container(nest, [number_leaves(part, specs) for part in nest.part_specs()])
    if structure.is_nested(nest):
        return Container(nest, [number_leaves(child, specs) for child in structure.children(nest)])
    return nest


class SavedTrace:
    """One trace of a saved function; `signature` is what it is for: (arguments, keywords)."""

    def __init__(
        self,
        name: str,
        message: Any,
        functions: dict[str, Any],
        capture: Callable[[int], Any],
        kind: type[ConcreteFunction] = ConcreteFunction,
    ):
        self.name, self.message, self.functions, self.capture = name, message, functions, capture
        self.kind = kind
        self.parameters: inspect.Signature | None = None
        self.seed: int | None = None  # of the graph in which the model was loaded

    @functools.cached_property
    def signature(self) -> tuple:
        """(positional, keyword) arguments."""
        args, kwargs = read(self.message.canonicalized_input_signature)
        return tuple(args), dict(kwargs)

    @functools.cached_property
    def trace(self) -> ConcreteFunction:
        """The trace."""
        with dispatch.eagerly():
            return self._build()

    def _build(self) -> ConcreteFunction:
        specs: list[TensorSpec] = []
        args, kwargs = self.signature
        tree = Container([args, kwargs], [number_leaves(args, specs), number_leaves(kwargs, specs)])
        names = _names(specs)
        builder = GraphBuilder(self.functions)
        origin: Any = Origin(self.name)

        def run(inputs: list) -> list:
            captured = [entering(self.capture(n)) for n in self.message.bound_inputs]
            return builder.apply(self.name, [*inputs, *captured], origin)

        concrete = self.kind(plain_name(self.name), TraceGraph(self.name), tree, specs)
        concrete.trace_flat(run, names, read(self.message.output_signature))
        keywords = {name: value for name, _, value in list_keywords(kwargs)}
        concrete.structured_input_signature = args, keywords
        concrete.graph.seed = self.seed
        concrete.parameters = _format_parameters(self.parameters, self.signature)
        return concrete


def plain_name(name: str) -> str:
    """Strip the affixes of a saved model from the name of a function."""
    found = re.fullmatch(r"_*(?:inference|forward|backward)_(.+?)_\d+", name)
    return name if found is None else found[1]


def entering(thing: object) -> Any:
    """Convert a captured object to its value inside the function."""
    if isinstance(thing, Variable):
        return ResourceEdge(thing.handle)
    if isinstance(thing, Tensor):
        return dispatch.context.base.bring_in(thing)
    if hasattr(thing, "asset_path"):
        return thing.asset_path
    return ResourceEdge(thing)


def _names(specs: list[TensorSpec]) -> list[str]:
    found: dict[str, None] = {}
    for spec in specs:
        base = name = spec.name or "arg"
        number = 0
        while name in found:
            number += 1
            name = f"{base}_{number}"
        found[name] = None
    return list(found)


def _format_parameters(parameters: inspect.Signature | None, signature: tuple) -> list[tuple]:
    """Format each parameter of a trace: name, kind, spec."""
    args, kwargs = signature
    kinds = inspect.Parameter
    own = (
        []
        if parameters is None
        else [p for p in parameters.parameters.values() if p.kind is kinds.POSITIONAL_OR_KEYWORD]
    )
    shown = [
        (
            own[nth].name if nth < len(own) else f"arg{nth}",
            kinds.POSITIONAL_OR_KEYWORD if nth < len(own) else kinds.POSITIONAL_ONLY,
            value,
        )
        for nth, value in enumerate(args)
    ]
    return shown + list_keywords(kwargs)


# -- the choice of a trace


class RestoredFunction(Function):
    """A `tf.function` of a saved model: it has the traces that were saved, and makes no others."""

    def __init__(self, name: str, message: Any, traces: list[SavedTrace]):
        specs = read(message.input_signature)
        signature = signature_of(message)

        def choose(*args: object, **kwargs: object) -> Any:
            return self(*args, **kwargs)

        choose.__signature__ = signature  # type: ignore[attr-defined]
        super().__init__(choose, name=plain_name(name), autograph=False)
        self._signature = signature
        self.input_signature = None if specs is None else tuple(specs)
        self.saved = traces
        for trace in traces:
            trace.parameters = self._signature

    @property
    def concrete_functions(self) -> list[ConcreteFunction]:
        """The traces."""
        return [trace.trace for trace in self.saved]

    def all_traces(self) -> list[ConcreteFunction]:
        """Return the traces."""
        return self.concrete_functions

    def __call__(self, *args: object, **kwargs: object) -> Any:
        trace, tensors = self._find(args, kwargs)
        return trace.call_flat(tensors)

    def _find(self, args: tuple, kwargs: dict) -> tuple[ConcreteFunction, list]:
        if not self.saved:
            raise value_error(
                "TW509",
                "Found zero restored functions for caller function.",
                hint="call the function, or give it an input signature, before the model is saved",
            )
        args, kwargs = self._bind(args, kwargs)
        for convert in (False, True):
            for saved in self.saved:
                tensors = match_arguments(saved.signature, (tuple(args), kwargs), convert)
                if tensors is not None:
                    return saved.trace, tensors
        raise value_error("TW509", self._no_match(args, kwargs))

    def _no_match(self, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> str:
        lines = [
            "Could not find matching concrete function to call loaded from the SavedModel. "
            f"Got:\n{_format_call(args, kwargs)}\n Expected these arguments to match one of the "
            f"following {len(self.saved)} option(s):"
        ]
        for number, saved in enumerate(self.saved, 1):
            lines.append(f"Option {number}:\n{_format_call(*saved.signature)}")
        return "\n\n".join(lines)


def _format_call(args: tuple[Any, ...], kwargs: dict[Any, Any]) -> str:
    lines = [f"  Positional arguments ({len(args)} total):"]
    lines += [f"    * {value!r}" for value in args]
    return "\n".join([*lines, f"  Keyword arguments: {kwargs}"])


def match_arguments(expected: object, given: Any, convert: bool) -> list | None:
    """Match `given` with the specs of a trace: the tensors, or None if it does not fit.

    Numbers, arrays and lists become tensors only if `convert` says so.
    """
    if isinstance(expected, TensorSpec):
        return _match_tensor(expected, given, convert)
    if isinstance(expected, TypeSpec):
        if isinstance(given, TypeSpec):
            parts: Any = given
            return list(parts.part_specs()) if given == expected else None
        fits = expected.is_compatible_with(given)
        return given._flat_components() if fits else None
    if structure.is_nested(expected):
        return _match_nest(expected, given, convert)
    if given is None or expected is None:
        return [] if given is expected else None
    if is_tensor_like(given) or structure.is_nested(given) or isinstance(given, np.ndarray):
        return None
    try:
        return [] if bool(given == expected) else None
    except (TypeError, ValueError):
        return None


def _match_tensor(spec: TensorSpec, given: object, convert: bool) -> list | None:
    if isinstance(given, TensorSpec):
        return [given] if spec.is_compatible_with(given) else None
    if not is_tensor_like(given):
        if not convert or given is None or isinstance(given, TypeSpec):
            return None
        try:
            given = convert_to_tensor(given, spec.dtype)
        except (TypeError, ValueError):
            return None
    elif not isinstance(given, Tensor):
        given = convert_to_tensor(given)
    fits = given.dtype is spec.dtype and spec.shape.is_compatible_with(given.shape)
    return [given] if fits else None


def _match_nest(expected: Any, given: Any, convert: bool) -> list | None:
    if not structure.is_nested(given):
        return None
    if isinstance(expected, dict) != (structure.kind_of(given) == structure.MAPPING):
        return None
    if isinstance(expected, dict) and expected.keys() != given.keys():
        return None
    ours, theirs = structure.children(expected), structure.children(given)
    if len(ours) != len(theirs):
        return None
    tensors_out: list = []
    for part, value in zip(ours, theirs):
        tensors = match_arguments(part, value, convert)
        if tensors is None:
            return None
        tensors_out += tensors
    return tensors_out


class RestoredSignature(ConcreteFunction):
    """A signature: it takes keywords, or one tensor if it has just one argument."""

    @property
    def structured_outputs(self) -> dict:
        """Specs of the results, with their names."""
        return {
            key: TensorSpec(spec.shape, spec.dtype, key)
            for key, spec in sorted(self.output_specs.items())
        }

    def __call__(self, *args: object, **kwargs: object) -> Any:
        names = self._argument_names
        if len(args) > min(1, len(names)):
            raise type_error(
                "TW104",
                f"{self.name}({', '.join(names)}) takes "
                f"{min(1, len(names))} positional arguments, got {len(args)}.",
            )
        named = {sanitize_arg_name(name): name for name in names}
        given = dict(zip(names, args))
        given |= {named.get(key, key): value for key, value in kwargs.items()}
        missing = [name for name in names if name not in given]
        unknown = [name for name in given if name not in names]
        if missing or unknown:
            what = (
                f"missing required arguments: {', '.join(missing)}"
                if missing
                else (f"got unexpected keyword arguments: {', '.join(unknown)}")
            )
            raise type_error("TW104", f"{self.name}({', '.join(names)}) {what}.")
        return super().__call__(**{name: given[name] for name in names})
