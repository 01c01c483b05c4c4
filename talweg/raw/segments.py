"""Segments, counts, sets and ragged rows among tf.raw_ops; `table.txt` calls them `segments.*`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.creating import zeros
from talweg.api.array.gathering import gather
from talweg.api.export import look_up
from talweg.core.dtypes import as_dtype
from talweg.core.errors import invalid
from talweg.eager.composite import SparseTensor
from talweg.raw.gradients import pullback
from talweg.raw.operands import integers_of, numbers_of, of_array, scalar_of

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, DTypeLike, ShapeLike
    from talweg.core.value import Tensor


def _parts(x: SparseTensor) -> tuple:
    return x.indices, x.values, x.dense_shape


# -- gradients of segments of chosen rows


def segment_grad(
    kind: str, grad: Tensor, indices: Tensor, segment_ids: Tensor, output_dim0: Any
) -> Any:
    """Return the gradient of `tf.sparse.segment_...` for its data, of so many rows."""
    rows = int(scalar_of(output_dim0))
    x = zeros([rows, *grad.dims[1:]], grad.dtype)
    function = look_up(f"sparse.segment_{kind}")
    count = grad.dims[0]
    return pullback(lambda x: function(x, indices, segment_ids, num_segments=count), x, grad)


def segment_grad_of_rows(
    kind: str, grad: Tensor, indices: Tensor, segment_ids: Tensor, dense_output_dim0: Any
) -> tuple:
    """Compute (the rows of the gradient that are not zero, their numbers)."""
    places, inverse = np.unique(numbers_of(indices), return_inverse=True)
    own = of_array(inverse.reshape(numbers_of(indices).shape).astype(np.int32))
    rows = of_array(len(places))
    return segment_grad(kind, grad, own, segment_ids, rows), of_array(places, indices.dtype)


# -- sparse tensors in their parts


def fill_empty_rows(indices: Tensor, values: Tensor, dense_shape: Any, default_value: Any) -> tuple:
    """Fill empty rows: (places, values, which rows were empty, where each value went)."""
    places, shape = numbers_of(indices), numbers_of(dense_shape)
    rows = places[:, 0] if len(places) else np.zeros(0, np.int64)
    empty = ~np.isin(np.arange(shape[0]), rows)
    added = np.zeros((int(empty.sum()), len(shape)), np.int64)
    added[:, 0] = np.flatnonzero(empty)
    everything = np.concatenate([places.reshape(-1, len(shape)), added])
    order = np.argsort(everything[:, 0], kind="stable")
    back = np.argsort(order, kind="stable")[: len(places)]
    count = len(added)
    filler = look_up("broadcast_to")(default_value, [count])
    joined = look_up("concat")([values, filler], 0)
    found = gather(joined, of_array(order))
    return of_array(everything[order]), found, of_array(empty), of_array(back.astype(np.int64))


def ragged_fill_empty_rows(
    value_rowids: Any, values: Tensor, nrows: Any, default_value: Any
) -> tuple:
    """Fill empty rows: (row ids, values, which rows were empty, where each value went)."""
    rows, count = numbers_of(value_rowids), int(scalar_of(nrows))
    for place in np.flatnonzero((rows < 0) | (rows >= count)).tolist():
        raise invalid("TW206", f"value_rowids[{place}] is {rows[place]}", f"a row of [0, {count})")
    dense_shape = of_array(np.array([count, 1]))
    places, found, empty, back = fill_empty_rows(
        of_array(np.stack([rows, np.zeros_like(rows)], 1)), values, dense_shape, default_value
    )
    return places[:, 0], found, empty, back


def fill_empty_rows_grad(reverse_index_map: Any, grad_values: Any) -> tuple:
    """Compute (the gradient of the values, that of the default)."""
    by_values = gather(grad_values, reverse_index_map)
    total = look_up("reduce_sum")(grad_values)
    return by_values, total - look_up("reduce_sum")(by_values)


def add_grad(backprop_val_grad: Any, a_indices: Any, b_indices: Any, sum_indices: Any) -> tuple:
    """Return the gradients of the values of two sparse tensors by those of their sum."""
    places = {tuple(row): n for n, row in enumerate(numbers_of(sum_indices).tolist())}
    padded = look_up("pad")(backprop_val_grad, [[0, 1]])
    missing = len(places)

    def of(indices: Tensor) -> Any:
        found = [places.get(tuple(row), missing) for row in numbers_of(indices).tolist()]
        return gather(padded, of_array(np.array(found, np.int32)))

    return of(a_indices), of(b_indices)


def slice_grad(
    backprop_val_grad: Any, input_indices: Any, input_start: Any, output_indices: Any
) -> Any:
    """Return the gradient of the values of a sparse tensor by those of a slice of it."""
    start = numbers_of(input_start)
    moved = of_array(numbers_of(output_indices) + start)
    return add_grad(backprop_val_grad, input_indices, input_indices, moved)[0]


def reduce_sparse(
    kind: str, indices: Tensor, values: Tensor, shape: ShapeLike, axes: AxisLike, keep_dims: bool
) -> tuple:
    """Return the sums or maxima along axes, as a sparse tensor in its parts."""
    function = look_up(f"sparse.reduce_{kind}")
    sparse = SparseTensor(indices, values, shape)
    return _parts(function(sparse, integers_of(axes), keep_dims, output_is_sparse=True))


def sparse_matmul(
    a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool, a_is_sparse: bool, b_is_sparse: bool
) -> Any:
    """Return the product of two matrices, float32."""
    cast = look_up("cast")
    a, b = cast(a, "float32"), cast(b, "float32")
    return look_up("matmul")(a, b, transpose_a, transpose_b)


# -- counts


def _count_segments(
    rows: list, size: int, weights: list | None, binary: bool, dtype: DTypeLike
) -> np.ndarray:
    found = np.zeros((len(rows), size), dtype.numpy_dtype)
    for place, row in enumerate(rows):
        keep = row < size
        if np.any(row < 0):
            raise invalid("TW207", "Input must be non-negative")
        if binary:
            found[place, row[keep]] = 1
        else:
            shares = 1 if weights is None else weights[place][keep]
            np.add.at(found[place], row[keep], shares)
    return found


def sparse_bincount(
    indices: Tensor,
    values: Tensor,
    dense_shape: Any,
    size: Any,
    weights: Tensor,
    binary_output: bool,
) -> Any:
    """Count each number in each row of a sparse tensor."""
    shape, places, numbers = numbers_of(dense_shape), numbers_of(indices), numbers_of(values)
    shares = numbers_of(weights)
    if len(shape) == 1:
        rows, own = [numbers], [shares] if shares.size else None
    else:
        chosen = [places[:, 0] == row for row in range(shape[0])]
        rows = [numbers[c] for c in chosen]
        own = [shares[c] for c in chosen] if shares.size else None
    counts = _count_segments(rows, int(scalar_of(size)), own, binary_output, weights.dtype)
    return of_array(counts[0] if len(shape) == 1 else counts)


def _rows(splits: Any, values: Tensor) -> list:
    bounds = numbers_of(splits)
    return np.split(numbers_of(values), bounds[1:-1]) if len(bounds) > 1 else []


def ragged_bincount(
    splits: Any, values: Tensor, size: Any, weights: Tensor, binary_output: bool
) -> Any:
    """Count each number in each row of a ragged tensor."""
    own = _rows(splits, weights) if numbers_of(weights).size else None
    rows = _rows(splits, values)
    return of_array(_count_segments(rows, int(scalar_of(size)), own, binary_output, weights.dtype))


def _sparse_counts(
    rows: list, weights: list | None, binary: bool, low: int, high: int, dtype: Any, flat: bool
) -> tuple:
    places, counts, width = [], [], 0
    for number, row in enumerate(rows):
        if np.any(row < 0):
            raise invalid("TW207", "Input values must all be non-negative")
        keep = row < high if high >= 0 else np.ones(len(row), bool)
        distinct, inverse = np.unique(row[keep], return_inverse=True)
        shares = np.ones(keep.sum()) if weights is None else weights[number][keep]
        totals = np.ones(len(distinct)) if binary else np.bincount(inverse, shares, len(distinct))
        for value, total in zip(distinct, totals):
            places.append([value] if flat else [number, value])
            counts.append(total)
        width = max(width, int(row.max()) + 1 if len(row) else 0)
    width = high if high >= 0 else max(width, low if low >= 0 else 0)
    shape = [width] if flat else [len(rows), width]
    rank = len(shape)
    return (
        of_array(np.array(places, np.int64).reshape(-1, rank)),
        of_array(np.array(counts), dtype),
        of_array(np.array(shape, np.int64)),
    )


def dense_counts(
    values: Tensor, weights: Tensor, binary_output: bool, minlength: int, maxlength: int
) -> tuple:
    """Count each number in each row of a tensor, as a sparse tensor in its parts."""
    array, shares = numbers_of(values), numbers_of(weights)
    flat = array.ndim == 1
    rows = [array] if flat else list(array)
    own = None if not shares.size else [shares] if flat else list(shares)
    return _sparse_counts(rows, own, binary_output, minlength, maxlength, weights.dtype, flat)


def sparse_counts(
    indices: Tensor,
    values: Tensor,
    dense_shape: Any,
    weights: Tensor,
    binary_output: bool,
    minlength: int,
    maxlength: int,
) -> tuple:
    """Count the numbers in each row of a sparse tensor, as `dense_counts`."""
    shape, places, array = numbers_of(dense_shape), numbers_of(indices), numbers_of(values)
    shares = numbers_of(weights)
    flat = len(shape) == 1
    chosen = [np.ones(len(array), bool)] if flat else [places[:, 0] == n for n in range(shape[0])]
    own = [shares[c] for c in chosen] if shares.size else None
    rows = [array[c] for c in chosen]
    return _sparse_counts(rows, own, binary_output, minlength, maxlength, weights.dtype, flat)


def ragged_counts(
    splits: Any,
    values: Tensor,
    weights: Tensor,
    binary_output: bool,
    minlength: int,
    maxlength: int,
) -> tuple:
    """Count the numbers in each row of a ragged tensor, as `dense_counts`."""
    own = _rows(splits, weights) if numbers_of(weights).size else None
    rows = _rows(splits, values)
    return _sparse_counts(rows, own, binary_output, minlength, maxlength, weights.dtype, False)


# -- sets


_SETS: dict[str, Callable[[set, set], set]] = {
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}


def _groups_of_dense(x: Tensor) -> tuple[dict, list]:
    array = numbers_of(x)
    return {place: set(array[place].tolist()) for place in np.ndindex(*array.shape[:-1])}, list(
        array.shape[:-1]
    )


def _groups_of_sparse(indices: Tensor, values: Tensor, shape: ShapeLike) -> tuple[dict, list]:
    groups: dict = {}
    for place, value in zip(numbers_of(indices).tolist(), numbers_of(values).tolist()):
        groups.setdefault(tuple(place[:-1]), set()).add(value)
    return groups, integers_of(shape)[:-1]


def _combine(first: tuple, second: tuple, operation: str, dtype: DTypeLike) -> tuple:
    if operation not in _SETS:
        raise invalid("TW207", f"Invalid set_operation {operation}", f"of {sorted(_SETS)}")
    (a, shape), (b, _) = first, second
    places, values, longest = [], [], 0
    for group in sorted({*a, *b}):
        members = sorted(_SETS[operation](a.get(group, set()), b.get(group, set())))
        longest = max(longest, len(members))
        places += [[*group, n] for n in range(len(members))]
        values += members
    rank = len(shape) + 1
    found_values = np.array(values, object if dtype.name == "string" else dtype.numpy_dtype)
    return (
        of_array(np.array(places, np.int64).reshape(-1, rank)),
        of_array(found_values),
        of_array(np.array([*shape, longest], np.int64)),
    )


def dense_sets(set1: Any, set2: Any, set_operation: str, validate_indices: bool) -> tuple:
    """Return a set operation on the last axis of two tensors."""
    return _combine(_groups_of_dense(set1), _groups_of_dense(set2), set_operation, set1.dtype)


def dense_and_sparse_sets(
    set1: Any,
    set2_indices: Any,
    set2_values: Any,
    set2_shape: Any,
    set_operation: str,
    validate_indices: bool,
) -> tuple:
    """Return a set operation on the last axis of a tensor and a sparse one."""
    second = _groups_of_sparse(set2_indices, set2_values, set2_shape)
    return _combine(_groups_of_dense(set1), second, set_operation, set1.dtype)


def sparse_sets(
    set1_indices: Any,
    set1_values: Any,
    set1_shape: Any,
    set2_indices: Any,
    set2_values: Any,
    set2_shape: Any,
    set_operation: str,
    validate_indices: bool,
) -> tuple:
    """Return a set operation on the last axis of two sparse tensors."""
    first = _groups_of_sparse(set1_indices, set1_values, set1_shape)
    second = _groups_of_sparse(set2_indices, set2_values, set2_shape)
    return _combine(first, second, set_operation, set1_values.dtype)


def set_size(set_indices: Any, set_values: Any, set_shape: Any, validate_indices: bool) -> Any:
    """Count the different elements of the last axis of a sparse tensor."""
    groups, shape = _groups_of_sparse(set_indices, set_values, set_shape)
    found = np.zeros(shape, np.int32)
    for place, group in groups.items():
        found[place] = len(group)
    return of_array(found)


def edit_distance(
    hypothesis_indices: Any,
    hypothesis_values: Any,
    hypothesis_shape: Any,
    truth_indices: Any,
    truth_values: Any,
    truth_shape: Any,
    normalize: bool,
) -> Any:
    """Compute Levenshtein's distance of the rows of two sparse tensors."""

    def rows(indices: Tensor, values: Tensor) -> dict:
        texts: dict = {}
        for index, value in zip(numbers_of(indices).tolist(), numbers_of(values).tolist()):
            texts.setdefault(tuple(index[:-1]), []).append(value)
        return texts

    first, second = rows(hypothesis_indices, hypothesis_values), rows(truth_indices, truth_values)
    dims = zip(integers_of(hypothesis_shape)[:-1], integers_of(truth_shape)[:-1])
    distances = np.zeros([max(pair) for pair in dims], np.float32)
    for index in np.ndindex(*distances.shape):
        a, b = first.get(index, []), second.get(index, [])
        distance = np.float32(_distance(a, b))
        if normalize:
            distance = distance / len(b) if b else np.float32(np.inf if a else 0)
        distances[index] = distance
    return of_array(distances)


def _distance(a: list, b: list) -> int:
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (x != y)))
        last = row
    return last[-1]


# -- ragged rows


def ragged_range(starts: Any, limits: Any, deltas: Any, Tsplits: Any) -> tuple:
    """Compute (the splits, the numbers) of a range for each row."""
    found = look_up("ragged.range")(starts, limits, deltas, row_splits_dtype=as_dtype(Tsplits))
    return found.row_splits, found.values


def ragged_to_sparse(rt_nested_splits: list, rt_dense_values: Any) -> tuple:
    """Return a ragged tensor as the parts of a sparse one."""
    ragged = look_up("RaggedTensor").from_nested_row_splits(rt_dense_values, rt_nested_splits)
    return _parts(ragged.to_sparse())


def ragged_gather(
    params_nested_splits: list, params_dense_values: Any, indices: Tensor, OUTPUT_RAGGED_RANK: int
) -> tuple:
    """Compute (the splits, the values) of rows of a ragged tensor."""
    make = look_up("RaggedTensor").from_nested_row_splits
    found = gather(make(params_dense_values, params_nested_splits), indices)
    return list(found.nested_row_splits), found.flat_values
