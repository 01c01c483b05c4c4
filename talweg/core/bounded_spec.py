"""Specs of tensors with bounds, by which TF-Agents describes actions."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.core.dtypes import as_dtype, float32
from talweg.core.errors import value_error
from talweg.core.spec import TensorSpec


class BoundedTensorSpec(TensorSpec):
    """A `tf.TensorSpec` whose elements lie between two bounds, both included.

    minimum, maximum: numbers or arrays that broadcast to the shape; ValueError for those that do
    not.
    """

    __slots__ = ("_maximum", "_minimum")

    def __init__(
        self,
        shape: Any,
        dtype: Any = float32,
        minimum: Any = None,
        maximum: Any = None,
        name: str | None = None,
    ):
        super().__init__(shape, dtype, name)
        for which, bound in (("minimum", minimum), ("maximum", maximum)):
            if bound is None:
                raise value_error("TW104", f"`{which}` can not be None.")
            if self.shape.is_fully_defined():
                self._check(which, np.shape(bound))
        self._minimum = np.array(minimum, dtype=self.dtype.as_numpy_dtype)
        self._maximum = np.array(maximum, dtype=self.dtype.as_numpy_dtype)
        for bound in (self._minimum, self._maximum):
            bound.setflags(write=False)

    def _check(self, which: str, given: tuple) -> None:
        sizes = tuple(self.shape.as_list())
        try:
            fits = np.broadcast_shapes(given, sizes) == sizes
        except ValueError:
            fits = False
        if not fits:
            raise value_error(
                "TW202",
                f"`{which}` of shape {given} is not compatible with shape {sizes}: it must "
                "broadcast to it",
            )

    @property
    def minimum(self) -> np.ndarray:
        """The lower bound."""
        return self._minimum

    @property
    def maximum(self) -> np.ndarray:
        """The upper bound."""
        return self._maximum

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> BoundedTensorSpec:
        """Return the spec with shape, dtype and bounds of another;
        the dtype's own where it has none.
        """
        dtype = as_dtype(spec.dtype)
        low, high = getattr(spec, "minimum", dtype.min), getattr(spec, "maximum", dtype.max)
        return cls(spec.shape, dtype, low, high, name or spec.name)

    def _serialize(self) -> tuple:
        return self._shape, self._dtype, self._minimum, self._maximum, self._name

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Return whether a tensor or spec has this dtype
        and a compatible shape; bounds are not asked.
        """
        return TensorSpec(self._shape, self._dtype).is_compatible_with(spec_or_value)

    def _without_bounds(self) -> TensorSpec:
        return TensorSpec(self._shape, self._dtype, self._name)

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, BoundedTensorSpec)
            and self._without_bounds() == other._without_bounds()
            and np.allclose(self._minimum, other._minimum)
            and np.allclose(self._maximum, other._maximum)
        )

    def __hash__(self) -> int:
        return hash(self._without_bounds())

    def __repr__(self) -> str:
        return (
            f"BoundedTensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r}, "
            f"minimum={self._minimum!r}, maximum={self._maximum!r})"
        )
