"""What a trace takes and gives, as a Python signature with specs for annotations."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from typing import Any

from talweg.core.dtypes import resource
from talweg.core.spec import TensorSpec
from talweg.graph.handle import Handle
from talweg.graph.symbol import Symbol


class Parameter(inspect.Parameter):
    """A parameter of a trace; its annotation is what it was traced for."""

    @property
    def type_constraint(self) -> Any:
        """Specs in place of tensors, anything else as it was given."""
        return self.annotation

    @property
    def optional(self) -> bool:
        """Whether a call may leave it out: never, defaults are part of a trace."""
        return False


class FunctionType(inspect.Signature):
    """What a trace takes and gives: a Python signature with specs for annotations.

    `captures` has the specs of what is taken from outside, by identity.
    """

    flat_inputs: list[TensorSpec]
    flat_outputs: list[TensorSpec]
    captures: OrderedDict[int, TensorSpec]

    @property
    def output(self) -> Any:
        """The specs of the results, in their structure."""
        return self.return_annotation


def shape_or_none(spec: TensorSpec) -> Any:
    """The shape of a spec; None stays None."""
    return None if spec is None else spec.shape


def dtype_or_none(spec: TensorSpec) -> Any:
    """The dtype of a spec; None stays None."""
    return None if spec is None else spec.dtype


def output_spec(symbol: Symbol) -> TensorSpec:
    """The spec of a result."""
    return TensorSpec(symbol.shape, symbol.dtype)


def captured_spec(value: object) -> TensorSpec:
    """The spec of what is captured: a tensor or a variable."""
    return TensorSpec((), resource) if type(value) is Handle else TensorSpec.from_tensor(value)
