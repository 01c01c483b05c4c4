"""What a trace takes and gives, as a Python signature with specs for annotations."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from typing import Any

from talweg.core.spec import TensorSpec


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
