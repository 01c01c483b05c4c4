"""Tensors made from nothing: zeros, ones, fill, eye, range, linspace, one_hot, sequence_mask."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.operands import (
    INTEGERS,
    allocated,
    constant,
    demanded_integer,
    integer_scalar,
    is_plain,
    sizes,
)
from talweg.api.export import export
from talweg.core.dtypes import (
    REAL,
    DType,
    as_dtype,
    bool_,
    float32,
    float64,
    int32,
    int64,
    of_numpy,
    string,
    uint8,
)
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.shapes import TensorShape, broadcast_dims, normalize_axis
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.eager.tensor import array_of
from talweg.prims import arithmetic, layout, search


def _zeros(dims: tuple, dtype: DType) -> Any:
    """Zeros; empty strings for strings."""
    if dtype is string:
        return allocated("zeros", np.full, dims, b"", object)
    kind = dtype.numpy_dtype
    return allocated("zeros", np.zeros, dims, kind) if dims else kind.type(0)


def _ones(dims: tuple, dtype: DType, function: str) -> Any:
    if dtype is string:
        raise type_error("TW102", f"{function}: cannot convert 1 to a string", "a number or bool")
    kind = dtype.numpy_dtype
    return allocated(function, np.ones, dims, kind) if dims else kind.type(1)


def _made_shape(shape: Any, function: str) -> tuple[int, ...]:
    """The shape of something to be made: lists become int32, so floats are a TypeError."""
    if type(shape) in (list, tuple) and all(type(n) is int and n >= 0 for n in shape):
        return tuple(shape)
    if isinstance(shape, TensorShape) and shape.is_fully_defined():
        return shape.as_tuple()
    if not is_tensor_like(shape) and not isinstance(shape, TensorShape):
        shape = convert_to_tensor(shape, int32)
    return sizes(shape, function, "shape")


@export("zeros")
def zeros(shape: Any, dtype: Any = float32, name: str | None = None, layout: Any = None) -> Any:
    """Zeros (False, empty strings) of the given shape and dtype.

    shape: an integer vector, or an int for a vector of that length.  InvalidArgumentError for
    negative sizes, TypeError for floats.

    >>> import talweg as tf
    >>> tf.zeros([2, 2])
    <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
    array([[0., 0.],
           [0., 0.]], dtype=float32)>
    """
    return constant(_zeros(_made_shape(shape, "zeros"), as_dtype(dtype)))


@export("ones")
def ones(shape: Any, dtype: Any = float32, name: str | None = None, layout: Any = None) -> Any:
    """Ones (True) of the given shape and dtype.

    shape: an integer vector, or an int for a vector of that length.  InvalidArgumentError for
    negative sizes, TypeError for floats and for the dtype string.

    >>> import talweg as tf
    >>> tf.ones([2], tf.int32).numpy()
    array([1, 1], dtype=int32)
    """
    return constant(_ones(_made_shape(shape, "ones"), as_dtype(dtype), "ones"))


@export("zeros_like")
def zeros_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> Any:
    """Zeros of the shape of `input`, and of its dtype unless `dtype` is given.

    >>> import talweg as tf
    >>> tf.zeros_like([1.5, 2.5]).numpy()
    array([0., 0.], dtype=float32)
    """
    x = tensor(input)
    dtype = x.dtype if dtype is None else as_dtype(dtype)
    if is_plain(x):
        return constant(_zeros(x.dims, dtype))
    zero = arithmetic.zeros_of(x)
    return zero if dtype is x.dtype else arithmetic.cast(zero, dtype=dtype)


@export("ones_like")
def ones_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> Any:
    """Ones of the shape of `input`, and of its dtype unless `dtype` is given.

    InvalidArgumentError for strings.

    >>> import talweg as tf
    >>> tf.ones_like([[1, 2]]).numpy()
    array([[1, 1]], dtype=int32)
    """
    x = tensor(input)
    dtype = x.dtype if dtype is None else as_dtype(dtype)
    if dtype is string:
        raise invalid("TW102", "ones_like: there is no 1 among strings", "a number or bool")
    if is_plain(x):
        return constant(_ones(x.dims, dtype, "ones_like"))
    one = arithmetic.equal(arithmetic.zeros_of(x), arithmetic.zeros_of(x))
    return arithmetic.cast(one, dtype=dtype)


@export("fill")
def fill(dims: Any, value: Any, name: str | None = None, layout: Any = None) -> Any:
    """A tensor of shape `dims` with `value`, a scalar, everywhere.

    InvalidArgumentError if `dims` holds no integers or a negative one, or `value` is no scalar.

    >>> import talweg as tf
    >>> tf.fill([2, 3], 9).numpy()
    array([[9, 9, 9],
           [9, 9, 9]], dtype=int32)
    """
    shape = sizes(dims, "fill", "dims")
    x = tensor(value)
    if math.prod(x.dims) != 1:
        raise invalid("TW203", f"fill: value has shape {x.dims}", "a scalar")
    return _broadcast(_reshape(x, shape=()) if x.dims else x, shape=shape)


_broadcast, _reshape = layout.broadcast_to, layout.reshape


@export("eye", "linalg.eye")
def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = float32,
    name: str | None = None,
) -> Any:
    """The identity matrix [num_rows, num_columns], or a batch of them.

    num_columns: num_rows by default; batch_shape: an integer vector.  TypeError for sizes that are
    not integers, InvalidArgumentError for negative ones.

    >>> import talweg as tf
    >>> tf.eye(2, 3).numpy()
    array([[1., 0., 0.],
           [0., 1., 0.]], dtype=float32)
    """
    rows = _matrix_size(num_rows)
    columns = rows if num_columns is None else _matrix_size(num_columns)
    dtype = as_dtype(dtype)
    _ones((), dtype, "eye")
    if batch_shape is not None and not hasattr(batch_shape, "__len__"):
        raise type_error("TW104", f"eye: batch_shape={batch_shape!r}", "a vector of integers")
    batch = () if batch_shape is None else sizes(batch_shape, "eye", "batch_shape")
    if rows < 0 or columns < 0:
        raise invalid("TW205", f"eye: num_rows={rows}, num_columns={columns}", "sizes >= 0")
    matrix = allocated("eye", np.eye, rows, columns, 0, dtype.numpy_dtype)
    return constant(np.broadcast_to(matrix, (*batch, rows, columns)).copy() if batch else matrix)


def _matrix_size(value: Any) -> int:
    found = value
    if is_tensor_like(value):
        found = tensor(value)
        if found.dtype in INTEGERS and not found.dims:
            return int(array_of(found))
    if isinstance(found, (int, np.integer)) and not isinstance(found, bool):
        return int(found)
    raise type_error("TW104", f"eye: num_rows and num_columns must be integers, got {value!r}")


# -- sequences

_ORDER = [int32, int64, float32, float64]


@export("range")
def range_(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Any:
    """start, start + delta, ... up to but not including `limit`; with one number, from 0 to it.

    All are scalars; the dtype is that of the widest unless `dtype` is given.
    InvalidArgumentError for a delta of 0 or one that leads away from the limit.

    >>> import talweg as tf
    >>> tf.range(2, 10, 3).numpy()
    array([2, 5, 8], dtype=int32)
    """
    if limit is None:
        start, limit = 0, start
    plain = dtype is None and type(start) is type(limit) is type(delta) is int
    if plain and max(abs(start), abs(limit), abs(delta)) < 2**31:
        return constant(_progression(start, limit, delta, int32))
    if dtype is not None:
        dtype = as_dtype(dtype)
    parts = [
        value if is_tensor_like(value) else convert_to_tensor(value, dtype)
        for value in (start, limit, delta)
    ]
    parts = [tensor(part) for part in parts]
    dtype = dtype or _widest(parts)
    if dtype is uint8:
        raise invalid("TW102", "range: dtype uint8", "another number type")
    numbers = []
    for part, argument in zip(parts, ("start", "limit", "delta")):
        array = np.asarray(array_of(part))
        if array.size != 1:
            raise invalid("TW203", f"range: {argument} has shape {array.shape}", "a scalar")
        numbers.append(array.reshape(()).astype(dtype.numpy_dtype)[()])
    first, limit, step = numbers
    return constant(_progression(first, limit, step, dtype))


def _widest(parts: list) -> DType:
    found = {part.dtype for part in parts}
    if len(found) == 1:
        dtype = found.pop()
        if dtype.is_integer or dtype.is_floating:
            return dtype
        raise type_error("TW102", f"range: dtype {dtype.name} cannot be counted in")
    if not found <= set(_ORDER):
        given = [d for d in found if d is not int32]  # the default delta is an int32
        if len(given) == 1 and (given[0].is_integer or given[0].is_floating):
            return given[0]
        names = sorted(d.name for d in found)
        raise type_error("TW102", f"range: dtypes {names} have no common one", "one dtype")
    return max(found, key=_ORDER.index)


def _progression(start: Any, limit: Any, delta: Any, dtype: DType) -> np.ndarray:
    first, last, step = (int(n) if dtype.is_integer else float(n) for n in (start, limit, delta))
    if step == 0:
        raise invalid("TW207", "range: delta is 0", "another number")
    if (last - first) * step < 0:
        relation = "<=" if step > 0 else ">="
        raise invalid(
            "TW207", f"range: requires start {relation} limit for delta {step}: {first}/{last}"
        )
    if dtype.is_integer:
        return allocated("range", np.arange, first, last, step, dtype.numpy_dtype)
    if not math.isfinite((last - first) / step):
        raise invalid("TW207", f"range: from {first} to {last} by {step}", "finite numbers")
    count = math.ceil(abs((last - first) / step))
    steps = allocated("range", np.arange, float(count)).astype(dtype.numpy_dtype)
    return (start + steps * delta).astype(dtype.numpy_dtype)


@export("linspace")
def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: Any = 0) -> Any:
    """`num` evenly spaced values from `start` to `stop`, both included, along a new axis `axis`.

    start, stop: floats or complex of one dtype (integers become float64), broadcast; num: an
    integer of at least 0, TypeError for a float.  Differentiable by start and stop.

    >>> import talweg as tf
    >>> tf.linspace(0.0, 1.0, 5).numpy()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    first = tensor(start)
    last = convert_to_tensor(stop, first.dtype)
    count = _number_of_points(num)
    if first.dtype.is_integer:
        first = arithmetic.cast(first, dtype=float64)
        last = arithmetic.cast(last, dtype=float64)
    dims = broadcast_dims("linspace", first.dims, last.dims)
    place = normalize_axis("linspace", integer_scalar(axis, "linspace", "axis"), len(dims) + 1)
    lined = (*dims[:place], 1, *dims[place:])
    first = layout.reshape(layout.broadcast_to(first, shape=dims), shape=lined)
    last = layout.reshape(layout.broadcast_to(last, shape=dims), shape=lined)
    if count < 2:
        end = tuple(count if axis == place else size for axis, size in enumerate(lined))
        zero, one = (0,) * len(lined), (1,) * len(lined)
        return layout.strided_slice(first, begin=zero, end=end, strides=one)
    steps = allocated("linspace", np.arange, 1, count - 1).astype(first.dtype.numpy_dtype)
    steps = constant(steps.reshape(-1, *(1,) * (len(dims) - place)))
    inner = first + (last - first) / (count - 1) * steps
    return layout.concat(first, inner, last, axis=place)


def _number_of_points(num: Any) -> int:
    given = tensor(num)
    if given.dtype not in INTEGERS:
        raise type_error("TW104", f"linspace: num must be an integer, got dtype {given.dtype.name}")
    count = integer_scalar(given, "linspace", "num")
    if count < 0:
        raise invalid("TW207", f"linspace: num={count}", "at least 0")
    return count


# -- indicators


@export("one_hot")
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """A new axis of size `depth` with `on_value` (1) at the index and `off_value` (0) elsewhere.

    indices: uint8, int8, int32 or int64; one outside [0, depth) gives off_value everywhere.  axis:
    where the new axis goes, -1 (the default) for last.  The dtype is that of the values, float32
    without.  TypeError where dtypes differ, InvalidArgumentError for a bad axis or depth.

    >>> import talweg as tf
    >>> tf.one_hot([0, 2], 3).numpy()
    array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    dtype = None if dtype is None else as_dtype(dtype)
    hint = dtype
    on = None if on_value is None else convert_to_tensor(on_value, None, hint)
    off = None if off_value is None else convert_to_tensor(off_value, None, hint)
    dtype = _value_dtype(on, off, dtype)
    i = (
        tensor(indices)
        if not isinstance(indices, list) or indices
        else constant(np.zeros(0, np.int32))
    )
    size = _depth(depth)
    if size < 0:
        raise invalid("TW207", f"one_hot: depth must be non-negative, got {size}")
    rank = len(i.dims)
    place = -1 if axis is None else integer_scalar(axis, "one_hot", "axis")
    if not -1 <= place <= rank:
        raise invalid("TW202", f"one_hot: axis={place}", f"-1 or between 0 and {rank}")
    place = rank if place == -1 else place
    if on is None and off is None:
        return search.one_hot(i, depth=size, axis=place, dtype=dtype)
    mask = search.one_hot(i, depth=size, axis=place, dtype=bool_)
    on = on if on is not None else constant(_ones((), dtype, "one_hot"))
    off = off if off is not None else constant(_zeros((), dtype))
    for value, argument in ((on, "on_value"), (off, "off_value")):
        if value.dims:
            raise invalid("TW203", f"one_hot: {argument} has shape {value.dims}", "a scalar")
    return arithmetic.select(mask, on, off)


def _depth(depth: Any) -> int:
    """The size of the new axis; a list is not a scalar, even of one number."""
    if isinstance(depth, (list, tuple)) or (hasattr(depth, "dims") and depth.dims):
        raise invalid("TW203", f"one_hot: depth must be a scalar, but got {depth!r}")
    return demanded_integer(depth, "one_hot", "depth")


def _value_dtype(on: Any, off: Any, dtype: DType | None) -> DType:
    """The dtype of a one_hot's values; TypeError where they differ."""
    if dtype is None:
        dtype = on.dtype if on is not None else off.dtype if off is not None else float32
    for value, argument in ((on, "on_value"), (off, "off_value")):
        if value is not None and value.dtype is not dtype:
            raise type_error(
                "TW102", f"one_hot: {argument} has dtype {value.dtype.name}, not {dtype.name}"
            )
    if dtype is string and (on is None or off is None):
        raise type_error("TW102", "one_hot: strings need on_value and off_value")
    assert dtype is not None
    return dtype


def _real(x: Any, argument: str) -> None:
    if x.dtype not in REAL:
        raise invalid(
            "TW102", f"sequence_mask: {argument} has dtype {x.dtype.name}", "real numbers"
        )


@export("sequence_mask")
def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = bool_, name: str | None = None
) -> Any:
    """True at the first lengths[i] of `maxlen` places, for every length.

    lengths [...] -> [..., maxlen]; maxlen is the largest length by default.  ValueError if maxlen
    is no scalar, InvalidArgumentError if it is negative.

    >>> import talweg as tf
    >>> tf.sequence_mask([1, 3]).numpy()
    array([[ True, False, False],
           [ True,  True,  True]])
    """
    x = tensor(lengths)
    if maxlen is None:
        array = array_of(x)
        _real(x, "lengths")
        longest = np.asarray(max(0, array.max()) if array.size else 0).astype(array.dtype)
    else:
        most = tensor(maxlen)
        _real(x, "lengths")
        _real(most, "maxlen")
        longest = np.asarray(array_of(most))
        if longest.ndim:
            raise value_error(
                "TW203", f"sequence_mask: argument `maxlen` must be scalar, got {maxlen!r}"
            )
        if not 0 <= longest < np.inf:
            raise invalid("TW207", f"sequence_mask: maxlen={maxlen}", "at least 0")
        kind = of_numpy(longest.dtype)
        x = x if x.dtype is kind else arithmetic.cast(x, dtype=kind)
    steps = allocated("sequence_mask", np.arange, math.ceil(longest)).astype(x.dtype.numpy_dtype)
    mask = arithmetic.less(constant(steps), layout.reshape(x, shape=(*x.dims, 1)))
    dtype = as_dtype(dtype)
    return mask if dtype is bool_ else arithmetic.cast(mask, dtype=dtype)
