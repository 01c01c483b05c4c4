"""Sequences and indicators: range, linspace, one_hot, sequence_mask."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.creating import ones_of, zeros_of
from talweg.api.array.operands import (
    INTEGERS,
    constant,
    in_graph,
    integer_scalar,
    require_integer,
    size_tensor,
)
from talweg.api.export import export
from talweg.core.dims import Dim, Size, below, differ, largest
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
from talweg.core.errors import invalid, invalid_value, type_error, value_error
from talweg.core.shapes import broadcast_dims, normalize_axis
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.eager.tensor import EagerTensor, array_of
from talweg.graph.symbol import Symbol, constant_of
from talweg.kernels.progression import allocate, progression
from talweg.prims import arithmetic, layout, reduce, search, sequences

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, DTypeLike, TensorLike

_ORDER = [int32, int64, float32, float64]


@export("range")
def range_(
    start: Any,
    limit: Any = None,
    delta: Any = 1,
    dtype: DTypeLike | None = None,
    name: str = "range",
) -> Tensor:
    """Return start, start + delta, ... up to but not including `limit`; with one number, from 0 to
    it.

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
        return constant(progression(start, limit, delta, int32))
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
    scalars: list = []
    for part, argument in zip(parts, ("start", "limit", "delta")):
        if part.dims and differ(math.prod(part.dims), 1):
            raise invalid("TW203", f"range: {argument} has shape {part.dims}", "a scalar")
        part = layout.reshape(part, shape=()) if part.dims else part
        scalars.append(part if part.dtype is dtype else arithmetic.cast(part, dtype=dtype))
    if all(type(x) is EagerTensor for x in scalars) and not in_graph():
        return constant(progression(*[x._array for x in scalars], dtype))  # type: ignore
    return sequences.sequence(*scalars, count=_number_of_steps(scalars, dtype))


def _number_of_steps(scalars: list, dtype: DType) -> Size | None:
    """Compute the number of elements of a range, as far as a graph knows its bounds."""
    if not any(type(x) is Symbol for x in scalars):
        return None
    if not dtype.is_integer:
        known = [x._array for x in scalars if type(x) is not Symbol or constant_of(x.node)]
        return progression(*known, dtype).size if len(known) == 3 else None  # type: ignore
    first, limit, step = (integer_scalar(x, "range", "start") for x in scalars)
    if type(step) is not int or step == 0:
        return None
    length = limit - first if step > 0 else first - limit
    return length if abs(step) == 1 else (length + abs(step) - 1) // abs(step)


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


@export("linspace")
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: TensorLike,
    name: str | None = None,
    axis: AxisLike = 0,
) -> Tensor:
    """Return `num` evenly spaced values from `start` to `stop`, both included, along a new axis
    `axis`.

    start, stop: floats or complex of one dtype (integers become float64), broadcast; num: an
    integer of at least 0, TypeError for a float.  Differentiable by start and stop.

    >>> import talweg as tf
    >>> tf.linspace(0.0, 1.0, 5).numpy()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    first = tensor(start)
    last = convert_to_tensor(stop, first.dtype)
    count = _number_of_points(num)
    if type(count) is Dim and (below(count, 0) or not below(1, count)):
        return _linspace_of_unknown(first, last, count, axis)
    if first.dtype.is_integer:
        first = arithmetic.cast(first, dtype=float64)
        last = arithmetic.cast(last, dtype=float64)
    dims = broadcast_dims("linspace", first.dims, last.dims)
    along = normalize_axis("linspace", integer_scalar(axis, "linspace", "axis"), len(dims) + 1)
    lined = (*dims[:along], 1, *dims[along:])
    first = layout.reshape(layout.broadcast_to(first, shape=dims), shape=lined)
    last = layout.reshape(layout.broadcast_to(last, shape=dims), shape=lined)
    if count < 2:
        end = tuple(count if axis == along else size for axis, size in enumerate(lined))
        zero, one = (0,) * len(lined), (1,) * len(lined)
        return layout.strided_slice(first, begin=zero, end=end, strides=one)
    steps = allocate("linspace", np.arange, 1, count - 1).astype(first.dtype.numpy_dtype)
    steps = constant(steps.reshape(-1, *(1,) * (len(dims) - along)))
    inner = first + (last - first) / (count - 1) * steps
    return layout.concat(first, inner, last, axis=along)


def _linspace_of_unknown(first: Tensor, last: Tensor, count: Dim, axis: object) -> Any:
    """Compute `linspace` for a number of points that only a run knows, which may be 0 or 1."""
    if first.dtype.is_integer:
        first, last = (arithmetic.cast(x, dtype=float64) for x in (first, last))
    dims = broadcast_dims("linspace", first.dims, last.dims)
    along = normalize_axis("linspace", integer_scalar(axis, "linspace", "axis"), len(dims) + 1)
    lined = (*dims[:along], 1, *dims[along:])
    first = layout.reshape(layout.broadcast_to(first, shape=dims), shape=lined)
    last = layout.reshape(layout.broadcast_to(last, shape=dims), shape=lined)
    steps = sequences.counting(size=count, dtype=int64)
    steps = layout.reshape(steps, shape=(count, *(1,) * (len(dims) - along)))
    end = size_tensor(largest(count - 1, 1), int64)
    inside = first + (last - first) / arithmetic.cast(end, dtype=first.dtype) * arithmetic.cast(
        steps, dtype=first.dtype
    )
    return arithmetic.select(arithmetic.equal(steps, end), last, inside)


def _number_of_points(num: object) -> Size:
    given = tensor(num)
    if given.dtype not in INTEGERS:
        raise type_error("TW104", f"linspace: num must be an integer, got dtype {given.dtype.name}")
    count = integer_scalar(given, "linspace", "num")
    if below(count, 0):
        raise invalid("TW207", f"linspace: num={count}", "at least 0")
    return count


# -- indicators


@export("one_hot")
def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return a new axis of size `depth` with `on_value` (1) at the index and `off_value` (0)
    elsewhere.

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
    if below(size, 0):
        raise invalid("TW207", f"one_hot: depth must be non-negative, got {size}")
    rank = len(i.dims)
    along = -1 if axis is None else integer_scalar(axis, "one_hot", "axis")
    if not -1 <= along <= rank:
        raise invalid_value("TW202", f"one_hot: axis={along}", f"-1 or between 0 and {rank}")
    along = rank if along == -1 else along
    if on is None and off is None:
        return search.one_hot(i, depth=size, axis=along, dtype=dtype)
    mask = search.one_hot(i, depth=size, axis=along, dtype=bool_)
    on = on if on is not None else ones_of((), dtype, "one_hot")
    off = off if off is not None else zeros_of((), dtype)
    for value, argument in ((on, "on_value"), (off, "off_value")):
        if value.dims:
            raise invalid("TW203", f"one_hot: {argument} has shape {value.dims}", "a scalar")
    return arithmetic.select(mask, on, off)


def _depth(depth: object) -> Size:
    """Return the size of the new axis; a list is not a scalar, even of one number."""
    if isinstance(depth, (list, tuple)) or (hasattr(depth, "dims") and depth.dims):
        raise invalid("TW203", f"one_hot: depth must be a scalar, but got {depth!r}")
    return require_integer(depth, "one_hot", "depth")


def _value_dtype(on: Any, off: Any, dtype: DType | None) -> DType:
    """Return the dtype of a one_hot's values; TypeError where they differ."""
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


def _real(x: Tensor, argument: str) -> None:
    if x.dtype not in REAL:
        raise invalid(
            "TW102", f"sequence_mask: {argument} has dtype {x.dtype.name}", "real numbers"
        )


@export("sequence_mask")
def sequence_mask(
    lengths: TensorLike,
    maxlen: TensorLike | None = None,
    dtype: DTypeLike | None = bool_,
    name: str | None = None,
) -> Tensor:
    """Return True at the first lengths[i] of `maxlen` places, for every length.

    lengths [...] -> [..., maxlen]; maxlen is the largest length by default.  ValueError if maxlen
    is no scalar, InvalidArgumentError if it is negative.

    >>> import talweg as tf
    >>> tf.sequence_mask([1, 3]).numpy()
    array([[ True, False, False],
           [ True,  True,  True]])
    """
    x = tensor(lengths)
    dtype = bool_ if dtype is None else dtype
    if in_graph():
        return _mask_in_graph(x, maxlen, as_dtype(dtype))
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
    steps = allocate("sequence_mask", np.arange, math.ceil(longest)).astype(x.dtype.numpy_dtype)
    mask = arithmetic.less(constant(steps), layout.reshape(x, shape=(*x.dims, 1)))
    dtype = as_dtype(dtype)
    return mask if dtype is bool_ else arithmetic.cast(mask, dtype=dtype)


def _mask_in_graph(x: Tensor, maxlen: Any, dtype: DType) -> Any:
    """Compute `sequence_mask` of a tensor of a graph."""
    _real(x, "lengths")
    if maxlen is None:
        every = tuple(range(len(x.dims)))
        most = reduce.reduce_max(x, axes=every, keepdims=False)
        most = arithmetic.maximum(most, zeros_of((), x.dtype))
    else:
        most = tensor(maxlen)
        _real(most, "maxlen")
        if most.dims:
            raise value_error(
                "TW203", f"sequence_mask: argument `maxlen` must be scalar, got {maxlen!r}"
            )
        x = x if x.dtype is most.dtype else arithmetic.cast(x, dtype=most.dtype)
    steps = range_(zeros_of((), most.dtype), most, ones_of((), most.dtype, "sequence_mask"))
    mask = arithmetic.less(steps, layout.reshape(x, shape=(*x.dims, 1)))
    return mask if dtype is bool_ else arithmetic.cast(mask, dtype=dtype)
