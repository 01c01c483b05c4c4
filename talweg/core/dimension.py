"""One size of a shape as TensorFlow 1 has it: a number that may be unknown."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core.errors import type_error, value_error
from talweg.core.shapes import dimension_of

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.dims import Size


class Dimension:
    """A size, or an unknown one (None); arithmetic with an unknown size is unknown.

    ValueError for negative sizes, TypeError for what is no integer.

    >>> import talweg.compat.v1 as tf
    >>> (tf.Dimension(3) + 1).value, (tf.Dimension(None) + 1).value
    (4, None)
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any):
        self._value = dimension_of(value)

    @property
    def value(self) -> int | None:
        """The size; None if unknown."""
        return self._value

    def is_compatible_with(self, other: Size) -> bool:
        """Return whether both may be the same size."""
        size = dimension_of(other)
        return self._value is None or size is None or self._value == size

    def assert_is_compatible_with(self, other: Size) -> None:
        """Raise ValueError unless `is_compatible_with`."""
        if not self.is_compatible_with(other):
            raise value_error("TW204", f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Size) -> Dimension:
        """Return the merged dimension; ValueError if they differ."""
        self.assert_is_compatible_with(other)
        return Dimension(other if self._value is None else self._value)

    def _combine(self, other: Size, apply: Callable[[int, int], Any]) -> Any:
        size = dimension_of(other)
        if self._value is None or size is None:
            return None
        return apply(self._value, size)

    def __add__(self, other: object) -> Dimension:
        return Dimension(self._combine(other, operator.add))

    def __sub__(self, other: object) -> Dimension:
        return Dimension(self._combine(other, operator.sub))

    def __rsub__(self, other: TensorLike) -> Dimension:
        return Dimension(self._combine(other, lambda a, b: b - a))

    def __mul__(self, other: TensorLike) -> Dimension:
        return Dimension(self._combine(other, operator.mul))

    def __floordiv__(self, other: TensorLike) -> Dimension:
        return Dimension(self._combine(other, operator.floordiv))

    def __rfloordiv__(self, other: TensorLike) -> Dimension:
        return Dimension(self._combine(other, lambda a, b: b // a))

    def __mod__(self, other: TensorLike) -> Dimension:
        return Dimension(self._combine(other, operator.mod))

    def __rmod__(self, other: TensorLike) -> Dimension:
        return Dimension(self._combine(other, lambda a, b: b % a))

    __radd__, __rmul__ = __add__, __mul__

    def __eq__(self, other: object) -> Any:
        try:
            return self._combine(other, operator.eq)
        except (TypeError, ValueError):
            return NotImplemented

    def __ne__(self, other: object) -> Any:
        try:
            return self._combine(other, operator.ne)
        except (TypeError, ValueError):
            return NotImplemented

    def __lt__(self, other: TensorLike) -> Any:
        return self._combine(other, operator.lt)

    def __le__(self, other: object) -> Any:
        return self._combine(other, operator.le)

    def __gt__(self, other: TensorLike) -> Any:
        return self._combine(other, operator.gt)

    def __ge__(self, other: TensorLike) -> Any:
        return self._combine(other, operator.ge)

    def __hash__(self) -> int:
        return hash(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __int__(self) -> int:
        return self.__index__()

    def __index__(self) -> int:
        if self._value is None:
            raise type_error("TW205", "an unknown Dimension has no number")
        return self._value

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __reduce__(self) -> Any:
        return Dimension, (self._value,)
