"""tf.experimental.RowPartition: divides the values of a ragged tensor into rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from talweg.api.arguments import integer
from talweg.api.export import export, look_up
from talweg.api.ragged.functions import RaggedTensor  # its methods know graphs there
from talweg.core.dtypes import DType, as_dtype, int64
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.eager import partition
from talweg.eager.convert import convert_to_tensor
from talweg.eager.extension import ExtensionType
from talweg.graph.symbol import Symbol, constant_of

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike


_SECRET = object()


@export("experimental.RowPartition")
class RowPartition(ExtensionType):
    """Rows of values: the k-th has those from splits[k] to splits[k + 1].

    Made by the `from_...` methods, which check what they are given unless validate=False
    (InvalidArgumentError, ValueError).  dtype: int64 or int32, by default that of what is given, or
    dtype_hint.  It may be an argument and a result of a `tf.function`.

    >>> import talweg as tf
    >>> rows = tf.experimental.RowPartition.from_value_rowids([0, 0, 2], nrows=3)
    >>> rows.row_splits().numpy(), rows.row_lengths().numpy()
    (array([0, 2, 2, 3]), array([2, 0, 1]))
    """

    _splits: Tensor
    _uniform: Optional[int]  # noqa: UP045 -- read as an annotation of a field
    _count: Optional[int]  # noqa: UP045 -- the number of values, if it was given

    def __init__(
        self,
        row_splits: Any,
        row_lengths: Any = None,
        value_rowids: Any = None,
        nrows: Any = None,
        uniform_row_length: Any = None,
        nvals: Any = None,
        internal: Any = False,
    ):
        if internal is not _SECRET:
            raise value_error(
                "TW104",
                "RowPartition constructor is private; please use one of the factory methods "
                "instead (e.g., RowPartition.from_row_lengths())",
            )
        self._splits, self._uniform, self._count = row_splits, uniform_row_length, nvals

    @classmethod
    def _of(cls, splits: Any, uniform: int | None = None, count: int | None = None) -> RowPartition:
        return cls(splits, uniform_row_length=uniform, nvals=count, internal=_SECRET)

    @classmethod
    def of_ragged(cls, x: RaggedTensor) -> RowPartition:
        """Return the outermost partition of a ragged tensor."""
        uniform = x._uniform
        return cls._of(x.row_splits, None if uniform is None else int(uniform))

    # -- ways to make one

    @classmethod
    def from_row_splits(
        cls,
        row_splits: Any,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Return the rows that end at `row_splits`, of which the first is 0."""
        splits = _integers(row_splits, dtype, dtype_hint, "row_splits")
        if splits.shape.rank == 1 and splits.shape[0] == 0:
            raise value_error("TW207", "row_splits tensor may not be empty.")
        known = _value_of(splits) if validate else None
        if known is not None:
            partition.check_splits(known, known[-1], "from_row_splits", "row_splits")
        return cls._of(splits)

    @classmethod
    def from_row_lengths(
        cls,
        row_lengths: Any,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Make rows of these lengths."""
        lengths = _integers(row_lengths, dtype, dtype_hint, "row_lengths")
        known = _value_of(lengths) if validate else None
        if known is not None:
            partition.check_lengths(known, "from_row_lengths", "row_lengths")
        return cls._of(_before(lengths))

    @classmethod
    def from_row_starts(
        cls,
        row_starts: Any,
        nvals: Any,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Make rows that begin at `row_starts`, of `nvals` values."""
        starts = _integers(row_starts, dtype, dtype_hint, "row_starts")
        end = look_up("reshape")(look_up("cast")(nvals, starts.dtype), [1])
        return cls.from_row_splits(look_up("concat")([starts, end], 0), validate)

    @classmethod
    def from_row_limits(
        cls,
        row_limits: Any,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Make rows that end before `row_limits`."""
        limits = _integers(row_limits, dtype, dtype_hint, "row_limits")
        zero = look_up("zeros")([1], limits.dtype)
        return cls.from_row_splits(look_up("concat")([zero, limits], 0), validate)

    @classmethod
    def from_value_rowids(
        cls,
        value_rowids: Any,
        nrows: Any = None,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Make a partition of the number of each value's row, in order; by default rows up to the
        last.
        """
        ids = _integers(value_rowids, dtype, dtype_hint, "value_rowids")
        known = _value_of(ids) if validate else None
        rows = None if nrows is None else _value_of(convert_to_tensor(nrows))
        if known is not None and (nrows is None or rows is not None):
            given = None if rows is None else int(rows)
            partition.check_rows(known, given, "from_value_rowids")
        count = (
            look_up("reduce_max")(ids) + 1 if nrows is None else look_up("cast")(nrows, ids.dtype)
        )
        ones = look_up("ones_like")(ids)
        return cls._of(_before(look_up("math.unsorted_segment_sum")(ones, ids, count)))

    @classmethod
    def from_uniform_row_length(
        cls,
        uniform_row_length: Any,
        nvals: Any = None,
        nrows: Any = None,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Make rows of one length: `nrows` of them, or as many as `nvals` values make."""
        if nvals is None and nrows is None:
            raise value_error("TW104", "Either (or both) of nvals and nrows must be specified")
        given = _integers(uniform_row_length, dtype, dtype_hint, "uniform_row_length")
        length = integer(uniform_row_length, "from_uniform_row_length", "uniform_row_length")
        known = None if nvals is None else integer(nvals, "from_uniform_row_length", "nvals")
        if nrows is not None:
            rows = integer(nrows, "from_uniform_row_length", "nrows")
        else:
            rows = (known or 0) // length if length else 0
        count = rows * length
        if length < 0 or rows < 0 or known not in (None, count):
            raise value_error(
                "TW204",
                f"uniform_row_length={length} times nrows={rows} must equal nvals={known}",
            )
        splits = look_up("range")(look_up("cast")(rows + 1, given.dtype)) * length
        return cls._of(splits, length, count)

    # -- what it says

    @property
    def dtype(self) -> DType:
        """The dtype of the splits."""
        return self._splits.dtype

    def row_splits(self) -> Tensor:
        """Return the offsets at which rows begin, and the end of the last."""
        return self._splits

    def row_starts(self) -> Tensor:
        """Return the offsets at which rows begin."""
        return self._splits[:-1]

    def row_limits(self) -> Tensor:
        """Return the offsets at which rows end."""
        return self._splits[1:]

    def row_lengths(self) -> Tensor:
        """Return the number of values in each row."""
        return self._splits[1:] - self._splits[:-1]

    def value_rowids(self) -> Tensor:
        """Return the row of each value."""
        rows = look_up("range")(self.nrows())
        return look_up("repeat")(rows, self.row_lengths())

    def offsets_in_rows(self) -> Tensor:
        """Return the place of each value in its row."""
        places = look_up("range")(self.nvals())
        return places - look_up("gather")(self._splits, self.value_rowids())

    def nrows(self) -> Tensor:
        """Return the number of rows."""
        return look_up("shape")(self._splits, self.dtype)[0] - 1

    def nvals(self) -> Tensor:
        """Return the number of values."""
        return self._splits[-1]

    def uniform_row_length(self) -> Tensor | None:
        """Return the length of all rows, if it is one by construction."""
        return None if self._uniform is None else convert_to_tensor(self._uniform, self.dtype)

    def is_uniform(self) -> bool:
        """Return whether all rows have one length by construction."""
        return self._uniform is not None

    @property
    def static_nrows(self) -> int | None:
        """The number of rows, if the shape of the splits says it."""
        size = self._splits.shape[0]
        return None if size is None else size - 1

    @property
    def static_nvals(self) -> int | None:
        """The number of values, if it was given."""
        return self._count

    @property
    def static_uniform_row_length(self) -> int | None:
        """The length of all rows as a number, if it is one by construction."""
        return self._uniform

    def with_dtype(self, dtype: DTypeLike) -> RowPartition:
        """Return the same rows, with splits of another dtype."""
        splits = look_up("cast")(self._splits, dtype)
        return RowPartition._of(splits, self._uniform, self._count)

    def over(self, values: Any) -> RaggedTensor:
        """Divide values into these rows."""
        return RaggedTensor._of(values, self._splits, self._uniform)

    def __repr__(self) -> str:
        if self._uniform is not None:
            return f"tf.RowPartition(nrows={self.static_nrows}, uniform_row_length={self._uniform})"
        splits = self._splits.numpy() if hasattr(self._splits, "_array") else self._splits
        return f"tf.RowPartition(row_splits={splits})"


def _integers(value: Any, dtype: Any, hint: Any, name: str) -> Tensor:
    """Return a tensor of int32 or int64; ValueError for others."""
    found = convert_to_tensor(value, dtype, dtype_hint=hint or int64)
    if found.dtype.name not in ("int32", "int64"):
        if 0 in found.shape.as_list():
            return look_up("cast")(found, as_dtype(dtype or hint or int64))
        raise value_error("TW102", f"{name} must have dtype int32 or int64, got {found.dtype.name}")
    return found


def _value_of(x: Any) -> np.ndarray | None:
    """Return the array of an eager tensor, or of a constant of a graph; None for others."""
    if type(x) is not Symbol:
        return x.numpy()
    content = constant_of(x.node)
    return None if content is None else np.asarray(content.array)


def _before(lengths: Tensor) -> Tensor:
    zero = look_up("zeros")([1], lengths.dtype)
    return look_up("concat")([zero, look_up("cumsum")(lengths)], 0)
