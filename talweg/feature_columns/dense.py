"""Columns that give numbers: numbers themselves, and the buckets that they fall into."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.api.array.shapes import reshape
from talweg.api.examples.features import FixedLenFeature
from talweg.api.export import export, look_up
from talweg.api.tensors import cast
from talweg.core.dtypes import as_dtype, float32, int64
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import TensorShape
from talweg.eager.composite import SparseTensor
from talweg.feature_columns.column import CategoricalColumn, DenseColumn, check_key, to_sparse

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import DTypeLike, TensorLike


class _Numeric(NamedTuple):
    key: str
    shape: tuple
    default_value: Any
    dtype: Any
    normalizer_fn: Any


class NumericColumn(_Numeric, DenseColumn):
    """Numbers of a shape."""

    @property
    def name(self) -> str:
        """The name of the feature."""
        return self.key

    @property
    def parse_example_spec(self) -> dict:
        """A `FixedLenFeature`."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> TensorShape:
        """The shape for each example."""
        return TensorShape(self.shape)

    def transform_feature(self, transformation_cache: Any, state_manager: Any = None) -> Any:
        """Return the numbers as float32, normalized."""
        x = transformation_cache.get(self.key, state_manager)
        if isinstance(x, SparseTensor):
            raise value_error("TW104", f"{self.key} is sparse", "a dense feature")
        return cast(x if self.normalizer_fn is None else self.normalizer_fn(x), float32)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any = None) -> Any:
        """Return the numbers of a batch."""
        return transformation_cache.get(self, state_manager)


class _Bucketized(NamedTuple):
    source_column: Any
    boundaries: tuple


class BucketizedColumn(_Bucketized, DenseColumn, CategoricalColumn):
    """The buckets that numbers fall into: one-hot, or as ids."""

    @property
    def name(self) -> str:
        """The name of the numbers, with their normalization."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict:
        """The parse specification of the numbers."""
        return self.source_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of the numbers, and the number of buckets."""
        return TensorShape([*self.source_column.shape, len(self.boundaries) + 1])

    @property
    def num_buckets(self) -> int:
        """The buckets of all numbers."""
        return (len(self.boundaries) + 1) * math.prod(self.source_column.shape)

    def transform_feature(self, transformation_cache: Any, state_manager: Any = None) -> Any:
        """Return the number of the bucket of each number."""
        x = transformation_cache.get(self.source_column, state_manager)
        edges = np.array(self.boundaries, np.float32)
        flat = look_up("searchsorted")(edges, reshape(x, [-1]), side="right", out_type=int64)
        return reshape(flat, look_up("shape")(x))

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any = None) -> Any:
        """Return the buckets as one-hot vectors."""
        found = transformation_cache.get(self, state_manager)
        return look_up("one_hot")(found, len(self.boundaries) + 1, dtype=float32)

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any = None) -> tuple:
        """Return the buckets as ids, those of the second number behind those of the first."""
        found = transformation_cache.get(self, state_manager)
        count = math.prod(self.source_column.shape)
        ids = reshape(found, [-1, count]) + np.arange(count) * (len(self.boundaries) + 1)
        return to_sparse(ids), None


@export("feature_column.numeric_column")
def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: TensorLike | None = None,
    dtype: DTypeLike = float32,
    normalizer_fn: Callable[..., Any] | None = None,
) -> NumericColumn:
    """Return numbers of a shape, by the name of their feature; `normalizer_fn` changes a batch of
    them.

    ValueError for other keys, shapes and dtypes.

    >>> import talweg as tf
    >>> tf.feature_column.numeric_column("age").parse_example_spec
    {'age': FixedLenFeature(shape=(1,), dtype=tf.float32, default_value=None)}
    """
    check_key(key)
    dims = tuple([int(n) for n in shape]) if isinstance(shape, (list, tuple)) else (int(shape),)
    if any(size < 1 for size in dims):
        raise value_error("TW207", f"shape dimensions {dims}, key: {key}", "more than 0")
    kind = as_dtype(dtype)
    if not (kind.is_integer or kind.is_floating):
        raise value_error("TW102", f"dtype {kind.name}, key: {key}", "one that float32 can hold")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise type_error("TW104", f"normalizer_fn {normalizer_fn!r}", "a callable")
    if default_value is not None:
        array = np.broadcast_to(np.asarray(default_value, kind.numpy_dtype), dims)
        default_value = _tuples(array.tolist())
    return NumericColumn(key, dims, default_value, kind, normalizer_fn)


def _tuples(value: object) -> Any:
    return tuple([_tuples(part) for part in value]) if isinstance(value, list) else value


@export("feature_column.bucketized_column")
def bucketized_column(source_column: Any, boundaries: Sequence[float]) -> BucketizedColumn:
    """Return the buckets between sorted boundaries that the numbers of a column fall into.

    >>> import talweg as tf
    >>> tf.feature_column.bucketized_column(tf.feature_column.numeric_column("age"), [18, 65]).name
    'age_bucketized'
    """
    if not isinstance(source_column, NumericColumn):
        raise value_error("TW104", f"source_column {source_column!r}", "a numeric_column")
    if len(source_column.shape) > 1:
        raise value_error("TW203", f"source_column has shape {source_column.shape}", "one axis")
    edges = tuple(boundaries) if isinstance(boundaries, (list, tuple)) else ()
    if not edges or any(a >= b for a, b in zip(edges, edges[1:])):
        raise value_error("TW207", f"boundaries {boundaries!r}", "a sorted list")
    return BucketizedColumn(source_column, edges)
