"""Columns of sequences, and what to read from Examples for columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.examples.features import VarLenFeature
from talweg.api.export import export, look_up
from talweg.core.dtypes import as_dtype, float32, string
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import TensorShape
from talweg.feature_columns.categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from talweg.feature_columns.column import (
    CategoricalColumn,
    FeatureColumn,
    SequenceDenseColumn,
    check_key,
)

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike


class _SequenceCategorical(NamedTuple):
    categorical_column: Any


class SequenceCategoricalColumn(_SequenceCategorical, CategoricalColumn):
    """Ids in sequences: a value is a step."""

    @property
    def name(self) -> str:
        """The name of the ids."""
        return self.categorical_column.name

    @property
    def num_buckets(self) -> int:
        """The number of buckets of the ids."""
        return self.categorical_column.num_buckets

    @property
    def parse_example_spec(self) -> dict:
        """The parse specification of the ids."""
        return self.categorical_column.parse_example_spec

    def transform_feature(self, transformation_cache: object, state_manager: Any = None) -> Any:
        """Return the ids, [batch, steps, 1]."""
        ids = self.categorical_column.transform_feature(transformation_cache, state_manager)
        return look_up("sparse.expand_dims")(ids, -1)

    def get_sequence_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> tuple:
        """Return the ids of a batch, without weights."""
        return self.get_sparse_tensors(transformation_cache, state_manager)


class _SequenceNumeric(NamedTuple):
    key: str
    shape: tuple
    default_value: float
    dtype: Any
    normalizer_fn: Any


class SequenceNumericColumn(_SequenceNumeric, SequenceDenseColumn):
    """Numbers in sequences."""

    @property
    def name(self) -> str:
        """The name of the feature."""
        return self.key

    @property
    def parse_example_spec(self) -> dict:
        """A `VarLenFeature`."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of a step."""
        return TensorShape(self.shape)

    def transform_feature(self, transformation_cache: Any, state_manager: Any = None) -> Any:
        """Return the numbers, normalized."""
        x = transformation_cache.get(self.key, state_manager)
        return x if self.normalizer_fn is None else self.normalizer_fn(x)

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> tuple:
        """Return the numbers [batch, steps, *shape], and how many steps each example has."""
        x = transformation_cache.get(self, state_manager)
        dense = look_up("sparse.to_dense")(x, self.default_value)
        size = TensorShape(self.shape).num_elements()
        rows = look_up("shape")(dense)[0]
        found = look_up("reshape")(dense, [rows, -1, *self.shape])
        places = x.indices[:, 1] // size + 1
        lengths = look_up("math.unsorted_segment_max")(places, x.indices[:, 0], rows)
        return found, look_up("maximum")(lengths, 0)


@export("feature_column.sequence_categorical_column_with_identity")
def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """Make a column as `categorical_column_with_identity` does, of sequences."""
    column = categorical_column_with_identity(key, num_buckets, default_value)
    return SequenceCategoricalColumn(column)


@export("feature_column.sequence_categorical_column_with_hash_bucket")
def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DTypeLike = string
) -> SequenceCategoricalColumn:
    """Make a column as `categorical_column_with_hash_bucket` does, of sequences."""
    column = categorical_column_with_hash_bucket(key, hash_bucket_size, dtype)
    return SequenceCategoricalColumn(column)


@export("feature_column.sequence_categorical_column_with_vocabulary_list")
def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:
    """Make a column as `categorical_column_with_vocabulary_list` does, of sequences."""
    given = key, vocabulary_list, dtype, default_value, num_oov_buckets
    return SequenceCategoricalColumn(categorical_column_with_vocabulary_list(*given))


@export("feature_column.sequence_categorical_column_with_vocabulary_file")
def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DTypeLike = string,
) -> SequenceCategoricalColumn:
    """Make a column as `categorical_column_with_vocabulary_file` does, of sequences."""
    given = key, vocabulary_file, vocabulary_size, dtype, default_value, num_oov_buckets
    return SequenceCategoricalColumn(categorical_column_with_vocabulary_file(*given))


@export("feature_column.sequence_numeric_column")
def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: Any = float32,
    normalizer_fn: object = None,
) -> SequenceNumericColumn:
    """Make a column as `numeric_column` does, of sequences; default_value fills up short ones.

    >>> import talweg as tf
    >>> tf.feature_column.sequence_numeric_column("speed").parse_example_spec
    {'speed': VarLenFeature(dtype=tf.float32)}
    """
    check_key(key)
    dims = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    kind = as_dtype(dtype)
    if any(size < 1 for size in dims):
        raise value_error("TW207", f"shape dimensions {dims}, key: {key}", "more than 0")
    if not (kind.is_integer or kind.is_floating):
        raise value_error("TW102", f"dtype {kind.name}, key: {key}", "one that float32 can hold")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise type_error("TW104", f"normalizer_fn {normalizer_fn!r}", "a callable")
    return SequenceNumericColumn(key, dims, default_value, kind, normalizer_fn)


@export("feature_column.make_parse_example_spec")
def make_parse_example_spec(feature_columns: Any) -> dict:
    """Return the specification that `tf.io.parse_example` needs to read the features of columns.

    ValueError for what is no column, and for a feature that two columns read in different ways.

    >>> import talweg as tf
    >>> tf.feature_column.make_parse_example_spec([tf.feature_column.numeric_column("age")])
    {'age': FixedLenFeature(shape=(1,), dtype=tf.float32, default_value=None)}
    """
    features: dict = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise value_error("TW104", f"{column!r} is no FeatureColumn", "feature columns")
        for key, feature in column.parse_example_spec.items():
            if key in features and features[key] != feature:
                raise value_error(
                    "TW104", f"{key}: {feature} and {features[key]}", "one description"
                )
            features[key] = feature
    return features
