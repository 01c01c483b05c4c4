"""tf.compat.v1: initializers, functions that make a variable's first value from its shape.

The variance-scaling ones: Glorot and Bengio 2010 (fan_avg), He et al. 2015 (scale 2, fan_in),
LeCun et al. 1998 (scale 1, fan_in).  Orthogonal: Saxe, McClelland and Ganguli 2014.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from talweg.api.array.creating import eye, ones, zeros
from talweg.api.array.shapes import reshape
from talweg.api.export import export
from talweg.api.linalg.decompositions import qr
from talweg.api.linalg.diagonals import diag_part, matrix_transpose
from talweg.api.math.arithmetic import sign
from talweg.api.random import stateful
from talweg.api.tensors import constant
from talweg.core import dispatch
from talweg.core.dtypes import as_dtype, float32
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import as_shape
from talweg.eager.convert import to_array

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike

TRUNCATED_DEVIATION = 0.87962566103423978  # of a normal number cut at two deviations


def sizes_of(shape: object) -> list:
    """Return a shape as a list of its sizes; ValueError if one is unknown."""
    shape = as_shape(shape)
    if not shape.is_fully_defined():
        raise value_error("TW205", f"an initializer needs all sizes, got shape {shape}")
    return shape.as_list()


def fans(sizes: list) -> tuple[Any, Any]:
    """Count the inputs and outputs of a unit of a kernel: [..., inputs, outputs]."""
    if len(sizes) < 2:
        number = sizes[0] if sizes else 1
        return number, number
    field = math.prod(sizes[:-2])
    return sizes[-2] * field, sizes[-1] * field


class Initializer:
    """Base of initializers: a dtype for when none is asked for, and a configuration."""

    options: ClassVar[tuple[str, ...]] = ()
    dtype: Any = float32

    def __call__(
        self,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        partition_info: Any = None,
    ) -> Any:
        """Return the first value of a variable of this shape
        and dtype (the initializer's own if None).
        """
        return self.make(shape, self.dtype if dtype is None else as_dtype(dtype))

    def make(self, shape: ShapeLike, dtype: DTypeLike) -> Any:
        """Return the value."""
        raise NotImplementedError("an initializer says how it makes its value")

    def get_config(self) -> dict:
        """Return the arguments it was made with."""
        return {**{key: getattr(self, key) for key in self.options}, "dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: dict) -> Any:
        """Return an initializer of the arguments that `get_config` gave."""
        return cls(**config)


@export("compat.v1.zeros_initializer", "compat.v1.initializers.zeros")
class Zeros(Initializer):
    """Initializes with zeros.

    >>> import talweg.compat.v1 as tf
    >>> tf.zeros_initializer()([2]).numpy()
    array([0., 0.], dtype=float32)
    """

    def __init__(self, dtype: object = float32):
        self.dtype = as_dtype(dtype)

    def make(self, shape: ShapeLike, dtype: DTypeLike) -> Any:
        """Make zeros."""
        return zeros(shape, dtype)


@export("compat.v1.ones_initializer", "compat.v1.initializers.ones")
class Ones(Initializer):
    """Initializes with ones.

    >>> import talweg.compat.v1 as tf
    >>> tf.ones_initializer(tf.int32)([2]).numpy()
    array([1, 1], dtype=int32)
    """

    def __init__(self, dtype: object = float32):
        self.dtype = as_dtype(dtype)

    def make(self, shape: ShapeLike, dtype: DTypeLike) -> Any:
        """Make ones."""
        return ones(shape, dtype)


@export("compat.v1.constant_initializer", "compat.v1.initializers.constant")
class Constant(Initializer):
    """The elements of `value`, in order; in a graph the last one fills what is left of the shape.

    value: a number, list or array.  TypeError for anything else, where `verify_shape` is set and
    the shape is not the value's, and outside of graphs for a wrong number of elements; ValueError
    in a graph for too many.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     session.run(tf.constant_initializer([1, 2])([2, 2]))
    array([[1., 2.],
           [2., 2.]], dtype=float32)
    """

    options = ("value",)

    def __init__(self, value: TensorLike = 0, dtype: object = float32, verify_shape: bool = False):
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise type_error(
                "TW104",
                f"Invalid type for initial value={value!r} of type {type(value)}",
                "a Python scalar, list or tuple of values, or numpy.ndarray",
            )
        self.value, self.dtype, self._verify = value, as_dtype(dtype), verify_shape

    def __call__(
        self,
        shape: ShapeLike,
        dtype: Any = None,
        partition_info: Any = None,
        verify_shape: ShapeLike | None = None,
    ) -> Any:
        """Return the value in this shape and dtype."""
        dtype = self.dtype if dtype is None else as_dtype(dtype)
        verify = self._verify if verify_shape is None else verify_shape
        array = np.asarray(to_array(self.value, dtype))
        dims = tuple(sizes_of(shape))
        if verify and array.shape != dims:
            raise type_error(
                "TW204", f"Expected Tensor's shape: {dims}, got {array.shape} in an initializer"
            )
        if dispatch.context.base is None:  # there a constant is not filled up
            return constant(array, dtype, dims)
        count = math.prod(dims)
        if array.size > count:
            raise value_error(
                "TW205",
                f"Too many elements provided. Takes at most {count}, but got {array.size}",
            )
        flat = array.reshape(-1)
        if flat.size < count:
            if not flat.size:
                raise value_error("TW205", f"no elements to fill the shape {dims} with")
            flat = np.concatenate([flat, np.full(count - flat.size, flat[-1], flat.dtype)])
        return constant(flat.reshape(dims), dtype)


@export("compat.v1.random_uniform_initializer", "compat.v1.initializers.random_uniform")
class RandomUniform(Initializer):
    """Uniform numbers of [minval, maxval).

    >>> import talweg.compat.v1 as tf
    >>> tf.random_uniform_initializer(-1.0, 1.0, seed=1)([2, 3]).shape
    TensorShape([2, 3])
    """

    options = ("minval", "maxval", "seed")

    def __init__(
        self,
        minval: TensorLike = 0.0,
        maxval: TensorLike | None = None,
        seed: int | None = None,
        dtype: Any = float32,
    ):
        self.minval, self.maxval, self.seed = minval, maxval, seed
        self.dtype = as_dtype(dtype)

    def make(self, shape: ShapeLike, dtype: DTypeLike) -> Any:
        """Return the numbers."""
        return stateful.uniform(shape, self.minval, self.maxval, dtype, self.seed)


@export("compat.v1.random_normal_initializer", "compat.v1.initializers.random_normal")
class RandomNormal(Initializer):
    """Normal numbers.

    >>> import talweg.compat.v1 as tf
    >>> tf.random_normal_initializer(5.0, 0.1, seed=1)([4]).shape
    TensorShape([4])
    """

    options = ("mean", "stddev", "seed")

    def __init__(
        self,
        mean: TensorLike = 0.0,
        stddev: object = 1.0,
        seed: object = None,
        dtype: Any = float32,
    ):
        self.mean, self.stddev, self.seed = mean, stddev, seed
        self.dtype = float_dtype(dtype)

    def make(self, shape: ShapeLike, dtype: DTypeLike) -> Any:
        """Return the numbers."""
        return stateful.normal(shape, self.mean, self.stddev, dtype, self.seed)


@export("compat.v1.truncated_normal_initializer", "compat.v1.initializers.truncated_normal")
class TruncatedNormal(RandomNormal):
    """Normal numbers, drawn again if more than two standard deviations from the mean.

    >>> import talweg.compat.v1 as tf
    >>> bool(tf.reduce_max(abs(tf.truncated_normal_initializer()([1000]))) < 2)
    True
    """

    def make(self, shape: ShapeLike, dtype: DTypeLike) -> Any:
        """Return the numbers."""
        return stateful.truncated_normal(shape, self.mean, self.stddev, dtype, self.seed)


@export("compat.v1.uniform_unit_scaling_initializer", "compat.v1.initializers.uniform_unit_scaling")
class UniformUnitScaling(Initializer):
    """Draws uniform numbers that keep the scale of a layer's inputs: ±factor √(3 / inputs).

    >>> import talweg.compat.v1 as tf
    >>> tf.uniform_unit_scaling_initializer(seed=1)([3, 2]).shape
    TensorShape([3, 2])
    """

    options = ("factor", "seed")

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = float32):
        self.factor, self.seed, self.dtype = factor, seed, float_dtype(dtype)

    def make(self, shape: ShapeLike, dtype: DTypeLike) -> Any:
        """Return the numbers."""
        inputs = max(1.0, float(math.prod(sizes_of(shape)[:-1])))
        limit = math.sqrt(3 / inputs) * self.factor
        return stateful.uniform(shape, -limit, limit, dtype, self.seed)


@export("compat.v1.variance_scaling_initializer", "compat.v1.initializers.variance_scaling")
class VarianceScaling(Initializer):
    """Numbers of variance scale / n, n the inputs, the outputs or the mean of both of a unit.

    mode: "fan_in", "fan_out" or "fan_avg".  distribution: "truncated_normal" (or "normal"),
    "untruncated_normal" or "uniform".  ValueError for other modes and distributions and scale <= 0.

    >>> import talweg.compat.v1 as tf
    >>> make = tf.variance_scaling_initializer(mode="fan_avg", distribution="uniform", seed=1)
    >>> bool(tf.reduce_max(abs(make([4, 2]))) <= 1.0)
    True
    """

    options = ("scale", "mode", "distribution", "seed")

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: object = float32,
    ):
        if scale <= 0.0:
            raise value_error("TW207", f"Argument `scale` must be a positive float, got {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise value_error("TW207", f"Argument `mode` got {mode!r}", "fan_in, fan_out, fan_avg")
        if distribution.lower() not in (
            "normal",
            "uniform",
            "truncated_normal",
            "untruncated_normal",
        ):
            raise value_error(
                "TW207",
                f"Argument `distribution` got {distribution!r}",
                "normal, uniform, truncated_normal or untruncated_normal",
            )
        self.scale, self.mode, self.distribution = scale, mode, distribution.lower()
        self.seed, self.dtype = seed, float_dtype(dtype)

    def make(self, shape: ShapeLike, dtype: DTypeLike) -> Any:
        """Return the numbers."""
        inputs, outputs = fans(sizes_of(shape))
        number = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2.0}
        variance = self.scale / max(1.0, number[self.mode])
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return stateful.uniform(shape, -limit, limit, dtype, self.seed)
        deviation = math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return stateful.normal(shape, 0.0, deviation, dtype, self.seed)
        deviation /= TRUNCATED_DEVIATION
        return stateful.truncated_normal(shape, 0.0, deviation, dtype, self.seed)


@export("compat.v1.glorot_uniform_initializer", "compat.v1.initializers.glorot_uniform")
class GlorotUniform(VarianceScaling):
    """Uniform numbers of ±√(6 / (inputs + outputs)): the default of `get_variable`.

    >>> import talweg.compat.v1 as tf
    >>> bool(tf.reduce_max(abs(tf.glorot_uniform_initializer()([3, 3]))) <= 1.0)
    True
    """

    options = ("seed",)

    def __init__(self, seed: int | None = None, dtype: object = float32):
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


@export("compat.v1.glorot_normal_initializer", "compat.v1.initializers.glorot_normal")
class GlorotNormal(VarianceScaling):
    """Truncated normal numbers of variance 2 / (inputs + outputs).

    >>> import talweg.compat.v1 as tf
    >>> tf.glorot_normal_initializer(seed=1)([3, 3]).shape
    TensorShape([3, 3])
    """

    options = ("seed",)

    def __init__(self, seed: int | None = None, dtype: Any = float32):
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


@export("compat.v1.initializers.lecun_normal")
def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Return truncated normal numbers of variance 1 / inputs.

    >>> import talweg.compat.v1 as tf
    >>> tf.initializers.lecun_normal(seed=1)([3, 3]).shape
    TensorShape([3, 3])
    """
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


@export("compat.v1.initializers.lecun_uniform")
def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Return uniform numbers of variance 1 / inputs.

    >>> import talweg.compat.v1 as tf
    >>> tf.initializers.lecun_uniform(seed=1)([3, 3]).shape
    TensorShape([3, 3])
    """
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


@export("compat.v1.initializers.he_normal")
def he_normal(seed: int | None = None) -> VarianceScaling:
    """Return truncated normal numbers of variance 2 / inputs.

    >>> import talweg.compat.v1 as tf
    >>> tf.initializers.he_normal(seed=1)([3, 3]).shape
    TensorShape([3, 3])
    """
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


@export("compat.v1.initializers.he_uniform")
def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Return uniform numbers of variance 2 / inputs.

    >>> import talweg.compat.v1 as tf
    >>> tf.initializers.he_uniform(seed=1)([3, 3]).shape
    TensorShape([3, 3])
    """
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


@export("compat.v1.orthogonal_initializer", "compat.v1.initializers.orthogonal")
class Orthogonal(Initializer):
    """A matrix with orthonormal rows or columns, times `gain`; more axes count as rows.

    ValueError for a shape of rank below 2.

    >>> import talweg.compat.v1 as tf
    >>> m = tf.orthogonal_initializer(seed=1)([3, 2])
    >>> bool(tf.reduce_all(abs(tf.matmul(m, m, transpose_a=True) - tf.eye(2)) < 1e-5))
    True
    """

    options = ("gain", "seed")

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = float32):
        self.gain, self.seed, self.dtype = gain, seed, float_dtype(dtype)

    def make(self, shape: ShapeLike, dtype: DTypeLike) -> Any:
        """Return the matrix: the Q of random numbers, with the signs that make R's diagonal
        positive."""
        return self.gain * orthogonal(
            shape, lambda dims: stateful.normal(dims, dtype=dtype, seed=self.seed)
        )


def orthogonal(shape: ShapeLike, draw: Callable[..., Any]) -> Any:
    """Return a tensor of `shape` that is orthogonal as a matrix
    of the last axis, from normal numbers.
    """
    sizes = sizes_of(shape)
    if len(sizes) < 2:
        raise value_error(
            "TW203",
            f"The tensor to initialize, specified by argument `shape`={sizes}, must be at least "
            "two-dimensional.",
        )
    rows, columns = math.prod(sizes[:-1]), sizes[-1]
    factor, triangle = qr(draw([max(rows, columns), min(rows, columns)]), full_matrices=False)
    factor = factor * sign(diag_part(triangle))
    return reshape(matrix_transpose(factor) if rows < columns else factor, sizes)


@export("compat.v1.initializers.identity")
class Identity(Initializer):
    """The identity matrix times `gain`; ValueError for a shape that is no matrix.

    >>> import talweg.compat.v1 as tf
    >>> tf.initializers.identity(2.0)([2, 2]).numpy()
    array([[2., 0.],
           [0., 2.]], dtype=float32)
    """

    options = ("gain",)

    def __init__(self, gain: float = 1.0, dtype: Any = float32):
        self.gain, self.dtype = gain, float_dtype(dtype)

    def make(self, shape: ShapeLike, dtype: DTypeLike) -> Any:
        """Return the matrix."""
        sizes = sizes_of(shape)
        if len(sizes) != 2:
            raise value_error(
                "TW203",
                f"Identity matrix initializer can only be used for 2D matrices, got shape {sizes}",
            )
        made = eye(*sizes, dtype=dtype)
        return made if self.gain == 1.0 else self.gain * made


def float_dtype(dtype: object) -> Any:
    """Convert to a floating dtype; ValueError for others."""
    dtype = as_dtype(dtype)
    if not dtype.is_floating:
        raise value_error("TW102", f"Expected floating point type, got {dtype!r}.")
    return dtype
