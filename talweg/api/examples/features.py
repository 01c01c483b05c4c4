"""Descriptions of the features of an Example: tf.io.FixedLenFeature and its kin."""

from __future__ import annotations

from typing import Any, NamedTuple

from talweg.api.export import export
from talweg.core.dtypes import int32


@export("io.FixedLenFeature")
class FixedLenFeature(NamedTuple):
    """A feature with a known number of values, a tensor of `shape`.

    default_value: stands in where the feature is missing, which is an error without it.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


@export("io.FixedLenSequenceFeature")
class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of elements of `shape`: a tensor [..., n, *shape].

    In a batch shorter ones are filled up with default_value, or zeros.  allow_missing: a missing
    one is empty.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


@export("io.VarLenFeature")
class VarLenFeature(NamedTuple):
    """A feature with any number of values: a `tf.sparse.SparseTensor`."""

    dtype: Any


@export("io.SparseFeature")
class SparseFeature(NamedTuple):
    """A `tf.sparse.SparseTensor` from a feature with values and one or more with their indices.

    size: the dimension that each index counts, a list for a list of keys.  already_sorted: indices
    are in order in each record.
    """

    index_key: Any
    value_key: Any
    dtype: Any
    size: Any
    already_sorted: bool = False


class RowSplits(NamedTuple):
    """Rows given by the feature `key`, with where they begin, and the end."""

    key: str


class RowLengths(NamedTuple):
    """Rows given by the feature `key`, with their lengths."""

    key: str


class RowStarts(NamedTuple):
    """Rows given by the feature `key`, with where they begin."""

    key: str


class RowLimits(NamedTuple):
    """Rows given by the feature `key`, with where they end."""

    key: str


class ValueRowIds(NamedTuple):
    """Rows given by the feature `key`, with the row of each value."""

    key: str


class UniformRowLength(NamedTuple):
    """Rows of one length."""

    length: int


PARTITIONS = (RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds, UniformRowLength)


@export("io.RaggedFeature")
class RaggedFeature(NamedTuple):
    """A `tf.RaggedTensor` from a feature with values, and perhaps others that partition it.

    value_key: the name of the feature if it is not that of the result.  partitions: a list of
    RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds and UniformRowLength
    (`tf.io.RaggedFeature.RowSplits`, ...), outer first.
    """

    dtype: Any
    value_key: str | None = None
    partitions: Any = ()
    row_splits_dtype: Any = int32
    validate: bool = False


RaggedFeature.RowSplits = RowSplits  # type: ignore[attr-defined]
RaggedFeature.RowLengths = RowLengths  # type: ignore[attr-defined]
RaggedFeature.UniformRowLength = UniformRowLength  # type: ignore[attr-defined]
RaggedFeature.RowStarts = RowStarts  # type: ignore[attr-defined]
RaggedFeature.RowLimits = RowLimits  # type: ignore[attr-defined]
RaggedFeature.ValueRowIds = ValueRowIds  # type: ignore[attr-defined]
