"""Counting and distributing: bincount, confusion_matrix, histograms, dynamic_partition."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import integer, require_sizes, tensor
from talweg.api.array.operands import (
    INTEGERS,
    constant,
    integer_scalar,
    integer_vector,
    nothing,
    numbers,
    size_tensor,
)
from talweg.api.export import export, look_up
from talweg.core.dims import Size, below, differ, dims_differ, largest, same, smallest
from talweg.core.dtypes import ANY, REAL, as_dtype, int32, int64
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.operators import matching_list
from talweg.eager.tensor import EagerTensor, array_of
from talweg.graph import structure
from talweg.graph.symbol import Symbol
from talweg.prims import (
    arithmetic,
    counts,
    indexing,
    joining,
    layout,
    scattering,
    segment,
    sequences,
    sort,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import AxisLike, DTypeLike, ShapeLike, TensorLike


@export("math.bincount")
def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
    axis: AxisLike | None = None,
    binary_output: bool = False,
) -> Tensor:
    """Count how often each of 0, 1, 2, ... appears in `arr`, or sum the `weights` it has there.

    arr: non-negative integers; the result has max(arr) + 1 places, at least `minlength` and at most
    `maxlength` (larger numbers are not counted).  axis -1 counts each row of a matrix alone, None
    or 0 everything.  `binary_output` says only whether a number appears.  The dtype is `dtype`, or
    that of the weights.  InvalidArgumentError for negative numbers or weights of another shape.

    >>> import talweg as tf
    >>> tf.math.bincount([1, 1, 3]).numpy()
    array([0, 2, 0, 1], dtype=int32)
    """
    if binary_output and weights is not None:
        raise value_error("TW207", "bincount: binary_output and weights exclude each other")
    if axis not in (None, 0, -1):
        raise value_error("TW202", f"bincount: axis={axis}", "None, 0 or -1")
    if structure.kind_of(arr) == structure.COMPOSITE:  # sparse or ragged
        sparse = look_up("sparse.bincount")(
            arr, weights, axis or 0, minlength, maxlength, binary_output
        )
        dense = look_up("sparse.to_dense")(sparse)
        return dense if weights is not None else arithmetic.cast(dense, dtype=as_dtype(dtype))
    x = _count(arr)
    if axis == -1 and len(x.dims) > 2:
        raise invalid("TW203", f"bincount: arr has shape {x.dims}", "rank at most 2")
    size, needed = _bins(x, minlength, maxlength)
    if weights is None:
        dense = _counts(x, size, axis)
        if binary_output:
            dense = arithmetic.greater(dense, constant(np.int64(0)))
        dtype = as_dtype(dtype)
        return dense if dense.dtype is dtype else arithmetic.cast(dense, dtype=dtype)
    w = tensor(weights)
    own, wanted = (v.dims if axis == -1 else (math.prod(v.dims),) for v in (w, x))
    if dims_differ(own, wanted):
        raise invalid("TW204", f"bincount: weights has shape {w.dims}, arr {x.dims}", "one shape")
    w = require_sizes(w, own, wanted, "bincount: weights and arr")
    return _sum_weights(x, w, size, axis)


def _rows_of(x: Any, axis: object) -> tuple:
    """Return the number of rows that are counted one by one, and the length of a row."""
    if axis == -1 and len(x.dims) == 2:
        return x.dims
    return 1, math.prod(x.dims)


def _places(x: object, size: Size, axis: object) -> tuple:
    """Return the bin of each element
    in all rows' bins one after the other, and which are counted.
    """
    rows, columns = _rows_of(x, axis)
    flat = layout.reshape(arithmetic.cast(x, dtype=int64), shape=(rows, columns))
    steps = layout.reshape(sequences.counting(size=rows, dtype=int64), shape=(rows, 1))
    bins = size_tensor(size, int64)
    inside = arithmetic.less(flat, bins)
    return tuple(
        [layout.reshape(part, shape=(rows * columns,)) for part in (flat + steps * bins, inside)]
    )


def _counts(x: Tensor, size: Size, axis: object) -> Any:
    """Count how often each number below `size` appears, [size] or [rows, size]."""
    if axis != -1 or len(x.dims) != 2:
        flat = x if len(x.dims) == 1 else layout.reshape(x, shape=(math.prod(x.dims),))
        return counts.bincount(flat, size=size)
    places, inside = _places(x, size, axis)
    total = x.dims[0] * size
    places = arithmetic.select(inside, places, size_tensor(total, int64))
    return layout.reshape(counts.bincount(places, size=total), shape=(x.dims[0], size))


def _sum_weights(x: Tensor, w: object, size: Size, axis: AxisLike | None) -> Any:
    """Return the sums of the weights of each number below `size`."""
    rows, columns = _rows_of(x, axis)
    places, inside = _places(x, size, axis)
    kept = arithmetic.select(inside, places, constant(np.int64(-1)))
    flat = layout.reshape(w, shape=(rows * columns,))
    summed = segment.segment_sum(flat, kept, count=rows * size)
    matrix = axis == -1 and len(x.dims) == 2
    return layout.reshape(summed, shape=(rows, size) if matrix else (size,))


def _count(arr: object) -> Any:
    x = tensor(arr)
    if x.dtype not in ANY:
        raise invalid("TW102", f"bincount: arr has dtype {x.dtype.name}", "int32 or int64")
    if not x.dtype.is_integer:
        x = arithmetic.cast(x, dtype=int32)
    if x.dtype not in (int32, int64):
        raise invalid("TW102", f"bincount: arr has dtype {x.dtype.name}", "int32 or int64")
    return x


def _bins(x: object, minlength: object, maxlength: TensorLike | None) -> tuple[Size, Any]:
    """Compute the number of bins, and the tensor that says it, which must live as long."""
    if type(x) is EagerTensor:
        array, needed = np.asarray(x._array), x
        if array.size and array.min() < 0:
            raise invalid("TW207", "bincount: arr holds negative numbers", "numbers of at least 0")
        size: Size = int(array.max()) + 1 if array.size else 0
    else:
        needed = counts.number_of_bins(x, argument=("bincount", "arr"))
        size = integer_scalar(needed, "bincount", "arr")
    if minlength is not None:
        size = largest(size, integer_scalar(minlength, "bincount", "minlength"))
    if maxlength is not None:
        most = integer_scalar(maxlength, "bincount", "maxlength")
        if below(most, 0):
            raise invalid("TW207", f"bincount: maxlength={most}", "at least 0")
        size = smallest(size, most)
    return size, needed


@export("math.confusion_matrix")
def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: TensorLike | None = None,
    weights: TensorLike | None = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Count, in row i and column j, how many elements with label i were predicted as j (or their
    weights' sum).

    labels, predictions: vectors of classes from 0; weights: of their shape (ValueError otherwise).
    num_classes is one more than the largest class by default.  InvalidArgumentError for classes
    outside.

    >>> import talweg as tf
    >>> tf.math.confusion_matrix([0, 1, 1], [0, 1, 0]).numpy()
    array([[1, 0],
           [1, 1]], dtype=int32)
    """
    actual, predicted = _squeeze_pair(tensor(labels), tensor(predictions))
    for x, argument in ((actual, "labels"), (predicted, "predictions")):
        if x.dtype not in ANY or not x.dims:
            raise invalid(
                "TW102",
                f"confusion_matrix: {argument} is {x.dtype.name} of shape {x.dims}",
                "a vector of classes",
            )
    pair = [arithmetic.cast(x, dtype=int64) for x in (actual, predicted)]
    _check_classes(pair, num_classes)
    needed = []
    if num_classes is None:
        if any(same(math.prod(x.dims), 0) for x in pair):
            raise invalid("TW207", "confusion_matrix: no elements and no num_classes")
        pair = [
            require_sizes(x, (smallest(math.prod(x.dims), 1),), (1,), "confusion_matrix: elements")
            for x in pair
        ]
        needed = [counts.number_of_bins(x, argument=("confusion_matrix", "labels")) for x in pair]
        count: Any = largest(*[integer_scalar(n, "confusion_matrix", "labels") for n in needed])
    else:
        count = integer_scalar(num_classes, "confusion_matrix", "num_classes")
    dtype = as_dtype(dtype)
    if weights is None:
        one = constant(dtype.numpy_dtype.type(1))
        w = layout.broadcast_to(one, shape=predicted.dims)
    else:
        w = tensor(weights)
        if dims_differ(w.dims, predicted.dims):
            raise value_error(
                "TW204",
                f"confusion_matrix: weights has shape {w.dims}, predictions {predicted.dims}",
                "one shape",
            )
        w = require_sizes(w, w.dims, predicted.dims, "confusion_matrix: weights and predictions")
        w = arithmetic.cast(w, dtype=dtype)
    return indexing.scatter_nd(joining.stack(*pair, axis=1), w, shape=(count, count))


def _check_classes(pair: list, num_classes: object) -> None:
    """Raise InvalidArgumentError for classes outside; in a graph the scatter finds them."""
    for x, argument in zip(pair, ("labels", "predictions")):
        if type(x) is Symbol:
            continue
        array = array_of(x)
        if (array < 0).any():
            raise invalid("TW207", f"confusion_matrix: `{argument}` contains negative values")
        if num_classes is not None and type(num_classes) is not Symbol:
            most = integer_scalar(num_classes, "confusion_matrix", "num_classes")
            if (array >= most).any():
                text = f"confusion_matrix: `{argument}` out of bound"
                raise invalid("TW206", text, f"classes below {most}")


def _squeeze_pair(x: Tensor, y: Tensor) -> tuple:
    """Squeeze a last axis of size 1 that only one of both has."""
    extra = len(x.dims) - len(y.dims)
    if extra == 1 and not differ(x.dims[-1], 1):
        x = layout.reshape(x, shape=x.dims[:-1])
    if extra == -1 and not differ(y.dims[-1], 1):
        y = layout.reshape(y, shape=y.dims[:-1])
    return x, y


def _histogram_arguments(
    function: str, values: object, value_range: object, nbins: TensorLike
) -> tuple:
    tensors = matching_list((values, value_range))
    for part in tensors:
        if part.dtype not in REAL:
            raise invalid("TW102", f"{function}: dtype {part.dtype.name}", "real numbers")
    x, limits = tensors
    if differ(math.prod(limits.dims), 2):
        raise invalid("TW205", f"{function}: value_range has shape {limits.dims}", "two numbers")
    limits = require_sizes(limits, (math.prod(limits.dims),), (2,), f"{function}: value_range")
    count = integer_scalar(nbins, function, "nbins")
    limits = limits if len(limits.dims) == 1 else layout.reshape(limits, shape=(2,))
    return x, limits, count


@export("histogram_fixed_width")
def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Count the `values` in each of `nbins` bins of equal width of value_range = [low, high].

    Values outside count in the first and last part.  dtype int32 or int64.  InvalidArgumentError
    unless low < high, for NaN, and for nbins below 1.

    >>> import talweg as tf
    >>> tf.histogram_fixed_width([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5).numpy()
    array([2, 1, 1, 0, 2], dtype=int32)
    """
    function = "histogram_fixed_width"
    dtype = as_dtype(dtype)
    numbers(dtype, function, "dtype")
    x, limits, count = _histogram_arguments(function, values, value_range, nbins)
    return counts.histogram(x, limits, bins=count, dtype=dtype)


@export("histogram_fixed_width_bins")
def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Return the part of value_range = [low, high], cut into `nbins`, that each value falls into
    (int32).

    Values outside belong to the first and last part.

    >>> import talweg as tf
    >>> tf.histogram_fixed_width_bins([-1.0, 1.5, 15.0], [0.0, 5.0], nbins=5).numpy()
    array([0, 1, 4], dtype=int32)
    """
    function = "histogram_fixed_width_bins"
    x, limits, count = _histogram_arguments(function, values, value_range, nbins)
    return counts.histogram_bins(x, limits, bins=count)


@export("dynamic_partition")
def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """Return the slices of `data` sorted into `num_partitions` tensors: slice i goes to
    partitions[i].

    data [...p, ...r], partitions [...p] (int32) -> tensors [?, ...r].  InvalidArgumentError for a
    partition outside [0, num_partitions) or shapes that do not fit.

    >>> import talweg as tf
    >>> [x.numpy().tolist() for x in tf.dynamic_partition([10, 20, 30], [0, 1, 0], 2)]
    [[10, 30], [20]]
    """
    x, parts = tensor(data), convert_to_tensor(partitions, int32)
    count = integer(num_partitions, "dynamic_partition", "num_partitions")
    if count < 1:
        raise invalid("TW207", f"dynamic_partition: num_partitions={count}", "at least 1")
    rank = len(parts.dims)
    if dims_differ(x.dims[:rank], parts.dims):
        raise invalid(
            "TW204",
            f"dynamic_partition: data has shape {x.dims} and partitions {parts.dims}",
            "data.shape beginning with partitions.shape",
        )
    parts = require_sizes(parts, parts.dims, x.dims[:rank], "dynamic_partition: partitions")
    flat, rows = parts, x
    if rank != 1:
        size = math.prod(parts.dims)
        flat = layout.reshape(parts, shape=(size,))
        rows = layout.reshape(x, shape=(size, *x.dims[rank:]))
    order = sort.argsort(flat, descending=False)
    ordered = indexing.gather(rows, order, axis=0, batch_dims=0)
    sizes_found = counts.partition_sizes(flat, count=count)
    sizes = integer_vector(sizes_found, "dynamic_partition", "partitions")
    return list(joining.split(ordered, sizes=sizes, axis=0))


@export("dynamic_stitch")
def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: str | None = None) -> Tensor:
    """Return slices put together: result[indices[m][i]] = data[m][i]; of equal indices the last
    counts.

    indices: a list of int32 tensors; data: a list of tensors, data[m] of shape
    indices[m].shape + rest.  Places that no index names are zero.  ValueError for lists of
    different lengths, InvalidArgumentError where shapes do not fit.

    >>> import talweg as tf
    >>> tf.dynamic_stitch([[0, 2], [1]], [[10, 30], [20]]).numpy()
    array([10, 20, 30], dtype=int32)
    """
    for value, argument in ((indices, "indices"), (data, "data")):
        if not hasattr(value, "__len__"):
            raise type_error("TW104", f"dynamic_stitch: {argument} must be a list, got {value!r}")
    if len(indices) != len(data):
        raise value_error(
            "TW204",
            f"dynamic_stitch: {len(indices)} indices and {len(data)} data",
            "as many of both",
        )
    if not len(data):
        raise invalid("TW207", "dynamic_stitch: no data", "at least one tensor")
    places = [convert_to_tensor(item, int32) for item in indices]
    parts = matching_list(data)
    rest = parts[0].dims[len(places[0].dims) :]
    rows, lines = [], []
    for position, (i, x) in enumerate(zip(places, parts)):
        if dims_differ(x.dims, (*i.dims, *rest)):
            raise invalid(
                "TW204",
                f"dynamic_stitch: data[{position}] has shape {x.dims}, its indices {i.dims}",
                f"data of shape {(*i.dims, *rest)}",
            )
        x = require_sizes(x, x.dims, (*i.dims, *rest), f"dynamic_stitch: data[{position}]")
        count = math.prod(i.dims)
        lines.append(layout.reshape(i, shape=(count,)))
        rows.append(layout.reshape(x, shape=(count, *rest)))
    where = lines[0] if len(lines) == 1 else layout.concat(*lines, axis=0)
    needed = counts.number_of_bins(where, argument=("dynamic_stitch", "indices"))
    total = integer_scalar(needed, "dynamic_stitch", "indices")
    zero = constant(nothing(parts[0].dtype))
    blank = layout.broadcast_to(zero, shape=(total, *rest))
    joined = rows[0] if len(rows) == 1 else layout.concat(*rows, axis=0)
    places = layout.reshape(where, shape=(*where.dims, 1))
    return scattering.scatter_update(blank, places, joined)


@export("unravel_index")
def unravel_index(indices: TensorLike, dims: ShapeLike, name: str | None = None) -> Tensor:
    """Return the coordinates of flat `indices` in a tensor of shape `dims`.

    indices: a scalar or a vector [n]; the result has shape [rank] or [rank, n].
    InvalidArgumentError for an index that is too large.

    >>> import talweg as tf
    >>> tf.unravel_index([3, 5], [2, 3]).numpy()
    array([[1, 1],
           [0, 2]], dtype=int32)
    """
    shape = tensor(dims)
    i = tensor(indices, hint=shape.dtype)
    shape = shape if isinstance(dims, Tensor) else tensor(dims, hint=i.dtype)
    for x, argument in ((i, "indices"), (shape, "dims")):
        if x.dtype not in INTEGERS and 0 not in x.dims:
            raise invalid("TW102", f"unravel_index: {argument} is {x.dtype.name}", "integers")
    parts = [x if x.dtype in INTEGERS else arithmetic.cast(x, dtype=int32) for x in (i, shape)]
    return counts.unravel(*parts)
