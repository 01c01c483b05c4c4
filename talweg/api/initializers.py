"""tf.zeros_initializer and relatives: TensorFlow 2's initializers (those outside Keras).

With a seed they are stateless: the same seed gives the same numbers at every call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.creating import ones, zeros
from talweg.api.export import export
from talweg.api.random import stateful, stateless
from talweg.api.tensors import constant
from talweg.core.dtypes import as_dtype, float32, string
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import as_shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike

_PARTITION = ("partition_shape", "partition_offset")


class Initializer:
    """Base of initializers: a configuration, and a value for a shape and dtype."""

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: object) -> Any:
        """Return the first value of a variable of this shape and dtype."""
        raise NotImplementedError("an initializer says how it makes its value")

    def get_config(self) -> dict:
        """Return the arguments it was made with."""
        return {}

    @classmethod
    def from_config(cls, config: dict) -> Any:
        """Return an initializer of the arguments that `get_config` gave."""
        config = dict(config)
        config.pop("dtype", None)
        return cls(**config)


def _whole_or_part(shape: ShapeLike, kwargs: dict) -> Any:
    """Return the shape to make: that of a part of a variable if one is asked for."""
    for key in kwargs:
        if key not in _PARTITION:
            raise type_error("TW104", f"Unknown keyword arguments: {key}")
    return kwargs.get("partition_shape", shape)


def _fill(make: Callable[..., Any], shape: ShapeLike, dtype: DTypeLike, kwargs: dict) -> Any:
    shape, dtype = _whole_or_part(shape, kwargs), as_dtype(dtype)
    if dtype is string or not dtype.is_numpy_compatible:
        raise value_error("TW102", f"Expected numeric or boolean dtype, got {dtype!r}.")
    return make(shape, dtype)


@export("zeros_initializer")
class Zeros(Initializer):
    """Initializes with zeros; ValueError for strings.

    >>> import talweg as tf
    >>> tf.zeros_initializer()([2]).numpy()
    array([0., 0.], dtype=float32)
    """

    def __call__(self, shape: ShapeLike, dtype: DTypeLike = float32, **kwargs: object) -> Any:
        """Return zeros of this shape and dtype."""
        return _fill(zeros, shape, dtype, kwargs)


@export("ones_initializer")
class Ones(Initializer):
    """Initializes with ones; ValueError for strings.

    >>> import talweg as tf
    >>> tf.ones_initializer()([2], tf.int32).numpy()
    array([1, 1], dtype=int32)
    """

    def __call__(self, shape: ShapeLike, dtype: DTypeLike = float32, **kwargs: object) -> Any:
        """Return ones of this shape and dtype."""
        return _fill(ones, shape, dtype, kwargs)


@export("constant_initializer")
class Constant(Initializer):
    """Initializes with `value`: a number, or an array of the shape's size; else TypeError.

    >>> import talweg as tf
    >>> tf.constant_initializer(3.0)([2]).numpy()
    array([3., 3.], dtype=float32)
    """

    def __init__(self, value: TensorLike = 0, support_partition: bool = False):
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise type_error(
                "TW104",
                f"Invalid type for initial value: {type(value)}",
                "a Python scalar, list or tuple of values, or numpy.ndarray",
            )
        self.value = value

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: object) -> Any:
        """Return the value in this shape, of this dtype or its own."""
        shape = as_shape(_whole_or_part(shape, kwargs)).as_list()
        return constant(self.value, None if dtype is None else as_dtype(dtype), shape)

    def get_config(self) -> dict:
        """Return the value."""
        return {"value": self.value}


@export("random_uniform_initializer")
class RandomUniform(Initializer):
    """Uniform numbers of [minval, maxval), floats or integers; ValueError for other dtypes.

    >>> import talweg as tf
    >>> tf.random_uniform_initializer(seed=1)([2, 3]).shape
    TensorShape([2, 3])
    """

    def __init__(
        self, minval: TensorLike = -0.05, maxval: TensorLike = 0.05, seed: int | None = None
    ):
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape: ShapeLike, dtype: DTypeLike = float32, **kwargs: object) -> Any:
        """Return numbers of this shape and dtype."""
        shape, dtype = _whole_or_part(shape, kwargs), as_dtype(dtype)
        if not dtype.is_floating and not dtype.is_integer:
            raise value_error("TW102", f"Expected float or integer dtype, got {dtype!r}.")
        if self.seed is not None:
            return stateless.stateless_uniform(
                shape, [self.seed, 0], self.minval, self.maxval, dtype
            )
        return stateful.uniform(shape, self.minval, self.maxval, dtype, self.seed)

    def get_config(self) -> dict:
        """Return bounds and seed."""
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed}


@export("random_normal_initializer")
class RandomNormal(Initializer):
    """Normal numbers; ValueError for a dtype that is not floating.

    >>> import talweg as tf
    >>> tf.random_normal_initializer(mean=5.0, seed=1)([4]).shape
    TensorShape([4])
    """

    def __init__(self, mean: TensorLike = 0.0, stddev: TensorLike = 0.05, seed: int | None = None):
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape: ShapeLike, dtype: DTypeLike = float32, **kwargs: object) -> Any:
        """Return numbers of this shape and dtype."""
        shape, dtype = _whole_or_part(shape, kwargs), as_dtype(dtype)
        if not dtype.is_floating:
            raise value_error("TW102", f"Expected floating point type, got {dtype!r}.")
        if self.seed is not None:
            return stateless.stateless_normal(shape, [self.seed, 0], self.mean, self.stddev, dtype)
        return stateful.normal(shape, self.mean, self.stddev, dtype, self.seed)

    def get_config(self) -> dict:
        """Return mean, deviation and seed."""
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed}
