"""Columns that give ids: numbers, words of a vocabulary, hashes, crosses, weighted ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.api.array.gathering import where
from talweg.api.examples.features import VarLenFeature
from talweg.api.export import export, look_up
from talweg.api.lookup.initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from talweg.api.lookup.tables import StaticHashTable
from talweg.api.lookup.vocabulary import StaticVocabularyTable
from talweg.api.sparse.crossing import cross_hashed
from talweg.api.strings.numbers import as_string, to_hash_bucket_fast
from talweg.api.tensors import cast
from talweg.core.dtypes import as_dtype, float32, int64, string
from talweg.core.errors import value_error
from talweg.eager.composite import SparseTensor
from talweg.feature_columns.column import (
    CategoricalColumn,
    check_categorical,
    check_key,
    to_sparse,
)

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike


def _check_dtype(key: str, dtype: DTypeLike | None) -> Any:
    found = as_dtype(dtype)
    if found is not string and not found.is_integer:
        raise value_error("TW102", f"dtype of {key} is {found.name}", "string or an integer")
    return found


class _Keyed(CategoricalColumn):
    """A column of one feature with any number of values."""

    key: str

    @property
    def name(self) -> str:
        """The name of the feature."""
        return self.key

    @property
    def parse_example_spec(self) -> dict:
        """A `VarLenFeature`."""
        return {self.key: VarLenFeature(getattr(self, "dtype", int64))}

    def ids_of(self, values: object) -> Any:
        """Return the ids of values."""
        raise NotImplementedError

    def transform_feature(self, transformation_cache: Any, state_manager: Any = None) -> Any:
        """Return the ids."""
        x = to_sparse(transformation_cache.get(self.key, state_manager))
        if (x.dtype is string) is not (as_dtype(getattr(self, "dtype", int64)) is string):
            raise value_error("TW102", f"feature {self.key} has dtype {x.dtype.name}")
        return x.with_values(self.ids_of(x.values))


class _Identity(NamedTuple):
    key: str
    number_buckets: int
    default_value: Any


class IdentityCategoricalColumn(_Identity, _Keyed):
    """Numbers that are ids."""

    @property
    def num_buckets(self) -> int:
        """The first number that is no id."""
        return self.number_buckets

    def ids_of(self, values: object) -> Any:
        """Return the numbers;
        the default for those out of range, or InvalidArgumentError without one.
        """
        ids = cast(values, int64)
        outside = look_up("logical_or")(ids < 0, ids >= self.number_buckets)
        if self.default_value is not None:
            return where(outside, look_up("fill")(look_up("shape")(ids), self.default_value), ids)
        check = look_up("debugging.assert_equal")(
            look_up("reduce_any")(outside), False, f"{self.key}: ids outside of the buckets"
        )
        with look_up("control_dependencies")([] if check is None else [check]):
            return look_up("identity")(ids)


class _Hashed(NamedTuple):
    key: str
    hash_bucket_size: int
    dtype: Any


class HashedCategoricalColumn(_Hashed, _Keyed):
    """Values that are hashed to ids."""

    @property
    def num_buckets(self) -> int:
        """The number of buckets."""
        return self.hash_bucket_size

    def ids_of(self, values: Any) -> Any:
        """Return the hash of each value."""
        text = values if values.dtype is string else as_string(values)
        return to_hash_bucket_fast(text, self.hash_bucket_size)


class _VocabularyList(NamedTuple):
    key: str
    vocabulary_list: tuple
    dtype: Any
    default_value: int
    num_oov_buckets: int


class VocabularyListCategoricalColumn(_VocabularyList, _Keyed):
    """Words of a list; their ids are their places."""

    @property
    def num_buckets(self) -> int:
        """The number of words and buckets."""
        return len(self.vocabulary_list) + self.num_oov_buckets

    def ids_of(self, values: object) -> Any:
        """Return the places of the words."""
        words = list(self.vocabulary_list)
        kind = string if self.dtype is string else int64
        pairs = KeyValueTensorInitializer(words, np.arange(len(words)), kind, int64)
        return _look_up(self, pairs, values)


class _VocabularyFile(NamedTuple):
    key: str
    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: Any
    default_value: int
    file_format: Any


class VocabularyFileCategoricalColumn(_VocabularyFile, _Keyed):
    """Words of a file; their ids are their lines."""

    @property
    def num_buckets(self) -> int:
        """The number of words and buckets."""
        return self.vocabulary_size + self.num_oov_buckets

    def ids_of(self, values: object) -> Any:
        """Return the lines of the words."""
        kind = string if self.dtype is string else int64
        lines = TextFileIndex.WHOLE_LINE, int64, TextFileIndex.LINE_NUMBER
        pairs = TextFileInitializer(self.vocabulary_file, kind, *lines, self.vocabulary_size)
        return _look_up(self, pairs, values)


def _look_up(column: Any, pairs: Any, values: Any) -> Any:
    x = values if values.dtype is string else cast(values, int64)
    if column.num_oov_buckets:
        return StaticVocabularyTable(pairs, column.num_oov_buckets).lookup(x)
    default = -1 if column.default_value is None else column.default_value
    return StaticHashTable(pairs, default).lookup(x)


class _Crossed(NamedTuple):
    keys: tuple
    hash_bucket_size: int
    hash_key: Any


class CrossedColumn(_Crossed, CategoricalColumn):
    """Combinations of features, hashed to ids."""

    def _leaves(self) -> list:
        found: list = []
        for key in self.keys:
            found += key._leaves() if isinstance(key, CrossedColumn) else [key]
        return found

    @property
    def name(self) -> str:
        """The names of the features, in order."""
        return "_X_".join(sorted(x if isinstance(x, str) else x.name for x in self._leaves()))

    @property
    def num_buckets(self) -> int:
        """The number of buckets."""
        return self.hash_bucket_size

    @property
    def parse_example_spec(self) -> dict:
        """The specification of the features; names alone are strings."""
        found: dict = {}
        for key in self.keys:
            spec = {key: VarLenFeature(string)} if isinstance(key, str) else key.parse_example_spec
            found.update(spec)
        return found

    def transform_feature(self, transformation_cache: Any, state_manager: Any = None) -> Any:
        """Return the hash of each combination."""
        parts = []
        for key in self._leaves():
            if isinstance(key, str):
                parts.append(transformation_cache.get(key, state_manager))
                continue
            ids, weights = key.get_sparse_tensors(transformation_cache, state_manager)
            if weights is not None:
                raise value_error("TW104", f"{key.name}: weighted columns cannot be crossed")
            parts.append(ids)
        return cross_hashed(parts, self.hash_bucket_size, self.hash_key)


class _Weighted(NamedTuple):
    categorical_column: Any
    weight_feature_key: str
    dtype: Any


class WeightedCategoricalColumn(_Weighted, CategoricalColumn):
    """Ids with a weight each, which is another feature."""

    @property
    def name(self) -> str:
        """The names of the ids and of the weights."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def num_buckets(self) -> int:
        """The number of buckets of the ids."""
        return self.categorical_column.num_buckets

    @property
    def parse_example_spec(self) -> dict:
        """The specification of both columns."""
        own = {self.weight_feature_key: VarLenFeature(self.dtype)}
        return {**self.categorical_column.parse_example_spec, **own}

    def transform_feature(self, transformation_cache: Any, state_manager: Any = None) -> Any:
        """Return ids and weights."""
        weights = transformation_cache.get(self.weight_feature_key, state_manager)
        if not isinstance(weights, SparseTensor):
            weights = look_up("sparse.from_dense")(weights)
        ids = transformation_cache.get(self.categorical_column, state_manager)
        return ids, weights.with_values(cast(weights.values, float32))

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any = None) -> tuple:
        """Return ids and weights."""
        return transformation_cache.get(self, state_manager)


def _check_ids(name: str, count: int, default: Any) -> None:
    if count < 1:
        raise value_error("TW207", f"num_buckets {count}, column_name {name}", "at least 1")
    if default is not None and not 0 <= default < count:
        raise value_error("TW206", f"default_value {default}, column_name {name}", f"[0, {count})")


@export("feature_column.categorical_column_with_identity")
def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """Return numbers from 0 to num_buckets - 1, which are ids; default_value stands for others.

    >>> import talweg as tf
    >>> tf.feature_column.categorical_column_with_identity("video", 10).num_buckets
    10
    """
    check_key(key)
    _check_ids(key, num_buckets, default_value)
    return IdentityCategoricalColumn(key, num_buckets, default_value)


@export("feature_column.categorical_column_with_hash_bucket")
def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DTypeLike = string
) -> HashedCategoricalColumn:
    """Return strings or integers, hashed to ids.

    >>> import talweg as tf
    >>> tf.feature_column.categorical_column_with_hash_bucket("city", 10).num_buckets
    10
    """
    check_key(key)
    if hash_bucket_size is None or hash_bucket_size < 1:
        raise value_error("TW207", f"hash_bucket_size {hash_bucket_size}, key: {key}", "at least 1")
    return HashedCategoricalColumn(key, hash_bucket_size, _check_dtype(key, dtype))


def _check_buckets(key: str, count: int, default: object) -> None:
    if count < 0:
        raise value_error("TW207", f"num_oov_buckets {count} in {key}", "at least 0")
    if count and default not in (None, -1):
        raise value_error("TW104", f"both num_oov_buckets and default_value in {key}", "one")


@export("feature_column.categorical_column_with_vocabulary_list")
def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Any,
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyListCategoricalColumn:
    """Return words of a list, whose places are ids; others have default_value, or fall into
    buckets.

    >>> import talweg as tf
    >>> words = tf.feature_column.categorical_column_with_vocabulary_list("color", ["red", "blue"])
    >>> words.num_buckets
    2
    """
    check_key(key)
    words = tuple(vocabulary_list or ())
    if not words:
        raise value_error("TW207", f"vocabulary_list is empty, column_name: {key}", "words")
    if len(set(words)) != len(words):
        raise value_error("TW207", f"Duplicate keys in vocabulary_list, column_name: {key}")
    _check_buckets(key, num_oov_buckets, default_value)
    own = string if isinstance(words[0], (str, bytes)) else int64
    kind = own if dtype is None else _check_dtype(key, dtype)
    if (kind is string) is not (own is string):
        raise value_error("TW102", f"dtype {kind.name} and vocabulary dtype {own.name} for {key}")
    return VocabularyListCategoricalColumn(key, words, kind, default_value, num_oov_buckets)


@export("feature_column.categorical_column_with_vocabulary_file")
def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    dtype: DTypeLike = string,
    default_value: int | None = None,
    num_oov_buckets: int = 0,
    file_format: str | None = None,
) -> VocabularyFileCategoricalColumn:
    """Make a categorical column whose vocabulary stands in a file, a word on each line."""
    check_key(key)
    if not vocabulary_file:
        raise value_error("TW207", f"Missing vocabulary_file in {key}.", "a path")
    if vocabulary_size is None:
        vocabulary_size = len(Path(vocabulary_file).read_bytes().splitlines())
    if vocabulary_size < 1:
        raise value_error("TW207", f"Invalid vocabulary_size in {key}.", "at least 1")
    _check_buckets(key, num_oov_buckets, default_value)
    default = -1 if default_value is None else default_value
    given = num_oov_buckets, _check_dtype(key, dtype), default, file_format
    return VocabularyFileCategoricalColumn(key, vocabulary_file, vocabulary_size, *given)


@export("feature_column.crossed_column")
def crossed_column(
    keys: TensorLike, hash_bucket_size: int, hash_key: int | None = None
) -> CrossedColumn:
    """Return all combinations of features, hashed to ids: names of strings, or columns that give
    ids.

    >>> import talweg as tf
    >>> tf.feature_column.crossed_column(["a", "b"], 10).name
    'a_X_b'
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise value_error("TW207", f"hash_bucket_size is {hash_bucket_size}", "more than 1")
    if not isinstance(keys, (list, tuple)) or len(keys) < 2:
        raise value_error("TW207", f"keys {keys!r}", "a list with length > 1")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn)):
            raise value_error("TW104", f"Unsupported key type: {key!r}", "a name or a column")
        if isinstance(key, HashedCategoricalColumn):
            raise value_error("TW104", f"{key!r} would be hashed twice", "its name, a string")
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)


@export("feature_column.weighted_categorical_column")
def weighted_categorical_column(
    categorical_column: Any, weight_feature_key: str, dtype: DTypeLike = float32
) -> WeightedCategoricalColumn:
    """Return ids of a column with weights, which are another feature.

    >>> import talweg as tf
    >>> ids = tf.feature_column.categorical_column_with_identity("word", 10)
    >>> tf.feature_column.weighted_categorical_column(ids, "count").name
    'word_weighted_by_count'
    """
    check_categorical(categorical_column)
    kind = as_dtype(dtype)
    if not (kind.is_integer or kind.is_floating):
        raise value_error("TW102", f"dtype {kind.name} of weights", "one that float32 can hold")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, kind)
