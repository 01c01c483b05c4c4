"""tensor[key], tf.slice and tf.strided_slice.

A key is resolved against a shape into a `SlicePlan`: bounds for `strided_slice`, the shape left,
and the same key for NumPy.  Plain eager indexing takes NumPy's view at once, except for errors.
Where a graph lacks a size or a bound, `slice_by` resolves the key itself when the graph runs.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from talweg.api.arguments import require_sizes, tensor
from talweg.api.array.batched_keys import as_vectors, has_batched_bound
from talweg.api.array.operands import (
    constant,
    dims_or_none,
    integer_array,
    integer_scalar,
    integer_vector,
    length_of,
    set_dims,
    set_rank,
)
from talweg.api.export import export, export_value, implement_hook, look_up
from talweg.core import dispatch, locking
from talweg.core.dims import Dim, below, is_symbolic, smallest
from talweg.core.dtypes import bool_, int16, int32, int64
from talweg.core.errors import NeedsStaticError, invalid, invalid_value, type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.tensor import EagerTensor
from talweg.eager.variable import Variable
from talweg.graph.symbol import Symbol
from talweg.kernels.variable_updates import frozen_key
from talweg.prims import arithmetic, dynamic, indexing, layout

newaxis = export_value(None, "newaxis")
state = dispatch.state
_PLAIN_BOUNDS = frozenset((int, type(None)))


class SlicePlan:
    """A key resolved against a shape."""

    __slots__ = ("begin", "end", "key", "raw", "shape", "strides", "symbolic")

    def __init__(self):
        self.begin: list = []
        self.end: list = []
        self.strides: list = []
        self.shape: list = []  # of the result; a symbolic index keeps its whole axis for now
        self.key: list = []  # for NumPy
        self.symbolic: list = []  # (axis of the result, index tensor of a batch)
        self.raw: tuple | None = None  # the key for `slice_by`, and places of new axes


# -- what may stand in a key


def _wrong(index: Any) -> Exception:
    return type_error(
        "TW104",
        f"Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
        f"tf.int32/tf.int64 tensors are valid indices, got {index!r}",
        hint="tf.gather for a list of indices, tf.boolean_mask for a mask",
    )


def _integer(index: Any) -> Any:
    """Convert an index to an int; a symbolic one, or a tensor inside a batch as it is."""
    kind = type(index)
    if kind is int or kind is Dim:
        return index
    if isinstance(index, bool):
        raise invalid("TW104", f"getitem: {index!r} stands among other indices", "integers")
    if isinstance(index, Variable):
        index = index.value()
    if isinstance(index, Tensor):
        if index.dtype not in (int16, int32, int64) or index.dims != ():
            raise _wrong(index)
        if type(index) is Symbol:
            return integer_scalar(index, "getitem", "index")
        return int(index._array) if type(index) is EagerTensor else index
    if isinstance(index, np.ndarray) and index.ndim == 0:
        index = index[()]
    if isinstance(index, (np.integer, int)):
        return int(index)
    if hasattr(kind, "__index__") and not isinstance(index, np.generic):
        return index.__index__()
    raise _wrong(index)


def _is_mask(key: Any) -> bool:
    if isinstance(key, (Tensor, Variable)):
        return key.dtype is bool_
    return isinstance(key, bool) or (isinstance(key, np.ndarray) and key.dtype == bool)


def _slice_bound(bound: Any) -> Any:
    return None if bound is None else _integer(bound)


# -- resolving


def plan(key: Any, dims: tuple) -> SlicePlan:
    """Resolve `key` (an index or a tuple of them) against the shape `dims`."""
    if type(key) is int and dims and not is_symbolic(dims) and -dims[0] <= key < dims[0]:
        return _row(key, dims)
    items = list(key) if isinstance(key, (tuple, list)) else [key]
    dots = [position for position, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise invalid("TW207", "getitem: an index may hold only one ellipsis (`...`)")
    if not dots:
        dots = [len(items)]
        items.append(Ellipsis)
    used = sum(item is not None and item is not Ellipsis for item in items)
    if not dims and used:
        raise invalid("TW203", "getitem: attempting to slice a scalar", "x[...] or x[tf.newaxis]")
    if used > len(dims):
        for item in items:  # a wrong kind of index is reported first
            if item is not None and item is not Ellipsis and not isinstance(item, slice):
                _integer(item)
        raise invalid(
            "TW203",
            f"getitem: {used} indices for a tensor of shape {dims} and rank {len(dims)}",
            f"at most {len(dims)}",
            "tf.gather(x, indices) for a list of indices along the first axis",
        )
    slices = SlicePlan()
    if is_symbolic(dims) or any(_holds_size(item) for item in items):
        slices.raw = _raw(items, dims, len(dims) - used)
        return slices
    for item in items:
        axis = len(slices.begin)
        if item is None:
            slices.shape.append(1)
            slices.key.append(None)
        elif item is Ellipsis:
            for position in range(axis, axis + len(dims) - used):
                _take_slice(slices, slice(None), dims[position], position)
        elif isinstance(item, slice):
            _take_slice(slices, item, dims[axis], axis)
        else:
            _take_one(slices, _integer(item), dims[axis], axis)
    return slices


def _holds_size(item: Any) -> bool:
    """Return whether an index or bound is a tensor or variable of unknown value."""
    if isinstance(item, slice):
        return any(map(_holds_size, (item.start, item.stop, item.step)))
    return type(_integer(item) if isinstance(item, (Symbol, Variable)) else item) is Dim


def _raw(items: list, dims: tuple, open_axes: int) -> tuple:
    """Convert a key to that of `slice_by`, and the places of new axes in the result."""
    key: list = []
    new, result_axis = [], 0
    for item in items:
        if item is None:
            new.append(result_axis)
            result_axis += 1
        elif item is Ellipsis:
            key += [_WHOLE] * open_axes
            result_axis += open_axes
        elif isinstance(item, slice):
            bounds = (_slice_bound(item.start), _slice_bound(item.stop), _slice_bound(item.step))
            if type(bounds[2]) is int and bounds[2] == 0:
                raise invalid("TW207", f"getitem: strides[{len(key)}] must be non-zero")
            key.append(bounds)
            result_axis += 1
        else:
            key.append(_index_of(_integer(item), dims[len(key)], len(key)))
    while key and key[-1] == _WHOLE:
        key.pop()
    return tuple(key), new


_WHOLE = (None, None, None)


def _index_of(index: Any, size: Any, axis: int) -> Any:
    """Return `index`, unless it is known to lie outside, or a batch has one for each part."""
    if isinstance(index, Tensor):
        raise _wrong(index)
    if below(size - 1, index) or (below(index, 0) and below(size + index, 0)):
        raise _outside(index, size, axis)
    return index


def _row(index: int, dims: tuple) -> SlicePlan:
    """Return the plan of the most frequent key, one int."""
    found = SlicePlan()
    index += dims[0] if index < 0 else 0
    found.begin, found.end = [index, *[0] * (len(dims) - 1)], [index + 1, *dims[1:]]
    found.strides, found.shape, found.key = [1] * len(dims), list(dims[1:]), [index]
    return found


def _take_slice(found: SlicePlan, item: slice, size: int, axis: int) -> None:
    start, stop, step = _slice_bound(item.start), _slice_bound(item.stop), _slice_bound(item.step)
    if step == 0:
        raise invalid("TW207", f"getitem: strides[{axis}] must be non-zero")
    start, stop, step = slice(start, stop, step).indices(size)
    count = len(range(start, stop, step))
    if not count:
        start, stop, step = 0, 0, 1
    _add(found, start, stop, step)
    found.shape.append(count)
    found.key.append(slice(start, None if stop < 0 else stop, step))


def _take_one(found: SlicePlan, index: Any, size: int, axis: int) -> None:
    if isinstance(index, Tensor):
        found.symbolic.append((len(found.shape), index))
        found.shape.append(size)
        _add(found, 0, size, 1)
        return
    if not -size <= index < size:
        raise _outside(index, size, axis)
    index += size if index < 0 else 0
    _add(found, index, index + 1, 1)
    found.key.append(index)


def _outside(index: Any, size: Any, axis: int) -> Exception:
    return invalid(
        "TW206",
        f"getitem: slice index {index} of dimension {axis} out of bounds",
        f"an index from {-size} to {size - 1}" if size else "no index: the dimension is empty",
    )


def _add(found: SlicePlan, begin: int, end: int, stride: int) -> None:
    found.begin.append(begin)
    found.end.append(end)
    found.strides.append(stride)


def apply(slices: SlicePlan, x: Any) -> Any:
    """Compute x[key] by primitives."""
    if slices.raw is not None:
        return _apply_raw(*slices.raw, x)  # type: ignore
    dims = x.dims
    whole = [0] * len(dims) == slices.begin and list(dims) == slices.end
    result = x
    if not whole or any(stride != 1 for stride in slices.strides):
        result = layout.strided_slice(
            x, begin=tuple(slices.begin), end=tuple(slices.end), strides=tuple(slices.strides)
        )
    if result.dims != tuple(slices.shape):
        result = layout.reshape(result, shape=tuple(slices.shape))
    for axis, index in reversed(slices.symbolic):
        wrapped = arithmetic.select(index < 0, index + result.dims[axis], index)
        result = indexing.gather(result, wrapped, axis=axis, batch_dims=0)
    return result


def _apply_raw(key: tuple, new: list, x: Any) -> Any:
    """Compute x[key] where bounds or sizes are symbolic, with new axes at the places `new`."""
    result = dynamic.slice_by(x, key=key) if key else x
    if new:
        dims = list(result.dims)
        for place in new:
            dims.insert(place, 1)
        result = layout.reshape(result, shape=tuple(dims))
    return result


# -- the operations


def _simple(item: Any) -> bool:
    kind = type(item)
    if kind is slice:
        return (
            type(item.start) in _PLAIN_BOUNDS
            and type(item.stop) in _PLAIN_BOUNDS
            and type(item.step) in _PLAIN_BOUNDS
        )
    return kind is int or item is None or item is Ellipsis


@implement_hook("getitem")
def getitem(x: Any, key: Any) -> Any:
    """Index a tensor, `x[key]`; see `Tensor.__getitem__` of TensorFlow for what a key may be.

    Ints, slices with ints or integer tensors, `...`, `tf.newaxis`, scalar integer tensors, tuples
    of these, or one boolean mask.  TypeError for other keys, InvalidArgumentError for an index out
    of range.
    """
    if type(key) is EagerTensor and key.dims == () and key.dtype in (int32, int64):
        key = int(key._array)
    simple = _simple(key) or (type(key) is tuple and all(map(_simple, key)))
    if simple and not (state.busy or state.meshes) and type(x) is EagerTensor:
        try:
            return _view(x._array, key)
        except (IndexError, ValueError):
            pass  # the general path says what is wrong
    if type(key) is not int and _is_mask(key):
        if np.ndim(key) == 0 if not hasattr(key, "dims") else not key.dims:
            raise value_error(
                "TW203", "getitem: mask cannot be scalar.", "a mask of rank at least 1"
            )
        return hooks.boolean_mask(x, key)
    if state.busy and has_batched_bound(key):
        return strided_slice(x, **as_vectors(key))
    return apply(plan(key, x.dims), x)


def _view(array: Any, key: Any) -> EagerTensor:
    found = array[key]
    if not isinstance(found, (np.ndarray, np.generic)):  # an element of an array of strings
        found = array[(*key, Ellipsis) if type(key) is tuple else (key, Ellipsis)]
    return constant(found)


@implement_hook("variable_getitem")
def variable_getitem(variable: Any, key: Any) -> Any:
    """Index a variable; the result also has `assign`, which writes into the variable."""
    x = variable.value()
    if _is_mask(key):
        return getitem(x, key)
    found = plan(key, x.dims)
    result = apply(found, x)
    if result is x:
        result = arithmetic.stop_gradient(x) if not x.dtype.is_numeric else arithmetic.identity(x)
    if found.raw is not None:
        result.assign = partial(_assign_where, variable, key)
    elif not found.symbolic:
        result.assign = partial(_assign, variable, found)
    return result


def _assign_where(variable: Any, key: Any, value: Any, name: str | None = None) -> Any:
    """Write `value`, broadcast, into the places of a variable that a key names only in a run."""
    x = variable.value()
    sizes = look_up("shape")(x)
    numbers = look_up("range")(look_up("reduce_prod")(sizes))
    places = getitem(look_up("reshape")(numbers, sizes), key)
    value = convert_to_tensor(value, dtype=variable.dtype)
    spread = look_up("broadcast_to")(value, look_up("shape")(places))
    flat = look_up("tensor_scatter_nd_update")(
        look_up("reshape")(x, [-1]),
        look_up("reshape")(places, [-1, 1]),
        look_up("reshape")(spread, [-1]),
    )
    return variable.assign(look_up("reshape")(flat, sizes))


def _assign(variable: Any, slices: SlicePlan, value: Any, name: str | None = None) -> Any:
    """Write `value`, broadcast, into the places of a variable that a key names; the variable."""
    if hasattr(variable, "assign_slice"):  # a variable of a graph
        return variable.assign_slice(frozen_key(slices.key), value, name)
    if dispatch.context.base is not None:
        value = convert_to_tensor(value, dtype=variable.dtype)
        return variable._update_in_trace("slice", value, place=frozen_key(slices.key))
    value = np.asarray(convert_to_tensor(value, dtype=variable.dtype)._array)
    with locking.holding(variable):
        array = np.array(variable.handle_read()._array)
        region = array[(*slices.key, Ellipsis)]
        while value.ndim > region.ndim and value.shape[0] == 1:
            value = value[0, ...]
        try:
            value = np.broadcast_to(value, region.shape)
        except ValueError:
            raise invalid(
                "TW201",
                f"assign: value of shape {value.shape} does not broadcast to the slice of shape "
                f"{region.shape} of variable '{variable.name}'",
            ) from None
        region[...] = value
        variable._replace(array[()])
    return variable


@export("slice")
def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """Return the block of `input_` that starts at `begin` and has shape `size`.

    begin, size: integer vectors with a number for each axis; a size of -1 reaches to the end.
    InvalidArgumentError where the block is not inside.

    >>> import talweg as tf
    >>> tf.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [2, -1]).numpy()
    array([[2, 3],
           [5, 6]], dtype=int32)
    """
    x = tensor(input_)
    if dims_or_none(x) is None and length_of(begin) is not None:
        x = set_rank(x, length_of(begin) or 0)
    dims = x.dims
    begin, size = set_dims(begin, (len(dims),)), set_dims(size, (len(dims),))
    starts = integer_vector(begin, "slice", "begin", empty=False)
    counts = integer_vector(size, "slice", "size", empty=False)
    if not len(starts) == len(counts) == len(dims):
        raise invalid(
            "TW203",
            f"slice: {len(starts)} numbers in begin and {len(counts)} in size for shape {dims}",
            f"{len(dims)} numbers in each",
        )
    try:
        ends = _ends(starts, counts, dims)
    except NeedsStaticError:
        return _block(x, starts, counts, dims)
    return layout.strided_slice(x, begin=starts, end=ends, strides=(1,) * len(dims))


def _check_part(axis: int, start: Any, count: Any, have: Any) -> None:
    """Raise InvalidArgumentError where a begin or size is known to be wrong."""
    if below(start, 0) or below(have, start):
        text = f"slice: expected begin[{axis}] in [0, {have}], but got {start}"
        is_rest = count == -1 and not below(start, 0)  # TensorFlow sees it while it builds
        raise (invalid if is_rest else invalid_value)("TW206", text)
    if below(count, -1) or below(have - start, count):
        text = f"slice: expected size[{axis}] in [0, {have - start}], but got {count}"
        raise (invalid if below(count, -1) else invalid_value)("TW206", text)


def _ends(starts: tuple, counts: tuple, dims: tuple) -> tuple:
    """Compute the ends of the block of `tf.slice`; InvalidArgumentError if it is not inside."""
    ends = []
    for axis, (start, count, have) in enumerate(zip(starts, counts, dims)):
        if not (0 <= start <= have and -1 <= count <= have - start):  # or it is not known
            _check_part(axis, start, count, have)
        ends.append(have if count == -1 else start + count)
    return tuple(ends)


def _block(x: Any, starts: tuple, counts: tuple, dims: tuple) -> Any:
    """Compute `tf.slice` where a size or a bound is symbolic."""
    for axis, (start, count, have) in enumerate(zip(starts, counts, dims)):
        _check_part(axis, start, count, have)
    return dynamic.block(x, begin=tuple(starts), shape=tuple(counts))


@export("strided_slice")
def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return input_[begin[0]:end[0]:strides[0], begin[1]:end[1]:strides[1], ...].

    The masks say, by bit i, that begin[i] or end[i] is left out, that place i is `...`, a new axis,
    or the single index begin[i].  Where `var` is the variable that was sliced, the result has
    `assign`.  InvalidArgumentError for vectors of different lengths, a stride of 0, an index out
    of range.

    >>> import talweg as tf
    >>> tf.strided_slice([1, 2, 3, 4, 5], [1], [5], [2]).numpy()
    array([2, 4], dtype=int32)
    """
    starts, ends = (_vector(v, w) for v, w in ((begin, "begin"), (end, "end")))
    steps = np.ones(starts.shape, int) if strides is None else _vector(strides, "strides")
    if not (starts.ndim == 1 and starts.shape == ends.shape == steps.shape):
        shapes = f"{starts.shape}, {ends.shape} and {steps.shape}"
        text = f"strided_slice: begin, end and strides have shapes {shapes}"
        raise invalid("TW204", text, "three vectors of one length")
    text = "strided_slice: a single index needs a stride of 1"
    key, single = [], []  # single: 1, or the stride below it, of each single index
    for axis, (start, stop, step) in enumerate(zip(*(v.tolist() for v in (starts, ends, steps)))):
        bit = 1 << axis
        if ellipsis_mask & bit:
            key.append(Ellipsis)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            if below(step, 1):
                raise invalid("TW207", text)
            single.append(smallest(step, 1))
            key.append(start)
        else:
            bounds = (None if begin_mask & bit else start, None if end_mask & bit else stop)
            key.append(slice(*bounds, step))
    if isinstance(var, Variable):
        return variable_getitem(var, tuple(key))
    x = require_sizes(tensor(input_), tuple(single), (1,) * len(single), text)
    return apply(plan(tuple(key), x.dims), x)


def _vector(value: Any, argument: str) -> np.ndarray:
    if type(value) in (list, tuple) and any(type(item) is Symbol for item in value):
        found = np.empty(len(value), object)
        found[:] = [integer_scalar(item, "strided_slice", argument) for item in value]
        return found
    return integer_array(value, "strided_slice", argument, empty=False)
