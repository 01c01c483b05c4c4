"""Ragged tensors in matrix products, `gather_nd`, and segment reductions in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import look_up
from talweg.core.errors import invalid, value_error
from talweg.eager import partition, ragged_rows
from talweg.eager.ragged import RaggedTensor
from talweg.eager.tensor import array_of, wrap
from talweg.prims import arithmetic, checking, indexing, joining, layout, scan, sequences

Function = Callable[..., Any]


# -- segments in any order


def make_segment_reduction(usual: Function) -> Function:
    """Return a function like `tf.math.unsorted_segment_sum` for ragged data."""

    def reduce(data: Any, segment_ids: Any, num_segments: Any, name: Any = None) -> Any:
        return _reduce_segments(usual, data, segment_ids, num_segments)

    return reduce


def _reduce_segments(usual: Function, data: Any, ids: Any, count: Any) -> Any:
    if isinstance(ids, RaggedTensor):
        if not isinstance(data, RaggedTensor):
            raise value_error(
                "TW204",
                "segment_ids.shape must be a prefix of data.shape, but segment_ids is ragged and "
                "data is not.",
            )
        inner = _check_rows(ids, data)
        return _reduce_segments(usual, data.values, inner, count)
    if not isinstance(data, RaggedTensor):
        return usual(data, ids, count)
    ids = tensor(ids)
    splits = data.row_splits
    if ids.ndim != 1:
        raise invalid("TW203", f"segment_ids has shape {ids.dims}", "a vector, or ragged")
    lengths = splits[1:] - splits[:-1]
    longest = look_up("math.unsorted_segment_max")(lengths, ids, count)  # of rows of a segment
    longest = look_up("maximum")(longest, 0)
    ends = scan.cumsum(longest, axis=0, exclusive=False, reverse=False)
    whole = joining.concat(arithmetic.zeros_of(splits[:1]), ends, axis=0)
    row = data.value_rowids()
    segment = _rows_at(ids, row)
    here = sequences.counting(size=row.dims[0], dtype=splits.dtype) - _rows_at(splits, row)
    places = _rows_at(whole, segment) + here
    values = _reduce_segments(usual, data.values, places, whole[-1])
    return RaggedTensor._of(values, whole)


def _check_rows(ids: RaggedTensor, data: RaggedTensor) -> Any:
    """Return the values of `ids`, whose rows must be those of `data`."""
    own, other = ids.row_splits, data.row_splits
    values = ids.values
    if isinstance(values, RaggedTensor):
        flat = checking.check_same_splits(values.flat_values, own, _like(other, own))
        return values.with_flat_values(flat)
    return checking.check_same_splits(values, own, _like(other, own))


def _like(x: Any, y: Any) -> Any:
    return x if x.dtype is y.dtype else arithmetic.cast(x, dtype=y.dtype)


def _rows_at(x: Any, places: Any) -> Any:
    return indexing.gather(x, places, axis=0, batch_dims=0)


# -- slices at coordinates


def gather_nd(
    params: Any,
    indices: Any,
    batch_dims: int = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Any:
    """Return the parts of `params` at coordinates; ValueError for batch dimensions or a policy."""
    if not isinstance(batch_dims, int) or batch_dims:
        raise value_error("TW207", "batch_dims != 0 is not supported for ragged gather yet.")
    if bad_indices_policy not in ("", "DEFAULT"):
        text = "non-default bad_indices_policy not supported for ragged gather"
        raise value_error("TW207", text)
    return _gather_nd(params, indices)


def _gather_nd(params: Any, indices: Any) -> Any:
    if isinstance(indices, RaggedTensor):
        if indices.flat_values.ndim == 1:
            text = "The innermost dimension of indices may not be ragged"
            raise value_error("TW203", text)
        return indices.with_values(_gather_nd(params, indices.values))
    if not isinstance(params, RaggedTensor):
        return look_up("gather_nd")(params, indices)
    places = tensor(indices)
    if not places.ndim:
        raise value_error("TW203", "indices.rank must be at least 1.")
    *outer, depth = places.dims
    if type(depth) is not int:
        depth = depth.__index__()  # NeedsStaticError: the result's rank follows from it
    count = 1
    for size in outer:
        count = count * size
    gathered = _at_coordinates(params, layout.reshape(places, shape=(count, depth)), depth)
    if not isinstance(gathered, RaggedTensor):
        return layout.reshape(gathered, shape=(*outer, *gathered.dims[1:]))
    if not outer:
        return gathered.values
    for size in reversed(outer[1:]):
        gathered = RaggedTensor.from_uniform_row_length(gathered, size)
    return gathered


def _at_coordinates(x: Any, places: Any, depth: int) -> Any:
    """Gather the elements or slices of a ragged tensor at `places` [n, depth]."""
    if not depth:
        rows, count = len(array_of(x.row_splits)) - 1, int(places.dims[0])
        again = ragged_rows.gather(x, wrap(np.tile(np.arange(rows), count)))
        return RaggedTensor.from_uniform_row_length(again, rows, count)
    columns = [
        arithmetic.cast(part, dtype=x.row_splits.dtype) for part in joining.unstack(places, axis=1)
    ]
    here = columns.pop(0)
    while columns and isinstance(x, RaggedTensor):
        begin, end = _rows_at(x.row_splits[:-1], here), _rows_at(x.row_splits[1:], here)
        within = checking.check_within(columns.pop(0), end - begin)
        here, x = begin + within, x.values
    if not columns:
        return ragged_rows.gather(x, here) if isinstance(x, RaggedTensor) else _rows_at(x, here)
    return look_up("gather_nd")(x, look_up("stack")([here, *columns], axis=1))


# -- products of matrices


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Any:
    """Multiply matrices, whose sizes may differ from one to the next.

    ValueError for other ranks, dtypes or numbers of matrices, InvalidArgumentError for rows of one
    matrix that differ in length and for sizes that do not fit.
    """
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        letter = "a" if transpose_a and adjoint_a else "b"
        text = f"Only one of transpose_{letter} and adjoint_{letter} can be True."
        raise value_error("TW207", text)
    hint = next(x.dtype for x in (a, b) if isinstance(x, RaggedTensor))
    a, b = (x if isinstance(x, RaggedTensor) else tensor(x, hint=hint) for x in (a, b))
    if a.dtype is not b.dtype:
        raise value_error("TW102", "`a` and `b` must have the same dtype.")
    if a.shape.rank != b.shape.rank:
        raise value_error("TW203", "`a` and `b` must have the same rank.")
    if a.shape.rank == 2:
        product = look_up("matmul")
        first, second = _whole_matrix(a), _whole_matrix(b)
        return product(
            first, second, transpose_a, transpose_b, adjoint_a, adjoint_b, output_type=output_type
        )
    flags = (transpose_a, transpose_b, adjoint_a, adjoint_b)
    return _multiply(a, b, flags, output_type)


def _whole_matrix(x: Any) -> Any:
    """Return a ragged matrix whose rows have one length, as a tensor."""
    if not isinstance(x, RaggedTensor):
        return x
    lengths = np.diff(array_of(x.row_splits))
    if len(lengths) and np.any(lengths != lengths[0]):
        raise _ragged_matrix_error()
    return x.to_tensor()


def _ragged_matrix_error() -> Exception:
    text = "The matrices in `a` and `b` may not be ragged in their innermost dimension."
    return invalid("TW204", text)


def _multiply(a: Any, b: Any, flags: tuple, output_type: Any) -> Any:
    if a.shape.rank > 3:
        like = a if isinstance(a, RaggedTensor) else b
        a, b = (_as_rows(x) for x in (a, b))
        if not np.array_equal(array_of(a.row_splits), array_of(b.row_splits)):
            text = "Batch dimensions of `a` and `b` do not have the same size."
            raise invalid("TW204", text)
        return like.with_values(_multiply(a.values, b.values, flags, output_type))
    first, second = (_Matrices(x, flags[i], flags[i + 2]) for i, x in enumerate((a, b)))
    if len(first.rows) != len(second.rows):
        text = f"Dimensions {len(first.rows)} and {len(second.rows)} are not compatible"
        raise value_error("TW204", text)
    some = (first.rows > 0) & (second.columns > 0)
    if np.any((first.columns != second.rows) & some):
        number = int(np.argmax((first.columns != second.rows) & some))
        raise invalid(
            "TW204",
            f"Matrix size-incompatible: the matrices {number} of `a` and `b` have the shapes "
            f"{first.shape(number)} and {second.shape(number)}",
        )
    product = look_up("matmul")(first.padded, second.padded, *flags, output_type=output_type)
    return _cut(product, first, second)


def _as_rows(x: Any) -> RaggedTensor:
    """Return the first two dimensions of a tensor as rows."""
    if isinstance(x, RaggedTensor):
        return x
    rows, length = x.dims[:2]
    values = layout.reshape(x, shape=(rows * length, *x.dims[2:]))
    return RaggedTensor.from_uniform_row_length(values, length, nrows=rows)


class _Matrices:
    """A batch of matrices: filled up with zeros, and the sizes of each as it is multiplied."""

    def __init__(self, x: Any, transposed: bool, adjoint: bool):
        self.padded = x.to_tensor() if isinstance(x, RaggedTensor) else x
        count, most, width = (int(n) for n in self.padded.dims)
        rows, columns = np.full(count, most), np.full(count, width)
        same_rows, same_columns = True, True
        if isinstance(x, RaggedTensor):
            rows = np.diff(array_of(x.row_splits))
            same_rows = x._uniform is not None
            if isinstance(x.values, RaggedTensor):
                columns = _width_of_each(x)
                same_columns = x.values._uniform is not None
        if transposed or adjoint:
            rows, columns, same_rows, same_columns = columns, rows, same_columns, same_rows
        self.rows, self.columns = rows, columns
        self.same_rows, self.same_columns = same_rows, same_columns

    def shape(self, place: int) -> tuple:
        """Return the shape of one of the matrices."""
        return int(self.rows[place]), int(self.columns[place])


def _width_of_each(x: RaggedTensor) -> np.ndarray:
    """Return the number of columns of each matrix."""
    splits, lengths = array_of(x.row_splits), np.diff(array_of(x.values.row_splits))
    widths = np.zeros(len(splits) - 1, np.int64)
    row = partition.row_of_each(splits)
    np.maximum.at(widths, row, lengths)
    if np.any(lengths != widths[row]):
        raise _ragged_matrix_error()
    return widths


def _cut(product: Any, first: _Matrices, second: _Matrices) -> RaggedTensor:
    """Cut the padding of the operands from the products."""
    rows, columns = first.rows, second.columns
    count, most, width = (int(n) for n in product.dims)
    flat = layout.reshape(product, shape=(count * most, width))
    values: Any = _rows_at(flat, wrap(partition.ranges(np.arange(count) * most, rows)))
    uniform = most if first.same_rows else None
    splits = partition.splits_of_lengths(rows)
    if not second.same_columns:
        of_rows = np.repeat(columns, rows)
        places = partition.ranges(np.arange(len(of_rows)) * width, of_rows)
        flat = layout.reshape(values, shape=(len(of_rows) * width,))
        values = RaggedTensor._of(
            _rows_at(flat, wrap(places)), partition.splits_of_lengths(of_rows)
        )
    return RaggedTensor._of(values, splits, uniform)


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Multiply matrices and vectors; errors as for `matmul`."""
    vectors = b if isinstance(b, RaggedTensor) else tensor(b, hint=a.dtype)
    column = look_up("expand_dims")(vectors, -1)
    product = matmul(a, column, transpose_a=transpose_a, adjoint_a=adjoint_a)
    return look_up("squeeze")(product, [-1])


COMBINING: dict[str, Function] = {
    "gather_nd": gather_nd,
    "matmul": matmul,
    "linalg.matmul": matmul,
    "linalg.matvec": matvec,
}
SEGMENTS = tuple(
    f"math.unsorted_segment_{kind}" for kind in ("max", "mean", "min", "prod", "sqrt_n", "sum")
)
