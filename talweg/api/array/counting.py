"""Counting and distributing: bincount, confusion_matrix, histograms, dynamic_partition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from talweg.api.arguments import integer, tensor
from talweg.api.array.operands import (
    allocated,
    constant,
    integer_array,
    integer_scalar,
    integer_vector,
    numbers,
)
from talweg.api.export import export
from talweg.core.dtypes import ANY, REAL, as_dtype, int32, int64
from talweg.core.errors import invalid, type_error, value_error
from talweg.eager.convert import convert_to_tensor
from talweg.eager.operators import matching_list
from talweg.eager.tensor import array_of
from talweg.prims import arithmetic, indexing, joining, layout, scattering


@export("math.bincount")
def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = int32,
    name: str | None = None,
    axis: Any = None,
    binary_output: bool = False,
) -> Any:
    """How often each of 0, 1, 2, ... appears in `arr`, or the sum of the `weights` it has there.

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
    values = _counted(arr)
    rows = values.reshape(1, -1)
    if axis == -1:
        if values.ndim > 2:
            raise invalid("TW203", f"bincount: arr has shape {values.shape}", "rank at most 2")
        rows = values.reshape(-1, values.shape[-1] if values.ndim else 1)
    size = _bins(values, minlength, maxlength)
    dims = (len(rows), size) if axis == -1 and values.ndim == 2 else (size,)
    inside = np.flatnonzero(rows.reshape(-1) < size)
    places = (rows + np.arange(len(rows))[:, None] * size).reshape(-1)
    total = len(rows) * size
    if weights is None:
        found = allocated("bincount", np.bincount, places[inside], None, total)
        found = found[:total].reshape(dims)
        if binary_output:
            found = found > 0
        return constant(found.astype(as_dtype(dtype).numpy_dtype))
    w = tensor(weights)
    if (axis == -1 and w.dims != values.shape) or int(np.prod(w.dims)) != values.size:
        raise invalid(
            "TW204", f"bincount: weights has shape {w.dims}, arr {values.shape}", "one shape"
        )
    w = layout.reshape(w, shape=(values.size,))
    if inside.size < values.size:
        w = indexing.gather(w, constant(inside), axis=0, batch_dims=0)
    summed = indexing.scatter_rows(w, constant(places[inside]), axis=0, batch_dims=0, rows=total)
    return layout.reshape(summed, shape=dims)


def _counted(arr: Any) -> np.ndarray:
    x = tensor(arr)
    if x.dtype not in ANY:
        raise invalid("TW102", f"bincount: arr has dtype {x.dtype.name}", "int32 or int64")
    if not x.dtype.is_integer:
        x = arithmetic.cast(x, dtype=int32)
    if x.dtype not in (int32, int64):
        raise invalid("TW102", f"bincount: arr has dtype {x.dtype.name}", "int32 or int64")
    values = np.asarray(array_of(x)).astype(np.int64)
    if values.size and values.min() < 0:
        raise invalid("TW207", "bincount: arr must be non-negative", "numbers of at least 0")
    return values


def _bins(values: np.ndarray, minlength: Any, maxlength: Any) -> int:
    size = int(values.max()) + 1 if values.size else 0
    if minlength is not None:
        size = max(size, integer_scalar(minlength, "bincount", "minlength"))
    if maxlength is not None:
        most = integer_scalar(maxlength, "bincount", "maxlength")
        if most < 0:
            raise invalid("TW207", f"bincount: maxlength={most}", "at least 0")
        size = min(size, most)
    return size


@export("math.confusion_matrix")
def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    weights: Any = None,
    dtype: Any = int32,
    name: str | None = None,
) -> Any:
    """Row i, column j: how many elements with label i were predicted as j (or their weights' sum).

    labels, predictions: vectors of classes from 0; weights: of their shape (ValueError otherwise).
    num_classes is one more than the largest class by default.  InvalidArgumentError for classes
    outside.

    >>> import talweg as tf
    >>> tf.math.confusion_matrix([0, 1, 1], [0, 1, 0]).numpy()
    array([[1, 0],
           [1, 1]], dtype=int32)
    """
    actual, predicted = _squeezed_pair(tensor(labels), tensor(predictions))
    for x, argument in ((actual, "labels"), (predicted, "predictions")):
        if x.dtype not in ANY or not x.dims:
            raise invalid(
                "TW102",
                f"confusion_matrix: {argument} is {x.dtype.name} of shape {x.dims}",
                "a vector of classes",
            )
    pair = [arithmetic.cast(x, dtype=int64) for x in (actual, predicted)]
    for x, argument in zip(pair, ("labels", "predictions")):
        if (array_of(x) < 0).any():
            raise invalid("TW207", f"confusion_matrix: `{argument}` contains negative values")
    if num_classes is None:
        if not all(math.prod(x.dims) for x in pair):
            raise invalid("TW207", "confusion_matrix: no elements and no num_classes")
        count = max(int(array_of(x).max()) for x in pair) + 1
    else:
        count = integer_scalar(num_classes, "confusion_matrix", "num_classes")
        for x, argument in zip(pair, ("labels", "predictions")):
            if (array_of(x) >= count).any():
                raise invalid(
                    "TW206",
                    f"confusion_matrix: `{argument}` out of bound",
                    f"classes below {count}",
                )
    dtype = as_dtype(dtype)
    if weights is None:
        w = constant(np.ones(predicted.dims, dtype.numpy_dtype))
    else:
        w = tensor(weights)
        if w.dims != predicted.dims:
            raise value_error(
                "TW204",
                f"confusion_matrix: weights has shape {w.dims}, predictions {predicted.dims}",
                "one shape",
            )
        w = arithmetic.cast(w, dtype=dtype)
    return indexing.scatter_nd(joining.stack(*pair, axis=1), w, shape=(count, count))


def _squeezed_pair(x: Any, y: Any) -> tuple:
    """Both without a last axis of size 1 that only one of them has."""
    extra = len(x.dims) - len(y.dims)
    if extra == 1 and x.dims[-1] == 1:
        x = layout.reshape(x, shape=x.dims[:-1])
    if extra == -1 and y.dims[-1] == 1:
        y = layout.reshape(y, shape=y.dims[:-1])
    return x, y


def _histogram_arguments(function: str, values: Any, value_range: Any, nbins: Any) -> tuple:
    tensors = matching_list((values, value_range))
    for part in tensors:
        if part.dtype not in REAL:
            raise invalid("TW102", f"{function}: dtype {part.dtype.name}", "real numbers")
    x, bounds = (np.asarray(array_of(part)) for part in tensors)
    count = integer_scalar(nbins, function, "nbins")
    if count <= 0:
        raise invalid("TW207", f"{function}: nbins={count}", "a positive number")
    if bounds.size != 2:
        raise invalid("TW205", f"{function}: value_range has shape {bounds.shape}", "two numbers")
    return x, *bounds.reshape(-1), count


@export("histogram_fixed_width")
def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = int32, name: str | None = None
) -> Any:
    """How many `values` fall into each of `nbins` equal parts of value_range = [low, high].

    Values outside count in the first and last part.  dtype int32 or int64.  InvalidArgumentError
    unless low < high, for NaN, and for nbins below 1.

    >>> import talweg as tf
    >>> tf.histogram_fixed_width([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5).numpy()
    array([2, 1, 1, 0, 2], dtype=int32)
    """
    function = "histogram_fixed_width"
    dtype = as_dtype(dtype)
    numbers(dtype, function, "dtype")
    x, low, high, count = _histogram_arguments(function, values, value_range, nbins)
    if not low < high:
        raise invalid("TW207", f"{function}: value_range=[{low}, {high}]", "low < high")
    if np.isnan(x).any():
        raise invalid("TW207", f"{function}: values contain NaN")
    step = (float(high) - float(low)) / count
    places = np.clip((x.astype(np.float64) - float(low)) / step, 0, count - 1)
    places = places.astype(np.int64).reshape(-1)
    found = allocated(function, np.bincount, places, None, count)
    return constant(found.astype(dtype.numpy_dtype))


@export("histogram_fixed_width_bins")
def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = int32, name: str | None = None
) -> Any:
    """The part of value_range = [low, high], cut into `nbins`, that each value falls into (int32).

    Values outside belong to the first and last part.

    >>> import talweg as tf
    >>> tf.histogram_fixed_width_bins([-1.0, 1.5, 15.0], [0.0, 5.0], nbins=5).numpy()
    array([0, 1, 4], dtype=int32)
    """
    function = "histogram_fixed_width_bins"
    x, low, high, count = _histogram_arguments(function, values, value_range, nbins)
    kind = np.float64 if x.dtype.kind in "iu" else x.dtype
    with np.errstate(all="ignore"):
        scaled = (
            (x - low).astype(kind) / kind.type(high - low)
            if hasattr(kind, "type")
            else ((x - low).astype(kind) / kind(high - low))
        )
        places = np.clip(np.floor(scaled * count), 0, count - 1).astype(np.int32)
    return constant(places)


@export("dynamic_partition")
def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list:
    """The slices of `data` sorted into `num_partitions` tensors: slice i goes to partitions[i].

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
    if x.dims[:rank] != parts.dims:
        raise invalid(
            "TW204",
            f"dynamic_partition: data has shape {x.dims} and partitions {parts.dims}",
            "data.shape beginning with partitions.shape",
        )
    flat = np.asarray(array_of(parts)).reshape(-1)
    indexing.check_range("dynamic_partition", flat, count)
    rows = layout.reshape(x, shape=(flat.size, *x.dims[rank:]))
    order = constant(np.argsort(flat, kind="stable"))
    ordered = indexing.gather(rows, order, axis=0, batch_dims=0)
    sizes = tuple(np.bincount(flat, minlength=count).tolist())
    return list(joining.split(ordered, sizes=sizes, axis=0))


@export("dynamic_stitch")
def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Any:
    """Slices put together: result[indices[m][i]] = data[m][i]; of equal indices the last counts.

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
        if x.dims != (*i.dims, *rest):
            raise invalid(
                "TW204",
                f"dynamic_stitch: data[{position}] has shape {x.dims}, its indices {i.dims}",
                f"data of shape {(*i.dims, *rest)}",
            )
        count = int(np.prod(i.dims))
        lines.append(np.asarray(array_of(i)).reshape(count))
        rows.append(layout.reshape(x, shape=(count, *rest)))
    where = np.concatenate(lines)
    if where.size and where.min() < 0:
        raise invalid("TW206", "dynamic_stitch: indices hold a negative number")
    total = int(where.max()) + 1 if where.size else 0
    blank = constant(np.zeros((total, *rest), parts[0].dtype.numpy_dtype))
    joined = rows[0] if len(rows) == 1 else layout.concat(*rows, axis=0)
    return scattering.scatter_update(blank, constant(where[:, None]), joined)


@export("unravel_index")
def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Any:
    """The coordinates of flat `indices` in a tensor of shape `dims`.

    indices: a scalar or a vector [n]; the result has shape [rank] or [rank, n].
    InvalidArgumentError for an index that is too large.

    >>> import talweg as tf
    >>> tf.unravel_index([3, 5], [2, 3]).numpy()
    array([[1, 1],
           [0, 2]], dtype=int32)
    """
    array = integer_array(indices, "unravel_index", "indices")
    shape = np.array(integer_vector(dims, "unravel_index", "dims"), np.int64)
    if array.ndim > 1:
        raise invalid("TW203", f"unravel_index: indices has shape {array.shape}", "rank at most 1")
    if (shape == 0).any():
        raise invalid("TW205", f"unravel_index: dims={shape.tolist()} contains a zero")
    if array.size and array.max() >= np.prod(shape):
        raise invalid("TW206", f"unravel_index: index {array.max()} is out of bound with dims")
    kind = array.dtype if array.dtype.kind == "i" else np.dtype(np.int32)
    left, found = array.astype(np.int64), []
    for size in shape[::-1]:
        found.append(np.fmod(left, size))  # negative indices stay negative, as in TensorFlow
        left = np.trunc(left / size).astype(np.int64)
    return constant(np.array(found[::-1]).astype(kind))
