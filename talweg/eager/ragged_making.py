"""The `from_...` methods of RaggedTensor: the ways to say where rows begin and end."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import int32, int64
from talweg.core.errors import invalid, type_error, value_error
from talweg.eager import partition
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.eager.tensor import array_of, wrap
from talweg.graph.contents import elements
from talweg.graph.symbol import Symbol, constant_of
from talweg.prims import arithmetic, indexing, layout, scan, segment

if TYPE_CHECKING:
    from talweg.core.dtypes import DType
    from talweg.eager.ragged import RaggedTensor


class RaggedFactories:
    """Class methods; RaggedTensor inherits them."""

    @classmethod
    def _of(cls, values: object, splits: object, uniform: object = None) -> Any:
        raise NotImplementedError

    @classmethod
    def _build(
        cls,
        values: object,
        splits: np.ndarray,
        dtype: np.dtype | type[Any],
        uniform: int | None = None,
    ) -> Any:
        return cls._of(values, splits.astype(dtype), uniform)

    @classmethod
    def from_row_splits(
        cls, values: object, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Make a ragged tensor: row i holds values[row_splits[i]] .. values[row_splits[i + 1]].

        row_splits: int32 or int64, from 0 to the number of values.  InvalidArgumentError if they
        are not, ValueError if empty or of another dtype.
        """
        values = _values(values)
        if not validate and _unknown(row_splits):
            return cls._of(values, row_splits)
        splits = _integers(row_splits, "row_splits")
        if splits.size == 0:
            raise value_error("TW207", "row_splits tensor may not be empty.")
        if validate:
            values = _of_count(values, int(splits[-1]))
            partition.check_splits(splits, _count(values), "from_row_splits", "row_splits")
        return cls._build(values, splits, splits.dtype)

    @classmethod
    def from_row_lengths(
        cls, values: object, row_lengths: object, name: str | None = None, validate: bool = True
    ) -> Any:
        """Make a ragged tensor: row i holds the next row_lengths[i] values; InvalidArgumentError
        unless all are used."""
        values = _values(values)
        lengths = _integers(row_lengths, "row_lengths")
        splits = partition.splits_of_lengths(lengths)
        if validate:
            partition.check_lengths(lengths, "from_row_lengths", "row_lengths")
            values = _of_count(values, int(splits[-1]))
            partition.check_splits(splits, _count(values), "from_row_lengths", "row_lengths")
        return cls._build(values, splits, lengths.dtype)

    @classmethod
    def from_row_starts(
        cls, values: object, row_starts: object, name: str | None = None, validate: bool = True
    ) -> Any:
        """Make a ragged tensor: row i begins at values[row_starts[i]] and ends where the next
        begins."""
        values = _values(values)
        starts = _integers(row_starts, "row_starts")
        splits = np.concatenate([starts, [_count(values)]])
        if validate:
            partition.check_splits(splits, _count(values), "from_row_starts", "row_starts")
        return cls._build(values, splits, starts.dtype)

    @classmethod
    def from_row_limits(
        cls, values: object, row_limits: object, name: str | None = None, validate: bool = True
    ) -> Any:
        """Make a ragged tensor: row i ends before values[row_limits[i]] and begins where the one
        before ends."""
        values = _values(values)
        limits = _integers(row_limits, "row_limits")
        splits = np.concatenate([[0], limits])
        if validate:
            partition.check_splits(splits, _count(values), "from_row_limits", "row_limits")
        return cls._build(values, splits, limits.dtype)

    @classmethod
    def from_value_rowids(
        cls,
        values: object,
        value_rowids: object,
        nrows: object = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Make a ragged tensor: values[k] is in row value_rowids[k]; the row ids do not fall.

        nrows: the number of rows, by default one more than the last row id.  ValueError where
        there are not as many values as row ids, or nrows is too small.
        """
        values = _values(values)
        if not validate and nrows is not None and _unknown(value_rowids):
            return cls._of(values, _splits_in_graph(value_rowids, nrows))
        rows = _integers(value_rowids, "value_rowids")
        values = _of_count(values, len(rows))
        if len(rows) != _count(values):
            raise value_error(
                "TW204", f"from_value_rowids: {len(rows)} row ids for {_count(values)} values"
            )
        given = None if nrows is None else int(_integers(nrows, "nrows", rank=0))
        count = partition.check_rows(rows, given, "from_value_rowids")
        return cls._build(values, partition.splits_of_rows(rows, count), rows.dtype)

    @classmethod
    def from_uniform_row_length(
        cls,
        values: RaggedTensor,
        uniform_row_length: int,
        nrows: object = None,
        validate: bool = True,
        name: str | None = None,
    ) -> Any:
        """Make a ragged tensor: all rows hold uniform_row_length values; ValueError unless that
        divides their number."""
        values = _values(values)
        length = int(_integers(uniform_row_length, "uniform_row_length", rank=0))
        if length < 0:
            raise value_error("TW207", f"uniform_row_length={length} is negative")
        count = _count_values(values)
        rows = count // length if length else 0
        if nrows is not None:
            rows = int(_integers(nrows, "nrows", rank=0))
        if rows * length != count:
            raise value_error(
                "TW204",
                f"uniform_row_length={length} times nrows={rows} must equal nvals={count}",
            )
        ragged = isinstance(values, RaggedFactories)
        dtype = values.row_splits.dtype.numpy_dtype if ragged else np.int64
        return cls._build(values, np.arange(rows + 1) * length, dtype, length)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: object,
        nested_row_splits: object,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Call `from_row_splits` for every ragged dimension, outermost first."""
        result = flat_values
        for splits in reversed(_as_list(nested_row_splits)):
            result = cls.from_row_splits(result, splits, validate=validate)
        return result

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: object,
        nested_row_lengths: list[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Call `from_row_lengths` for every ragged dimension, outermost first."""
        result = flat_values
        for lengths in reversed(_as_list(nested_row_lengths)):
            result = cls.from_row_lengths(result, lengths, validate=validate)
        return result

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: object,
        nested_value_rowids: object,
        nested_nrows: object = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Call `from_value_rowids` for every ragged dimension, outermost first."""
        nested = _as_list(nested_value_rowids)
        counts = [None] * len(nested) if nested_nrows is None else _as_list(nested_nrows)
        result = flat_values
        for rows, count in zip(reversed(nested), reversed(counts)):
            result = cls.from_value_rowids(result, rows, count, validate=validate)
        return result

    @classmethod
    def from_tensor(
        cls,
        tensor: object,
        lengths: np.ndarray | None = None,
        padding: str | None = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: DType = int64,
    ) -> Any:
        """Return the rows of a tensor, [n, m, ...], without what fills them up.

        lengths: how much of each row counts.  padding: the value that fills rows up, cut off at
        their ends.  Not both.  ragged_rank: how many dimensions to divide.
        """
        x = convert_to_tensor(tensor)
        if x.ndim < 2:
            raise value_error(
                "TW203",
                f"from_tensor: the rank of a RaggedTensor must be greater than 1, got {x.ndim}",
            )
        if lengths is not None and padding is not None:
            raise value_error("TW207", "from_tensor: only one of lengths and padding can be given")
        dtype = row_splits_dtype.numpy_dtype
        for size in x.dims[: ragged_rank + 1]:
            operator.index(size)  # NeedsStaticError: splits are computed with known sizes
        if ragged_rank > 1:
            if lengths is not None or padding is not None:
                raise value_error("TW207", "from_tensor: lengths and padding need ragged_rank=1")
            merged = layout.reshape(x, shape=(x.dims[0] * x.dims[1], *x.dims[2:]))
            inner = cls.from_tensor(
                merged, ragged_rank=ragged_rank - 1, row_splits_dtype=row_splits_dtype
            )
            return cls._build(inner, np.arange(x.dims[0] + 1) * x.dims[1], dtype, x.dims[1])
        rows, columns = x.dims[:2]
        flat = layout.reshape(x, shape=(rows * columns, *x.dims[2:]))
        if lengths is None and padding is None:
            return cls._build(flat, np.arange(rows + 1) * columns, dtype, columns)
        if lengths is not None:
            kept = np.clip(_integers(lengths, "lengths"), 0, columns)
        else:
            kept = _lengths_without(x, convert_to_tensor(padding, x.dtype))
        places = partition.ranges(np.arange(rows) * columns, kept)
        values = indexing.gather(flat, wrap(places), axis=0, batch_dims=0)
        return cls._build(values, partition.splits_of_lengths(kept), dtype)

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = int64
    ) -> Any:
        """Return the values of a sparse matrix whose rows are filled from the left.

        TypeError for what is not sparse, ValueError unless it is a matrix, InvalidArgumentError if
        a row has a gap.
        """
        if not hasattr(st_input, "dense_shape") or not hasattr(st_input, "indices"):
            raise type_error("TW104", f"from_sparse: {st_input!r} is not sparse", "a SparseTensor")
        if st_input.shape.rank != 2:
            raise value_error("TW203", f"from_sparse: shape {st_input.shape}", "a matrix")
        indices = array_of(st_input.indices)
        lengths = np.bincount(indices[:, 0], minlength=st_input.shape[0])
        expected = partition.ranges(np.zeros(len(lengths)), lengths)
        ordered = not np.any(np.diff(indices[:, 0]) < 0)
        if not ordered or not np.array_equal(indices[:, 1], expected):
            raise invalid(
                "TW207",
                f"SparseTensor is not right-ragged: indices {indices.tolist()}",
                "rows filled from the left, without gaps",
            )
        splits = partition.splits_of_lengths(lengths)
        return cls._build(st_input.values, splits, row_splits_dtype.numpy_dtype)


def _values(values: object) -> Any:
    """Return values as a tensor of rank 1 or more, unless they are ragged."""
    if isinstance(values, RaggedFactories):
        return values
    found = convert_to_tensor(values)
    if found.ndim == 0:
        raise invalid("TW203", "RaggedTensor: values is a scalar", "a rank of at least 1")
    return found


def _count(values: Any) -> int:
    return values.shape[0]


def _of_count(values: Any, count: int) -> Any:
    """Return values whose number the graph does not know: it has to be `count` when that runs."""
    if type(values) is not Symbol or values.dims is None or type(values.dims[0]) is int:
        return values
    return layout.reshape(values, shape=(count, *values.dims[1:]))


def _count_values(values: Any) -> int:
    """Return the number of values; NeedsStaticError if a graph does not know it yet."""
    ragged = isinstance(values, RaggedFactories)
    return operator.index(values.row_splits.dims[0] - 1 if ragged else values.dims[0])


def _integers(value: object, argument: str, rank: int = 1) -> np.ndarray:
    """Return an array of int32 or int64; int64 if the value has no dtype of its own."""
    hint = None if is_tensor_like(value) or isinstance(value, np.ndarray) else int64
    found = convert_to_tensor(value, dtype_hint=hint)
    if found.dims == (0,) and found.dtype not in (int32, int64):
        return np.zeros(0, np.int64)
    if found.dtype not in (int32, int64):
        raise value_error("TW102", f"{argument} must have dtype int32 or int64, got {found.dtype}")
    if found.ndim != rank:
        raise value_error(
            "TW203", f"{argument} has shape {found.shape}, which must have rank {rank}"
        )
    return np.asarray(array_of(found))


def _unknown(value: object) -> bool:
    """Return whether a vector is one of a graph, with values that are known when it runs."""
    return type(value) is Symbol and value.ndim == 1 and constant_of(value.node) is None


def _splits_in_graph(rows: Any, nrows: Any) -> Any:
    """Compute the row splits from the values' row numbers, none of them known yet."""
    count = elements(nrows.node)[()] if type(nrows) is Symbol else int(nrows)
    ones = arithmetic.zeros_of(rows) + 1
    lengths = segment.segment_sum(ones, rows, count=count)
    ends = scan.cumsum(lengths, axis=0, exclusive=False, reverse=False)
    return layout.concat(convert_to_tensor(np.zeros(1, rows.dtype.numpy_dtype)), ends, axis=0)


def _as_list(nested: Any) -> list:
    if is_tensor_like(nested):
        raise type_error(
            "TW104", f"The splits, lengths or row ids are {nested!r}", "a list of tensors"
        )
    return list(nested)


def _lengths_without(x: object, padding: object) -> np.ndarray:
    """Compute the length of each row without the padding at its end."""
    array, filler = array_of(x), array_of(padding)
    counts = array != filler
    counts = counts.any(axis=tuple(range(2, array.ndim)))
    columns = np.arange(1, array.shape[1] + 1)
    return np.max(counts * columns, axis=1, initial=0)
