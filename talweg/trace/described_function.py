"""Descriptions of a trace: inputs, results, variables, signature, text."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from talweg.core.spec import TensorSpec, TypeSpec
from talweg.graph import structure
from talweg.graph.handle import Handle
from talweg.graph.symbol import Symbol
from talweg.graph.text import to_text
from talweg.trace.function_type import (
    FunctionType,
    Parameter,
    derive_captured_spec,
    dtype_or_none,
    output_spec,
    shape_or_none,
)
from talweg.trace.result_structure import is_plain_nest


class DescribedFunction:
    """The part of a `ConcreteFunction` that describes it."""

    name: str
    graph: Any
    body: Any
    formals: tuple
    writes: tuple
    parameters: list[tuple]
    flat_inputs: list[TensorSpec]
    _outside: list
    _absent: list[bool]
    _argument_names: list[str]
    _template: Any
    _pack: Any

    @property
    def inputs(self) -> list:
        """The inputs of the graph: arguments, then captures (variables as resources)."""
        return self.graph.inputs

    @property
    def outputs(self) -> list:
        """The results in the graph, flat."""
        return self.graph.outputs

    @property
    def captured_inputs(self) -> list:
        """The tensors and variables the function uses from outside."""
        return [v.variable if type(v) is Handle else v for v in self._list_captures()]

    def _list_captures(self) -> list:
        """Return the captures, without variables among the arguments."""
        return [v for v in self._outside if type(v) is not Handle or v not in self.formals]

    @property
    def variables(self) -> tuple:
        """The variables the function uses."""
        return self.graph.variables

    @property
    def trainable_variables(self) -> tuple:
        """The trainable variables the function uses."""
        return self.graph.trainable_variables

    @property
    def structured_outputs(self) -> Any:
        """The results in the graph, in their structure.

        >>> import talweg as tf
        >>> double = tf.function(lambda x: {"y": 2 * x})
        >>> concrete = double.get_concrete_function(tf.TensorSpec([None], tf.float32))
        >>> concrete.structured_outputs["y"].shape
        TensorShape([None])
        """
        return self.graph.structured_outputs

    @property
    def output_specs(self) -> Any:
        """Specs of the results, in their structure."""
        symbols = iter([self.graph.symbol(node) for node in self.body.outputs])
        flat = [None if absent else output_spec(next(symbols)) for absent in self._absent]
        return (
            structure.pack(self._template, flat, composites=False)
            if is_plain_nest(self._template)
            else flat
        )

    @property
    def function_type(self) -> FunctionType:
        """The type of the trace: parameters, results and captures, with their specs.

        >>> import talweg as tf
        >>> double = tf.function(lambda x, times=2: x * times)
        >>> concrete = double.get_concrete_function(tf.TensorSpec([None], tf.float32))
        >>> list(concrete.function_type.parameters)
        ['x', 'times']
        >>> concrete.function_type.parameters["times"].type_constraint
        2
        >>> concrete.function_type.output
        TensorSpec(shape=(None,), dtype=tf.float32, name=None)
        """
        parameters = [
            Parameter(name, kind, annotation=value) for name, kind, value in self.parameters
        ]
        function_type = FunctionType(parameters, return_annotation=self.output_specs)
        function_type.flat_inputs = list(self.flat_inputs)
        function_type.flat_outputs = [output_spec(symbol) for symbol in self.outputs]
        function_type.captures = OrderedDict(
            (id(v), derive_captured_spec(v)) for v in self._list_captures()
        )
        return function_type

    @property
    def signature(self) -> inspect.Signature:
        """The parameters; a Python value that was traced is its parameter's default."""
        found = []
        for name, kind, value in self.parameters:
            plain = not any(hasattr(leaf, "dtype") for leaf in structure.flatten(value))
            default = value if plain and kind is not kind.POSITIONAL_ONLY else Parameter.empty
            if (
                kind is not kind.KEYWORD_ONLY
                and default is Parameter.empty
                and found
                and (found[-1].default is not Parameter.empty)
            ):
                found = [part.replace(default=Parameter.empty) for part in found]
            found.append(inspect.Parameter(name, kind, default=default))
        return inspect.Signature(found)

    @property
    def output_shapes(self) -> Any:
        """The static shapes of the results, in their structure."""
        return structure.map_leaves(shape_or_none, self.output_specs)

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of the results, in their structure."""
        return structure.map_leaves(dtype_or_none, self.output_specs)

    @property
    def inference_fn(self) -> Any:
        """The function without a tape: this one, which adapts to its callers."""
        return self

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """Print parameters, results and captures, a line each if `verbose`."""
        found = self.function_type
        plain = is_plain_nest(self._template)
        output = type_text(self.output_specs if plain else self.structured_outputs)
        if not verbose:
            return f"({', '.join(_list_parameters(self.parameters))}) -> {output}"
        lines = ["Input Parameters:"]
        for name, kind, value in self.parameters:
            lines.append(f"  {name} ({kind.name}): {type_text(value)}")
        if not self.parameters:
            lines.append("  None")
        lines += ["Output Type:", f"  {output}", "Captures:"]
        captured = [f"  {number}: {spec!r}" for number, spec in found.captures.items()]
        return "\n".join([*lines, *(captured or ["  None"])])

    def to_text(self) -> str:
        """Print the graph; `talweg.graph.text.parse` reads it back if it calls no Python."""
        return to_text(self.body, self.name, to_parse=False)

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.pretty_printed_signature(verbose=False)} at {id(self):#x}>"

    def __str__(self) -> str:
        return f"ConcreteFunction {self.pretty_printed_signature()}"


def type_text(value: Any) -> str:
    """Print the type of an argument or result: specs, Python values, their containers."""
    if isinstance(value, TypeSpec):
        return repr(value)
    if isinstance(value, Symbol):
        return repr(output_spec(value))
    if isinstance(getattr(value, "_type_spec", None), TypeSpec):
        return repr(value._type_spec)
    if isinstance(value, Mapping):
        rows = [f"[{key!r}, {type_text(part)}]" for key, part in value.items()]
        return f"Dict[{', '.join(rows)}]"
    if isinstance(value, (list, tuple)):
        names = getattr(value, "_fields", None)
        parts = [type_text(part) for part in value]
        if names is not None:
            rows = [f"[{name!r}, {part}]" for name, part in zip(names, parts)]
            return f"{type(value).__name__}[{', '.join(rows)}]"
        return f"{'List' if isinstance(value, list) else 'Tuple'}[{', '.join(parts)}]"
    return f"Literal[{value!r}]"


def _list_parameters(parameters: list[tuple]) -> list[str]:
    """List parameters as in a definition, with `/` and `*`."""
    found: list[str] = []
    kinds = [kind for _, kind, _ in parameters]
    for place, (name, kind, value) in enumerate(parameters):
        if kind is kind.KEYWORD_ONLY and kind not in kinds[:place]:
            found.append("*")
        found.append(f"{name}: {type_text(value)}")
        if kind is kind.POSITIONAL_ONLY and kind not in kinds[place + 1 :]:
            found.append("/")
    return found
