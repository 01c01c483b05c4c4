"""Trace types: a user's class declares which of its values share a trace.

A value with `__tf_tracing_type__(context)` gives a `TraceType`.  Two calls share a trace if the
types are equal, or the new one is a subtype of the old.  Tensors that `to_tensors` gives are inputs
of the trace; inside, the value is what `from_tensors` or `placeholder_value` makes of them.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from talweg.core.spec import TypeSpec

if TYPE_CHECKING:
    from talweg.core.spec import TensorSpec


class TracingContext:
    """The argument of `__tf_tracing_type__`, without use here."""


class PlaceholderContext:
    """The argument of `placeholder_value`, which hands out the inputs of the trace in order."""

    def __init__(self, tensors: Sequence[Any] = ()):
        self._tensors = iter(tensors)

    def next_tensor(self, spec: TensorSpec) -> Any:
        """Return the next input; TypeError if all have been handed out."""
        found = next(self._tensors, None)
        if found is None:
            raise TypeError(f"placeholder_value asks for a tensor of {spec}, and none is left")
        return found


class TraceType(metaclass=abc.ABCMeta):
    """The type of an argument for tracing (`tf.types.experimental.TraceType`).

    A subclass compares (`__eq__`, `__hash__`, `is_subtype_of`), and makes the value that the trace
    sees.  `tf.TensorSpec` and the other specs are trace types.

    >>> import talweg as tf
    >>> isinstance(tf.TensorSpec([2]), tf.types.experimental.TraceType)
    True
    """

    @abc.abstractmethod
    def is_subtype_of(self, other: TraceType) -> bool:
        """Return whether a trace for `other` serves values of this type."""

    @abc.abstractmethod
    def most_specific_common_supertype(self, others: Sequence[TraceType]) -> TraceType | None:
        """Return the narrowest common supertype, None if there is none."""

    @abc.abstractmethod
    def placeholder_value(self, placeholder_context: object) -> Any:
        """Return the value that the trace sees."""

    def to_tensors(self, value: object) -> list[Any]:
        """Return the tensors of a value; they become inputs of the trace."""
        return []

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """Build the value from as many tensors as it needs."""
        return self.placeholder_value(PlaceholderContext())

    def flatten(self) -> list[Any]:
        """Return the types of the tensors."""
        return []

    def cast(self, value: object, cast_context: Any) -> Any:
        """Return `value` if its type is a subtype of this one; TypeError otherwise."""
        given = type_of(value)
        if given is None or not given.is_subtype_of(self):
            raise TypeError(f"Can not cast {value!r} to type {self!r}")
        return value

    @abc.abstractmethod
    def __hash__(self) -> int: ...

    @abc.abstractmethod
    def __eq__(self, other: object) -> bool: ...


TraceType.register(TypeSpec)


@runtime_checkable
class SupportsTracingProtocol(Protocol):
    """The protocol of `__tf_tracing_type__(context)`.

    >>> import talweg as tf
    >>> class Fruit:
    ...     def __tf_tracing_type__(self, context):
    ...         return FruitType()
    >>> isinstance(Fruit(), tf.types.experimental.SupportsTracingProtocol)
    True
    """

    def __tf_tracing_type__(self, context: object) -> Any:
        """Return the trace type of this value."""
        ...


class TraceTypeKey:
    """A trace type as part of the key of a trace."""

    __slots__ = ("type",)

    def __init__(self, type: Any):  # noqa: A002
        self.type = type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TraceTypeKey) and self.type == other.type

    def __hash__(self) -> int:
        return hash(self.type)

    def __repr__(self) -> str:
        return repr(self.type)

    def serves(self, key: object) -> bool:
        """Return whether a trace for this type serves values of another."""
        return isinstance(key, TraceTypeKey) and bool(key.type.is_subtype_of(self.type))


class TypedPlace:
    """The position of a value with a trace type, with the positions of its tensors."""

    __slots__ = ("places", "type")

    def __init__(self, type: Any, places: list):  # noqa: A002
        self.type, self.places = type, places

    def value_of(self, tensors: list) -> Any:
        """Return the value that the trace sees, built from these tensors."""
        own = type(self.type).__dict__.get("from_tensors")
        if tensors and own is not None:
            return self.type.from_tensors(iter(tensors))
        return self.type.placeholder_value(PlaceholderContext(tensors))


def type_of(value: object) -> Any:
    """Return the trace type that a value's class defines, or None."""
    asked = getattr(type(value), "__tf_tracing_type__", None)
    return None if asked is None else asked(value, TracingContext())
