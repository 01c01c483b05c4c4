"""TensorFlow's private registry of derivatives, which SHAP changes for a while.

An entry is a dictionary whose "type" is a function of an operation and the gradients of its
results.  One that is set holds for operations of graphs that are made from then on, until the
first is put back.
"""

from __future__ import annotations

from typing import Any

from talweg.api.export import look_up
from talweg.api.registered_gradients import override_everywhere
from talweg.raw.operations import find

LOCATION = ("unknown",) * 5


def own_gradient(op: Any, *grads: Any) -> Any:
    """Return the derivative that an operation has:
    a tensor for one input, else a list, None included.
    """
    found = look_up("gradients")(list(op.outputs), list(op.inputs), list(grads))
    return found[0] if len(found) == 1 else found


class RegistryEntry(dict):
    """The derivative of one type of operation."""

    def __init__(self, op_type: str):
        super().__init__(type=own_gradient, location=LOCATION)
        self.op_type = op_type

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        if key == "type":
            override_everywhere(self.op_type, None if value is own_gradient else value)


class RegistryEntries(dict):
    """The entries by types of operations; those of TensorFlow's operations are all there."""

    def __contains__(self, op_type: object) -> bool:
        return super().__contains__(op_type) or (
            isinstance(op_type, str) and find(op_type) is not None
        )

    def __missing__(self, op_type: str) -> RegistryEntry:
        if op_type not in self:
            raise KeyError(op_type)
        self[op_type] = entry = RegistryEntry(op_type)
        return entry


class GradientRegistry:
    """Registers gradients by name, as `tensorflow.python.framework.ops._gradient_registry`."""

    def __init__(self) -> None:
        self._registry = RegistryEntries()

    def lookup(self, op_type: str) -> Any:
        """Return the derivative of a type of operation; LookupError if there is none."""
        if op_type not in self._registry:
            raise LookupError(f"No gradient defined for operation (op type: {op_type})  [TW304]")
        return self._registry[op_type]["type"]


GRADIENT_REGISTRY = GradientRegistry()


def record_gradient(op_name: str, inputs: Any, attrs: Any, results: Any) -> None:
    """Tell tapes of an operation: they are told when it is computed."""
