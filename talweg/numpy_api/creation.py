"""Arrays from nothing, from values, and like others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array import creating, sequences
from talweg.api.array.gathering import where
from talweg.api.array.joining import meshgrid as mesh_of
from talweg.api.array.passing import identity as copied
from talweg.api.array.shapes import broadcast_to, reshape
from talweg.api.array.shapes import shape as shape_in_tensor
from talweg.api.export import export, export_value
from talweg.api.linalg.diagonals import band_part
from talweg.api.math.exponential import exp, log
from talweg.api.math.rounding import floor
from talweg.api.tensors import cast
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.numpy_api.promotion import (
    as_array,
    common_dtype,
    default_float,
    inexact_pair,
    to_dtype,
)

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike
    from talweg.core.dtypes import DType

PREFIX = "experimental.numpy."
export_value(Tensor, f"{PREFIX}ndarray")
for _name in ("pi", "e", "inf", "newaxis"):
    export_value(getattr(np, _name), f"{PREFIX}{_name}")


@export("experimental.numpy.array")
def array(val: TensorLike, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """Return `val` as a tensor: Python integers are int64, floats float64, unless `dtype` says
    otherwise.

    ndmin: axes of size 1 are put in front until there are as many.  ValueError for ragged lists.

    >>> import talweg as tf
    >>> tf.experimental.numpy.array([1, 2], ndmin=2).numpy()
    array([[1, 2]])
    """
    found = as_array(val, dtype)
    if copy and found is val:
        found = copied(found)
    missing = ndmin - found.ndim
    return reshape(found, (1,) * missing + tuple(found.dims)) if missing > 0 else found


@export("experimental.numpy.asarray", "experimental.numpy.asanyarray")
def asarray(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Return `a` as a tensor; a tensor of the right dtype is returned as it is.

    >>> import talweg as tf
    >>> tf.experimental.numpy.asarray([1.5]).dtype
    tf.float64
    """
    return as_array(a, dtype)


@export("experimental.numpy.ascontiguousarray")
def ascontiguousarray(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Return `a` as a tensor of at least one axis.

    >>> import talweg as tf
    >>> tf.experimental.numpy.ascontiguousarray(3).numpy()
    array([3])
    """
    return array(a, dtype, ndmin=1)


@export("experimental.numpy.copy")
def copy(a: TensorLike) -> Tensor:
    """Return a tensor with the elements of `a`, its own.

    >>> import talweg as tf
    >>> tf.experimental.numpy.copy([1, 2]).numpy()
    array([1, 2])
    """
    return array(a)


@export("experimental.numpy.zeros")
def zeros(shape: ShapeLike, dtype: DTypeLike = float) -> Tensor:
    """Return zeros of a shape.

    >>> import talweg as tf
    >>> tf.experimental.numpy.zeros(2).numpy()
    array([0., 0.])
    """
    return creating.zeros(_shape(shape), to_dtype(dtype))


@export("experimental.numpy.ones")
def ones(shape: ShapeLike, dtype: DTypeLike = float) -> Tensor:
    """Return ones of a shape.

    >>> import talweg as tf
    >>> tf.experimental.numpy.ones(2).numpy()
    array([1., 1.])
    """
    return creating.ones(_shape(shape), to_dtype(dtype))


@export("experimental.numpy.empty")
def empty(shape: ShapeLike, dtype: DTypeLike = float) -> Tensor:
    """Return zeros of a shape: nothing is left uninitialized.

    >>> import talweg as tf
    >>> tf.experimental.numpy.empty([2, 0]).shape
    TensorShape([2, 0])
    """
    return zeros(shape, dtype)


def _shape(shape: object) -> Any:
    if isinstance(shape, (int, np.integer)):
        return [int(shape)]
    if isinstance(shape, Tensor) and shape.ndim == 0:
        return reshape(shape, [1])
    return shape


@export("experimental.numpy.zeros_like", "experimental.numpy.empty_like")
def zeros_like(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Return zeros in the shape of `a`, and its dtype unless another is given.

    >>> import talweg as tf
    >>> tf.experimental.numpy.zeros_like([1, 2]).numpy()
    array([0, 0])
    """
    x = as_array(a)
    return creating.zeros_like(x, x.dtype if dtype is None else to_dtype(dtype))


@export("experimental.numpy.ones_like")
def ones_like(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Return ones in the shape of `a`, and its dtype unless another is given.

    >>> import talweg as tf
    >>> tf.experimental.numpy.ones_like([1.5, 2.5]).numpy()
    array([1., 1.])
    """
    x = as_array(a)
    return creating.ones_like(x, x.dtype if dtype is None else to_dtype(dtype))


@export("experimental.numpy.full")
def full(shape: ShapeLike, fill_value: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Return `fill_value`, broadcast to a shape.

    >>> import talweg as tf
    >>> tf.experimental.numpy.full([2], 3).numpy()
    array([3, 3])
    """
    return broadcast_to(as_array(fill_value, dtype), _shape(shape))


@export("experimental.numpy.full_like")
def full_like(
    a: TensorLike,
    fill_value: TensorLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
) -> Tensor:
    """Return `fill_value` in the shape and dtype of `a`; ValueError for any `order`, `subok` or
    `shape` but the defaults.

    >>> import talweg as tf
    >>> tf.experimental.numpy.full_like([1, 2], 7.9).numpy()
    array([7, 7])
    """
    if order != "K" or not subok or shape is not None:
        raise value_error("TW207", "order, subok or shape was given", "order='K', subok=True")
    x = as_array(a)
    filled = as_array(fill_value, x.dtype if dtype is None else dtype)
    return broadcast_to(filled, shape_in_tensor(x))


@export("experimental.numpy.eye")
def eye(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = float) -> Tensor:
    """Return N rows and M columns with ones on the k-th diagonal.

    >>> import talweg as tf
    >>> tf.experimental.numpy.eye(2, 3, k=1).numpy()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    kind = to_dtype(dtype)
    return tensor_of(np.eye(int(N), None if M is None else int(M), int(k)), kind)


def tensor_of(values: np.ndarray, dtype: DType) -> Tensor:
    """Return an array that NumPy made as a tensor of a dtype."""
    return as_array(values.astype(dtype.numpy_dtype))


@export("experimental.numpy.identity")
def identity(n: int, dtype: DTypeLike = float) -> Tensor:
    """Return the identity matrix of n rows.

    >>> import talweg as tf
    >>> tf.experimental.numpy.identity(1).numpy()
    array([[1.]])
    """
    return eye(n, dtype=dtype)


@export("experimental.numpy.tri")
def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Return ones on and below the k-th diagonal, zeros above.

    >>> import talweg as tf
    >>> tf.experimental.numpy.tri(2).numpy()
    array([[1., 0.],
           [1., 1.]])
    """
    kind = default_float() if dtype is None else to_dtype(dtype)
    return tensor_of(np.tri(int(N), None if M is None else int(M), int(k)), kind)


@export("experimental.numpy.tril")
def tril(m: TensorLike, k: int = 0) -> Tensor:
    """Set the elements above the k-th diagonal to 0.  ValueError for less than two axes.

    >>> import talweg as tf
    >>> tf.experimental.numpy.tril([[1, 2], [3, 4]]).numpy()
    array([[1, 0],
           [3, 4]])
    """
    x = _matrices(m, "tril")
    if k >= 0:
        return band_part(x, -1, k)
    return x - band_part(x, -k - 1, -1)


@export("experimental.numpy.triu")
def triu(m: TensorLike, k: int = 0) -> Tensor:
    """Set the elements below the k-th diagonal to 0.  ValueError for less than two axes.

    >>> import talweg as tf
    >>> tf.experimental.numpy.triu([[1, 2], [3, 4]]).numpy()
    array([[1, 2],
           [0, 4]])
    """
    x = _matrices(m, "triu")
    if k <= 0:
        return band_part(x, -k, -1)
    return x - band_part(x, -1, k - 1)


def _matrices(m: object, function: str) -> Tensor:
    x = as_array(m)
    if x.ndim < 2:
        raise value_error("TW203", f"{function}: `m` has {x.ndim} axes", "at least two")
    return x


@export("experimental.numpy.arange")
def arange(
    start: TensorLike,
    stop: TensorLike | None = None,
    step: TensorLike = 1,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Return numbers from `start` (0 if there is only one argument) up to `stop`, `step` apart.

    ValueError for a step of 0.

    >>> import talweg as tf
    >>> tf.experimental.numpy.arange(1, 7, 2).numpy()
    array([1, 3, 5])
    """
    if type(step) in (int, float) and not step:
        raise value_error("TW207", "arange: step is 0", "another number")
    given = (start, step) if stop is None else (start, stop, step)
    kind = common_dtype(*given) if dtype is None else to_dtype(dtype)
    first: Any
    last: Any
    first, last = (0, start) if stop is None else (start, stop)
    numbers: tuple[Any, ...] = (first, last, step)
    if all([type(number) in (int, float) for number in numbers]):  # counted as they were given
        if (last - first) / numbers[2] <= 0:
            return as_array([], kind)
        given_kind = common_dtype(*numbers)
        low, high, by = [as_array(number, given_kind) for number in numbers]
        return cast(sequences.range_(low, high, by), kind)
    ends = as_array(first, kind), as_array(last, kind)
    return cast(sequences.range_(ends[0], ends[1], as_array(step, kind)), kind)


@export("experimental.numpy.linspace")
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = float,
    axis: int = 0,
) -> Any:
    """Return `num` numbers at equal distances from `start` to `stop`, which `endpoint` includes.

    With `retstep`, also the distance.  They are computed in the floats or complex numbers of both
    ends; integers of `dtype` are what is left when their digits behind the point are cut off below.

    >>> import talweg as tf
    >>> tf.experimental.numpy.linspace(0, 1, 3).numpy()
    array([0. , 0.5, 1. ])
    """
    first, last = inexact_pair(start, stop)
    if dtype not in (None, float):
        kind = to_dtype(dtype)
        if kind.is_integer:
            result = linspace(first, last, num, endpoint, retstep, axis=axis)
            numbers, *step = result if retstep else [result]
            numbers = cast(floor(numbers), kind)
            return (numbers, *step) if retstep else numbers
        first, last = cast(first, kind), cast(last, kind)
    step = (last - first) / float(max(num - endpoint, 1))
    if endpoint:
        points = sequences.linspace(first, last, num, axis=axis)
    else:
        points = sequences.linspace(first, last - step, num, axis=axis)
    return (points, step if num > endpoint else step * np.nan) if retstep else points


@export("experimental.numpy.logspace")
def logspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    base: TensorLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Tensor:
    """Return powers of `base` whose exponents are at equal distances from `start` to `stop`.

    >>> import talweg as tf
    >>> tf.experimental.numpy.logspace(0, 2, 3).numpy().round(6).tolist()
    [1.0, 10.0, 100.0]
    """
    kind = inexact_pair(start, stop)[0].dtype if dtype is None else to_dtype(dtype)
    powers = linspace(start, stop, num, endpoint, dtype=kind, axis=axis)
    return as_array(base, kind) ** powers


@export("experimental.numpy.geomspace")
def geomspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Tensor:
    """Return `num` numbers, each the same multiple of the one before, from `start` to `stop`.

    >>> import talweg as tf
    >>> tf.experimental.numpy.geomspace(1, 4, 3).numpy().round(6).tolist()
    [1.0, 2.0, 4.0]
    """
    first, last = inexact_pair(start, stop)
    kind = first.dtype if dtype is None else to_dtype(dtype)
    sign = as_array(-1.0, first.dtype) if _below_zero(first) else as_array(1.0, first.dtype)
    logs = linspace(
        log(sign * first), log(sign * last), num, endpoint, dtype=first.dtype, axis=axis
    )
    return cast(sign * exp(logs), kind)


def _below_zero(x: Tensor) -> bool:
    values = getattr(x, "_array", None)
    return values is not None and not x.dtype.is_complex and bool((np.asarray(values) < 0).all())


@export("experimental.numpy.meshgrid")
def meshgrid(*xi: Any, **kwargs: Any) -> list[Tensor]:
    """Return coordinates of a grid, one tensor for each vector; `indexing` is "xy" or "ij", and
    `sparse` leaves sizes of 1.  ValueError for `copy=False`, TypeError for other keywords.

    >>> import talweg as tf
    >>> [x.shape.as_list() for x in tf.experimental.numpy.meshgrid([1, 2], [1, 2, 3])]
    [[3, 2], [3, 2]]
    """
    sparse = kwargs.pop("sparse", False)
    if not kwargs.pop("copy", True):
        raise value_error("TW207", "meshgrid: copy is False", "copy=True: results are tensors")
    indexing = kwargs.pop("indexing", "xy")
    if kwargs:
        raise TypeError(f"meshgrid got an unexpected keyword argument {sorted(kwargs)[0]!r}")
    arrays = [as_array(x) for x in xi]
    if not sparse:
        return mesh_of(*arrays, indexing=indexing)
    coordinates = []
    for number, x in enumerate(arrays):
        axis = 1 - number if indexing == "xy" and number < 2 and len(arrays) > 1 else number
        shape = [1] * len(arrays)
        shape[axis] = -1
        coordinates.append(reshape(x, shape))
    return coordinates


@export("experimental.numpy.vander")
def vander(x: TensorLike, N: int | None = None, increasing: bool = False) -> Tensor:
    """Compute the powers of a vector as the columns of a matrix, [n, N].

    ValueError unless `x` is a vector and N not negative.

    >>> import talweg as tf
    >>> tf.experimental.numpy.vander([2, 3], 3).numpy()
    array([[4, 2, 1],
           [9, 3, 1]])
    """
    x = as_array(x)
    if x.ndim != 1:
        raise value_error("TW203", f"vander: x has {x.ndim} axes", "one")
    count = int(x.dims[0]) if N is None else int(N)
    if count < 0:
        raise value_error("TW207", f"vander: N is {count}", "not a negative number")
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    return x[:, None] ** as_array(powers, x.dtype)


@export("experimental.numpy.diag_indices")
def diag_indices(n: int, ndim: int = 2) -> Any:
    """Return indices of the diagonal of an array of `ndim` axes, one tensor for each.

    >>> import talweg as tf
    >>> [i.numpy().tolist() for i in tf.experimental.numpy.diag_indices(2)]
    [[0, 1], [0, 1]]
    """
    if n < 0 or ndim < 0:
        raise value_error("TW207", f"diag_indices: n is {n}, ndim {ndim}", "not negative numbers")
    return (arange(n, dtype="int32"),) * ndim


@export("experimental.numpy.ix_")
def ix_(*args: object) -> list[Tensor]:
    """Return vectors as an open grid of indices; bool vectors stand for where they are true.

    ValueError for what is no vector.

    >>> import talweg as tf
    >>> [x.shape.as_list() for x in tf.experimental.numpy.ix_([0, 1], [2])]
    [[2, 1], [1, 1]]
    """
    vectors = []
    for number, arg in enumerate(args):
        x = as_array(arg)
        if x.ndim != 1:
            raise value_error("TW203", f"ix_: argument {number} has {x.ndim} axes", "one")
        if x.dtype.is_bool:
            x = where(x)[:, 0]
        shape = [1] * len(args)
        shape[number] = -1
        vectors.append(reshape(x, shape))
    return vectors
