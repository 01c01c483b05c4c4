"""Values on the edges of a GraphDef besides tensors, and the table of rules."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from talweg.api.export import look_up
from talweg.core import dispatch
from talweg.eager.convert import convert_to_tensor
from talweg.graph.handle import Handle
from talweg.graph.symbol import Symbol
from talweg.prims import arithmetic
from talweg.prims.state import after
from talweg.trace.opaque_calls import OpaqueCall

if TYPE_CHECKING:
    import numpy as np

    from talweg.core.dtypes import DType

RULES: dict[str, Callable[..., Any]] = {}  # type of operation -> rule(builder, item, inputs)


def rule(*names: str) -> Callable[[Any], Any]:
    """Register how operations of these types are built.

    A rule gets the builder, the item and its inputs, and gives a list of outputs; for an operation
    without outputs, what others wait for (a tensor or operation, or None).
    """

    def register(function: Callable[..., Any]) -> Any:
        for name in names:
            RULES[name] = function
        return function

    return register


class ResourceEdge:
    """A variable, or a table: `handle` is what nodes know of it.

    `reference` says that it is one of the first generation, whose value is read by whoever takes
    it as a tensor.  `written` is the value it was given last on this edge.
    """

    __slots__ = ("handle", "reference", "written")

    def __init__(self, handle: object, reference: bool = False, written: Any = None):
        self.handle, self.reference, self.written = handle, reference, written

    @property
    def is_table(self) -> bool:
        """Whether it is a lookup table, which has no value."""
        return type(self.handle) is not Handle

    def read(self) -> Symbol:
        """Read the value here, as of the control dependencies in force."""
        if self.written is not None:
            return self.written
        return base().read_variable(self.handle)


class ArrayHandle:
    """A TensorArray: its elements travel in the flow."""

    __slots__ = ("alike", "dims", "dtype", "dynamic", "filled", "gradient_of")

    def __init__(self, dtype: Any, dims: tuple | None, dynamic: bool, alike: bool):
        self.dtype, self.dims = dtype, dims
        self.dynamic = dynamic  # whether it grows
        self.alike = alike  # whether all elements have one shape
        self.filled: Any = None  # the flow of which gradients were first asked for
        self.gradient_of: ArrayHandle | None = None  # the array whose gradients it has


class NodeCall(OpaqueCall):
    """Calls a type of operation with these attributes on arrays."""

    def __init__(self, function: Any, args: tuple, op: str, attributes: dict):
        super().__init__(function, args, {})
        self.op, self.attributes = op, attributes

    @property
    def tf_type(self) -> str:
        """TensorFlow's type of operation."""
        return self.op

    def __hash__(self) -> int:
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)


def base() -> Any:
    """Return the graph in force."""
    return dispatch.context.base


def tensor(value: Symbol | ResourceEdge) -> Any:
    """Convert an edge's value to a tensor: a reference is read."""
    return value.read() if isinstance(value, ResourceEdge) and value.reference else value


def pass_on(value: Symbol | ResourceEdge) -> Any:
    """Pass `value` on as the result of an operation of its own."""
    if type(value) is not Symbol:
        return value
    if value.dtype.is_numeric and not value.dtype.is_quantized:
        return arithmetic.identity(value)
    return after(value)


def constant(value: int | np.ndarray, dtype: DType | None = None) -> Symbol:
    """Return a constant of the graph in force."""
    found = convert_to_tensor(value, dtype)
    return found if type(found) is Symbol else base().bring_in(found)


@cache
def raw_operation(name: str) -> tuple[Any, tuple]:
    """Find (the function of tf.raw_ops, the names of its arguments); (None, ...) if there is
    none.
    """
    try:
        function = look_up(f"raw_ops.{name}")
    except AttributeError:
        return None, ()
    return function, tuple(inspect.signature(function).parameters)


__all__ = [
    "RULES",
    "ArrayHandle",
    "ResourceEdge",
    "base",
    "constant",
    "pass_on",
    "raw_operation",
    "rule",
    "tensor",
]
