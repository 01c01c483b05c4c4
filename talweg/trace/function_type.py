"""Types of traces: a Python signature with specs for annotations."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from keyword import iskeyword
from typing import Any

from talweg.core.dtypes import resource
from talweg.core.spec import TensorSpec
from talweg.graph.handle import Handle
from talweg.graph.symbol import Symbol


class Parameter(inspect.Parameter):
    """A parameter of a trace; its annotation is the type it was traced for."""

    @property
    def type_constraint(self) -> Any:
        """The type: specs in place of tensors, other values as they were given."""
        return self.annotation

    @property
    def optional(self) -> bool:
        """Whether a call may leave it out: never, defaults are part of a trace."""
        return False


class FunctionType(inspect.Signature):
    """The type of a trace: a Python signature with specs for annotations.

    `captures` has the specs of what is taken from outside, by identity.
    """

    flat_inputs: list[TensorSpec]
    flat_outputs: list[TensorSpec]
    captures: OrderedDict[int, TensorSpec]

    @property
    def output(self) -> Any:
        """The specs of the results, in their structure."""
        return self.return_annotation


def parameter_name(name: str) -> str:
    """Return the name of a parameter for a keyword, which may be any text: `f(**{"0/x": y})`."""
    if name.isidentifier() and not iskeyword(name):
        return name
    plain = "".join([letter if letter.isalnum() else "_" for letter in name])
    return plain if plain[:1].isalpha() and not iskeyword(plain) else f"arg_{plain}"


def shape_or_none(spec: TensorSpec) -> Any:
    """Return the shape of a spec; None stays None."""
    return None if spec is None else spec.shape


def dtype_or_none(spec: TensorSpec) -> Any:
    """Return the dtype of a spec; None stays None."""
    return None if spec is None else spec.dtype


def output_spec(symbol: Symbol) -> TensorSpec:
    """Return the spec of a result."""
    return TensorSpec(symbol.shape, symbol.dtype)


def derive_captured_spec(value: object) -> TensorSpec:
    """Return the spec of a captured tensor or variable."""
    return TensorSpec((), resource) if type(value) is Handle else TensorSpec.from_tensor(value)
