"""Types of traces: a Python signature with specs for annotations."""

from __future__ import annotations

import inspect
from collections import OrderedDict
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


def sanitize_arg_name(name: str) -> str:
    """Return a name of a tensor as the name of a parameter: "0/x" as "arg_0_x"."""
    text = "".join([character if character.isalnum() else "_" for character in name])
    return text if text[:1].isalpha() else f"arg_{text}"


def list_keywords(values: dict[str, Any]) -> list[tuple]:
    """Return the name, the kind and the value of parameters that are given by name."""
    names = [key if key.isidentifier() else sanitize_arg_name(key) for key in values]
    kind = inspect.Parameter.KEYWORD_ONLY
    return [(name, kind, value) for name, value in zip(names, values.values())]


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
