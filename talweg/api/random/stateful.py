"""tf.random.normal and relatives: numbers from hidden streams, repeated by `tf.random.set_seed`.

The numbers are TensorFlow's for the same global seed, own seeds and order of calls, in eager
programs.  A call with an own seed goes on where the last call of the same function with the same
seed and dtype stopped; calls without one take a new stream each.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import integer, tensor
from talweg.api.array.shapes import reshape
from talweg.api.export import export
from talweg.api.math.reductions import reduce_prod
from talweg.api.random.arguments import (
    check_dtype,
    parameter,
    scalar_integer,
    scale_and_shift,
    shape_and_kind,
)
from talweg.api.random.distributions import (
    COUNTS,
    classes_of_stream,
    gamma_of_stream,
    gamma_parameters,
)
from talweg.api.random.stateless import FLOATS, numbers, reorder, uniform_of_stream
from talweg.core import dispatch
from talweg.core.dims import is_symbolic, largest
from talweg.core.dtypes import DType, as_dtype, float32, int64
from talweg.core.errors import NeedsStaticError, value_error
from talweg.core.value import Tensor
from talweg.eager import randomness
from talweg.kernels.random.philox import BLOCK, RESERVED
from talweg.prims.random import distributions
from talweg.prims.random import streams as prims
from talweg.transform.batch import BatchTensor, draw_for_slices

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike


@export("random.set_seed")
def set_seed(seed: Any) -> None:
    """Set the global seed: from here on the functions of tf.random repeat themselves.

    Every hidden stream starts anew.  `seed` is an integer (any size); None forgets the seed.
    In a graph, or a function that is traced, it is the seed of that, and the global one stays.
    TypeError for what is no number.

    >>> import talweg as tf
    >>> tf.random.set_seed(1)
    >>> a = tf.random.normal([2])
    >>> tf.random.set_seed(1)
    >>> bool(tf.reduce_all(a == tf.random.normal([2])))
    True
    """
    graph = dispatch.context.base
    if graph is None:
        randomness.set_seed(seed)
    else:
        randomness.set_seed_of_graph(graph, seed)


@export("compat.v1.set_random_seed", "compat.v1.random.set_random_seed")
def set_random_seed(seed: Any) -> None:
    """Set the seed of the graph in force, or outside of graphs the global one.

    Operations made from here on that have no seed of their own get numbers that follow from it.
    TypeError for what is no number.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.set_random_seed(3)
    ...     tf.get_seed(5)
    (3, 5)
    """
    set_seed(seed)


@export("compat.v1.get_seed", "compat.v1.random.get_seed")
def get_seed(op_seed: Any) -> tuple[Any, ...]:
    """Return the two seeds a call with the own seed `op_seed` (or None) uses; (None, None) without
    any.
    """
    seeds = randomness.get_seed(op_seed)
    return (None, None) if seeds == (0, 0) else seeds


def _numbers(kind: str, shape: object, dtype: DType, seed: Any) -> Tensor:
    dims, shape_kind, size = _resolve_dims(shape, kind)
    operation = (kind, dtype.name, shape_kind)

    def draw(dims: tuple) -> Tensor:
        stream = randomness.reserve(operation, seed, math.prod(dims) * RESERVED)
        return numbers(kind, stream, dims, dtype, prims.PHILOX)

    drawn = draw_for_slices(draw, dims)
    return drawn if size is None else reshape(drawn, shape)


def _resolve_dims(shape: Any, function: str) -> tuple[tuple, str, Any]:
    """Return the dims to draw, the kind of the shape, and its product if its length is not known.

    Then the numbers are drawn as a vector, which has the same numbers in the same order; the
    product must be held until they are.
    """
    try:
        return *shape_and_kind(shape, function), None
    except NeedsStaticError:
        given = tensor(shape)
        size = reduce_prod(given)
        return (integer(size, function, "shape"),), given.dtype.name, size


@export("random.normal", "compat.v1.random.normal", "compat.v1.random_normal")
def normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: object = 1.0,
    dtype: DTypeLike = float32,
    seed: object = None,
    name: str | None = None,
) -> Tensor:
    """Return normal numbers, in `shape`: mean + stddev * z, differentiable by both.

    mean, stddev: broadcast against `shape`.  seed: an integer for a stream of its own.
    TypeError for an integer dtype, InvalidArgumentError for a bad shape.

    >>> import talweg as tf
    >>> tf.random.normal([2, 3]).shape
    TensorShape([2, 3])
    """
    return _scale("normal", shape, mean, stddev, dtype, seed)


@export(
    "random.truncated_normal", "compat.v1.random.truncated_normal", "compat.v1.truncated_normal"
)
def truncated_normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: object = 1.0,
    dtype: DTypeLike = float32,
    seed: object = None,
    name: str | None = None,
) -> Tensor:
    """Return normal numbers, drawn again if more than two standard deviations from the mean.

    >>> import talweg as tf
    >>> bool(tf.reduce_max(abs(tf.random.truncated_normal([1000]))) < 2)
    True
    """
    return _scale("truncated_normal", shape, mean, stddev, dtype, seed)


def _scale(
    kind: str, shape: object, mean: Any, stddev: object, dtype: object, seed: object
) -> Tensor:
    dtype = as_dtype(dtype)
    if not dtype.is_floating:  # before a seed is used up
        mean, stddev = parameter(mean, dtype), parameter(stddev, dtype)
    return scale_and_shift(_numbers(kind, shape, dtype, seed), stddev, mean)


@export("random.uniform", "compat.v1.random.uniform", "compat.v1.random_uniform")
def uniform(
    shape: ShapeLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = float32,
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return numbers of [minval, maxval), in `shape`.

    maxval: 1 for floats if None; integers (int32, int64) need it.  For floats the bounds broadcast
    and the result is differentiable by them.  ValueError for another dtype or an integer without
    maxval, InvalidArgumentError for a bad shape or integers with minval >= maxval.

    >>> import talweg as tf
    >>> tf.random.uniform([4], 0, 10, tf.int32).dtype
    tf.int32
    """
    dtype = check_dtype(dtype, (*FLOATS, *COUNTS))
    if maxval is None:
        if dtype.is_integer:
            raise value_error("TW207", f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    if not dtype.is_integer:
        rest = minval, maxval
        plain = all(type(bound) in (int, float) for bound in rest)
        drawn = _numbers("uniform", shape, dtype, seed)
        if plain and rest == (0, 1):
            return drawn
        low, high = parameter(minval, dtype), parameter(maxval, dtype)
        return drawn * (high - low) + low
    low, high = parameter(minval, dtype), parameter(maxval, dtype)
    dims, kind, size = _resolve_dims(shape, "uniform")
    operation = ("integers", dtype.name, kind)

    def draw(dims: tuple) -> Tensor:
        stream = randomness.reserve(operation, seed, math.prod(dims) * RESERVED)
        if any(type(n) is int and n == 0 for n in dims):
            return numbers("bits", stream, dims, dtype, prims.PHILOX)
        return uniform_of_stream(stream, dims, low, high, dtype, prims.PHILOX)

    own = type(low) is BatchTensor or type(high) is BatchTensor
    drawn = draw(dims) if own else draw_for_slices(draw, dims)
    return drawn if size is None else reshape(drawn, shape)


@export("random.shuffle", "compat.v1.random.shuffle", "compat.v1.random_shuffle")
def shuffle(value: object, seed: Any = None, name: str | None = None) -> Tensor:
    """Return `value` with its first axis in a random order; a scalar as it is.

    >>> import talweg as tf
    >>> sorted(tf.random.shuffle([3, 1, 2]).numpy().tolist())
    [1, 2, 3]
    """
    value = tensor(value)
    size = value.dims[0] if value.dims else 1
    many = is_symbolic(value.dims) or (size > 1 and math.prod(value.dims) > 1)
    blocks = -(-size // BLOCK) if many else 0
    return reorder(value, randomness.reserve(("shuffle", value.dtype.name), seed, blocks))


@export("random.categorical", "compat.v1.random.categorical")
def categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    dtype: DTypeLike | None = None,
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return `num_samples` classes a row, drawn with softmax(logits).   [m, k] -> [m, num_samples]

    dtype: int32 or int64 (if None).  InvalidArgumentError if logits is no matrix or num_samples
    negative.

    >>> import talweg as tf
    >>> tf.random.categorical(tf.math.log([[0.0, 1.0]]), 3)
    <tf.Tensor: shape=(1, 3), dtype=int64, numpy=array([[1, 1, 1]])>
    """
    dtype = check_dtype(int64 if dtype is None else dtype, COUNTS)
    logits = tensor(logits)
    size = scalar_integer(num_samples, "categorical", "num_samples")
    rows = logits.dims[0] if logits.dims else 0
    blocks = rows * -(-largest(size, 0) // BLOCK) * BLOCK * 2 * RESERVED
    operation = ("categorical", logits.dtype.name, dtype.name)
    return classes_of_stream(randomness.reserve(operation, seed, blocks), logits, size, dtype)


@export("compat.v1.random.multinomial", "compat.v1.multinomial")
def multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
) -> Tensor:
    """Call `tf.random.categorical`, which had this name first.

    >>> import talweg as tf
    >>> tf.compat.v1.multinomial([[0.0, 0.0]], 5).shape
    TensorShape([1, 5])
    """
    return categorical(logits, num_samples, output_dtype, seed)


@export("random.gamma", "compat.v1.random.gamma", "compat.v1.random_gamma")
def gamma(
    shape: ShapeLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = float32,
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return Gamma numbers of shape parameter `alpha` and rate `beta` (1 if None).

    The result has the shape `shape` + that of the (broadcast) parameters and is differentiable by
    both (Figurnov, Mohamed and Mnih 2018).  dtype: float16, float32 or float64.

    >>> import talweg as tf
    >>> tf.random.gamma([5], [0.5, 1.5]).shape
    TensorShape([5, 2])
    """
    dtype = as_dtype(dtype)
    dims, kind = shape_and_kind(shape, "gamma")
    alpha, beta = gamma_parameters(alpha, beta, dtype)
    blocks = math.prod(dims) * math.prod(alpha.dims) * RESERVED
    stream = randomness.reserve(("gamma", dtype.name, kind), seed, blocks)
    return gamma_of_stream(stream, alpha, beta, dims)


@export("random.poisson")
def poisson(
    shape: ShapeLike,
    lam: Any,
    dtype: DTypeLike = float32,
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return Poisson numbers of mean `lam`, in the shape `shape` + that of lam.

    dtype: int32, int64, float16, float32 or float64.  A negative mean gives 0.

    >>> import talweg as tf
    >>> tf.random.poisson([2], [1.0, 2.0, 3.0]).shape
    TensorShape([2, 3])
    """
    dtype = as_dtype(dtype)
    dims, kind = shape_and_kind(shape, "poisson")
    lam = tensor(lam)
    blocks = math.prod(dims) * math.prod(lam.dims) * RESERVED
    stream = randomness.reserve(("poisson", lam.dtype.name, dtype.name, kind), seed, blocks)
    return distributions.random_poisson(stream, lam, shape=dims, dtype=dtype)


@export("compat.v1.random_poisson", "compat.v1.random.poisson")
def random_poisson(
    lam: TensorLike,
    shape: ShapeLike,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Call `tf.random.poisson` with its arguments in the older order.

    >>> import talweg as tf
    >>> tf.compat.v1.random_poisson(1.0, [2]).shape
    TensorShape([2])
    """
    return poisson(shape, lam, dtype, seed)
