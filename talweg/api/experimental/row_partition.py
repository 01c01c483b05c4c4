"""tf.experimental.RowPartition: how the values of a ragged tensor are shared out among its rows."""

from __future__ import annotations

from typing import Any

from talweg.api.arguments import tensor
from talweg.api.array.creating import ones_like
from talweg.api.array.joining import concat
from talweg.api.array.shapes import reshape
from talweg.api.export import export
from talweg.api.math.reductions import reduce_max
from talweg.api.math.scans import cumsum
from talweg.api.math.segments import unsorted_segment_sum
from talweg.api.tensors import cast


@export("experimental.RowPartition")
class RowPartition:
    """Rows of values: the k-th has those from splits[k] to splits[k + 1].

    >>> import talweg as tf
    >>> rows = tf.experimental.RowPartition.from_value_rowids([0, 0, 2], nrows=3)
    >>> rows.row_splits().numpy(), rows.row_lengths().numpy()
    (array([0, 2, 2, 3], dtype=int32), array([2, 0, 1], dtype=int32))
    """

    def __init__(self, row_splits: Any):
        self._splits = tensor(row_splits)

    @classmethod
    def from_row_splits(cls, row_splits: Any, validate: bool = True) -> RowPartition:
        """The rows that end at `row_splits`, of which the first is 0."""
        return cls(row_splits)

    @classmethod
    def from_row_lengths(cls, row_lengths: Any, validate: bool = True) -> RowPartition:
        """Rows of these lengths."""
        lengths = tensor(row_lengths)
        return cls(_before(lengths))

    @classmethod
    def from_value_rowids(
        cls, value_rowids: Any, nrows: Any = None, validate: bool = True
    ) -> RowPartition:
        """For each value the number of its row, in order; `nrows` rows."""
        ids = tensor(value_rowids)
        count = reduce_max(ids) + 1 if nrows is None else cast(tensor(nrows), ids.dtype)
        return cls.from_row_lengths(unsorted_segment_sum(ones_like(ids), ids, count))

    def row_splits(self) -> Any:
        """Where rows begin, and the end of the last."""
        return self._splits

    def row_lengths(self) -> Any:
        """How many values each row has."""
        return self._splits[1:] - self._splits[:-1]

    def nrows(self) -> Any:
        """The number of rows."""
        return tensor(self._splits.dims[0] - 1, self._splits.dtype)

    def nvals(self) -> Any:
        """The number of values."""
        return self._splits[-1]

    @property
    def dtype(self) -> Any:
        """The dtype of the splits."""
        return self._splits.dtype


def _before(lengths: Any) -> Any:
    zero = reshape(tensor(0, lengths.dtype), [1])
    return concat([zero, cumsum(lengths)], axis=0)
