"""tf.random.stateless_uniform and relatives: the same numbers for the same seed, always.

`seed` is a pair of integers; each pair names a stream of its own.  `alg` chooses the generator:
"philox" (and "auto_select"), or "threefry", which TensorFlow has on its compiled path only.  All
numbers are those TensorFlow 2.21 gives on a CPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import integer, tensor
from talweg.api.array.gathering import gather
from talweg.api.array.joining import stack
from talweg.api.export import export
from talweg.api.random.arguments import check_dtype, parameter, scale_and_shift, shape_of
from talweg.api.tensors import cast
from talweg.core.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    float16,
    float32,
    float64,
    int32,
    int64,
    uint32,
    uint64,
)
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.eager.randomness import algorithm_number
from talweg.prims.random import streams as prims

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike

FLOATS = (float16, bfloat16, float32, float64)


def stream_of(seed: object, alg: Any) -> tuple[Tensor, int]:
    """Return the stream of a pair of seeds, and the number of the algorithm."""
    algorithm = algorithm_number(alg)
    return prims.seed_stream(tensor(seed), algorithm=algorithm), algorithm


def numbers(kind: str, stream: Tensor, dims: tuple, dtype: DType, algorithm: int) -> Tensor:
    """Return numbers of a kind that has no parameters."""
    return prims.random_numbers(stream, kind=kind, shape=dims, dtype=dtype, algorithm=algorithm)


def check_bounds(minval: TensorLike | None, maxval: TensorLike | None, dtype: DType) -> None:
    """Raise ValueError unless integers have both bounds or none."""
    if (minval is None) != (maxval is None):
        raise value_error(
            "TW207",
            f"For integer `dtype` argument {dtype}, argument `minval` and `maxval` must be both "
            f"None or not None. Got `minval`={minval!r} and `maxval`={maxval!r}.",
        )


def uniform_of_stream(
    stream: Tensor, dims: tuple, minval: object, maxval: object, dtype: DType, algorithm: int
) -> Tensor:
    """Draw uniform numbers between bounds; integers over their whole range where both are None."""
    if dtype.is_integer and minval is None and maxval is None:
        return numbers("bits", stream, dims, dtype, algorithm)
    if dtype.is_integer:
        low, high = parameter(minval, dtype), parameter(maxval, dtype)
        return prims.random_integers(stream, low, high, shape=dims, algorithm=algorithm)
    maxval = 1 if maxval is None and minval is not None else maxval
    plain = type(minval) in (int, float) and type(maxval) in (int, float)
    if plain and minval == 0 and maxval == 1:
        return numbers("uniform", stream, dims, dtype, algorithm)
    low, high = parameter(minval, dtype), parameter(maxval, dtype)
    return numbers("uniform", stream, dims, dtype, algorithm) * (high - low) + low


@export("random.stateless_uniform", "compat.v1.random.stateless_uniform")
def stateless_uniform(
    shape: ShapeLike,
    seed: TensorLike | None,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Return numbers of [minval, maxval), in `shape`.

    seed: two integers.  maxval: 1 for floats if None; integers need both bounds, or None for both
    and then cover their whole range.  dtype: a float, int32, int64; uint32 and uint64 without
    bounds.  ValueError for other dtypes or one bound, InvalidArgumentError for a seed of another
    shape or minval >= maxval.

    >>> import talweg as tf
    >>> tf.random.stateless_uniform([2], seed=[1, 2]).numpy().round(4)
    array([0.8441, 0.192 ], dtype=float32)
    >>> tf.random.stateless_uniform([3], [1, 2], 0, 10, tf.int32).numpy()
    array([0, 9, 4], dtype=int32)
    """
    dtype = check_dtype(dtype, (*FLOATS, int32, int64, uint32, uint64))
    if dtype.is_integer:
        check_bounds(minval, maxval, dtype)
        if dtype.is_unsigned and minval is not None:
            raise value_error(
                "TW207",
                f"Argument `dtype` got invalid value {dtype} when argument `minval` is not None.",
                "a signed integer, or minval=None and maxval=None",
            )
    dims = shape_of(shape, "stateless_uniform")
    stream, algorithm = stream_of(seed, alg)
    return uniform_of_stream(stream, dims, minval, maxval, dtype, algorithm)


@export("random.stateless_normal", "compat.v1.random.stateless_normal")
def stateless_normal(
    shape: ShapeLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
    alg: str = "auto_select",
) -> Tensor:
    """Return normal numbers, in `shape`: mean + stddev * z, differentiable by both.

    seed: two integers.  mean, stddev: broadcast against `shape`.

    >>> import talweg as tf
    >>> tf.random.stateless_normal([3], seed=[1, 2], mean=10.0).numpy()
    array([10.54411 , 10.20738 , 10.073565], dtype=float32)
    """
    return _scale("normal", shape, seed, mean, stddev, dtype, alg)


@export("random.stateless_truncated_normal", "compat.v1.random.stateless_truncated_normal")
def stateless_truncated_normal(
    shape: ShapeLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
    alg: str = "auto_select",
) -> Tensor:
    """Return normal numbers, drawn again if more than two standard deviations from the mean.

    seed: two integers.  mean, stddev: broadcast against `shape`; the result is differentiable by
    both.

    >>> import talweg as tf
    >>> tf.reduce_max(abs(tf.random.stateless_truncated_normal([1000], [1, 2]))) < 2
    <tf.Tensor: shape=(), dtype=bool, numpy=True>
    """
    return _scale("truncated_normal", shape, seed, mean, stddev, dtype, alg)


def _scale(kind: str, shape: object, seed, mean: object, stddev, dtype: object, alg: str):
    dtype = as_dtype(dtype)
    dims = shape_of(shape, f"stateless_{kind}")
    if not dtype.is_floating:  # the bounds of a complex or integer dtype cannot be floats
        mean, stddev = parameter(mean, dtype), parameter(stddev, dtype)
    stream, algorithm = stream_of(seed, alg)
    return scale_and_shift(numbers(kind, stream, dims, dtype, algorithm), stddev, mean)


# -- seeds from seeds


@export(
    "random.split",
    "random.experimental.stateless_split",
    "compat.v1.random.split",
    "compat.v1.random.experimental.stateless_split",
)
def split(seed: TensorLike, num: TensorLike = 2, alg: str = "auto_select") -> Tensor:
    """Return `num` new, independent pairs of seeds [num, 2], of the dtype of `seed`.

    >>> import talweg as tf
    >>> tf.random.split([1, 2]).numpy()
    array([[1105988140, 1738052849],
           [-335576002,  370444179]], dtype=int32)
    """
    seed = tensor(seed)
    dims = shape_of([integer(num, "split", "num"), 2], "split")
    stream, algorithm = stream_of(seed, alg)
    return numbers("bits", stream, dims, seed.dtype, algorithm)


@export(
    "random.fold_in",
    "random.experimental.stateless_fold_in",
    "compat.v1.random.fold_in",
    "compat.v1.random.experimental.stateless_fold_in",
)
def fold_in(seed: TensorLike, data: TensorLike, alg: str = "auto_select") -> Tensor:
    """Return a new pair of seeds from a pair and an integer, such as the number of a step.

    The result has the dtype of `data`.

    >>> import talweg as tf
    >>> tf.random.fold_in([1, 2], 7).numpy()
    array([1105988140,          7], dtype=int32)
    """
    data = tensor(data)
    stream, algorithm = stream_of(seed, alg)
    return stack([numbers("bits", stream, (), data.dtype, algorithm), data])


# -- orders


@export("random.experimental.stateless_shuffle", "compat.v1.random.experimental.stateless_shuffle")
def stateless_shuffle(
    value: TensorLike, seed: TensorLike, alg: str = "auto_select", name: str | None = None
) -> Tensor:
    """Return `value` with its first axis in a random order, the same for the same seed.

    >>> import talweg as tf
    >>> tf.random.experimental.stateless_shuffle(tf.range(5), seed=[1, 2]).numpy()
    array([0, 2, 1, 4, 3], dtype=int32)
    """
    value = tensor(value)
    stream, _ = stream_of(seed, alg)
    return reorder(value, stream)


def reorder(value: Tensor, stream: Tensor) -> Tensor:
    """Reorder the first axis of `value` by a stream; a scalar stays as it is."""
    if value.ndim == 0:
        return value
    return gather(value, prims.random_order(stream, size=value.dims[0]))


@export("random.experimental.index_shuffle", "compat.v1.random.experimental.index_shuffle")
def index_shuffle(index: TensorLike, seed: TensorLike, max_index: TensorLike) -> Tensor:
    """Permute `index`: its place in a random permutation of 0, 1, ..., max_index.

    No permutation is made, so max_index may be huge.  Each argument is for one index, or all with
    one more axis in front.  InvalidArgumentError unless 0 <= index <= max_index.

    >>> import talweg as tf
    >>> tf.random.experimental.index_shuffle(tf.range(10), [1, 2], 9).numpy()
    array([5, 0, 1, 4, 3, 6, 9, 8, 7, 2], dtype=int32)
    """
    return _shuffle_index(index, seed, 2, max_index, 4)


@export("random_index_shuffle")
def random_index_shuffle(
    index: TensorLike,
    seed: TensorLike,
    max_index: TensorLike,
    rounds: int = 4,
    name: str | None = None,
) -> Tensor:
    """Call `tf.random.experimental.index_shuffle` with three words of seed and a number of rounds.

    >>> import talweg as tf
    >>> sorted(tf.random_index_shuffle(tf.range(4), [1, 2, 3], 3, rounds=8).numpy().tolist())
    [0, 1, 2, 3]
    """
    return _shuffle_index(index, seed, 3, max_index, rounds)


def _shuffle_index(index: Any, seed: object, words: int, max_index: object, rounds: int) -> Tensor:
    index, seed = tensor(index), tensor(seed)
    if isinstance(max_index, Tensor) and max_index.dtype.size > index.dtype.size:
        index = cast(index, max_index.dtype)
    if seed.dims[-1:] != (words,):
        text = f"index_shuffle: seed must have shape [{words}] or [n, {words}]"
        raise invalid("TW205", f"{text}, got {list(seed.dims)}")
    limit = parameter(max_index, index.dtype)
    return prims.index_shuffle(index, seed, limit, rounds=rounds)
