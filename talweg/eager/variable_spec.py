"""The spec of a variable, as `tf.type_spec_from_value` and functions of variables know it."""

from __future__ import annotations

from typing import Any

from talweg.core.spec import TensorSpec
from talweg.eager.variable import Variable


class VariableSpec(TensorSpec):
    """The shape, dtype and trainability of a variable.

    Among the arguments of a function, equal numbers `alias_id` say which are the same variable.
    """

    __slots__ = ("alias_id", "trainable")

    def __init__(self, shape: Any, dtype: Any, trainable: bool = True, alias_id: int | None = None):
        super().__init__(shape, dtype)
        self.trainable, self.alias_id = trainable, alias_id

    @property
    def key(self) -> tuple:
        """All of it, as a tuple that can be compared."""
        dims = None if self.shape.rank is None else self.shape.as_tuple()
        return (self.alias_id, self.dtype, self.trainable, dims)

    @property
    def value_type(self) -> type:
        """`tf.Variable`."""
        return Variable

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Return whether a variable or its spec has this dtype and a compatible shape."""
        other = spec_or_value
        return (
            isinstance(other, (Variable, VariableSpec))
            and other.dtype is self.dtype
            and self.shape.is_compatible_with(other.shape)
        )

    def _serialize(self) -> tuple:
        return self.shape, self.dtype, self.trainable

    def __repr__(self) -> str:
        return (
            f"VariableSpec(shape={self.shape}, dtype={self.dtype!r}, "
            f"trainable={self.trainable}, alias_id={self.alias_id})"
        )
