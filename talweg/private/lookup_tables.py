"""`tensorflow.python.ops.lookup_ops`: tables of a vocabulary, which old programs make.

A vocabulary is a file with a key in each line, or a tensor of keys; a key's id is its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.passing import get_static_value
from talweg.api.lookup.from_datasets import FAST_HASH, HasherSpec
from talweg.api.lookup.initializers import (
    KeyValueTensorInitializer,
    TableInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from talweg.api.lookup.tables import LookupInterface, StaticHashTableV1
from talweg.api.lookup.vocabulary import StaticVocabularyTableV1
from talweg.core import dispatch
from talweg.core.dtypes import DType, as_dtype, int64, string
from talweg.core.errors import type_error, value_error
from talweg.eager.convert import convert_to_tensor

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: HasherSpec = FAST_HASH,
    key_dtype: DTypeLike = string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> LookupInterface:
    """Return a table from the lines of a file to their numbers.

    num_oov_buckets: how many ids, behind those of the file, keys that are not in it share; with 0
    they have `default_value`.  ValueError for numbers that are too small, or without a file,
    TypeError for keys that are neither strings nor integers.
    """
    _check_sizes(vocabulary_file, num_oov_buckets, vocab_size)
    kind = _kind_of_keys(key_dtype)
    initializer = TextFileInitializer(
        vocabulary_file,
        int64 if kind.is_integer else string,
        key_column_index,
        int64,
        value_column_index,
        vocab_size,
        delimiter,
    )
    return _index_table(initializer, num_oov_buckets, default_value, kind, name)


def index_table_from_tensor(
    vocabulary_list: TensorLike | None,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FAST_HASH,
    dtype: DTypeLike = string,
    name: str | None = None,
) -> LookupInterface:
    """Return a table from keys to their places in a vector.

    num_oov_buckets and default_value are those of `index_table_from_file`.  TypeError for keys that
    are neither strings nor integers, ValueError for keys of the other kind than `dtype`.
    """
    if vocabulary_list is None:
        raise value_error("TW207", "vocabulary_list must be specified")
    _check_sizes("a list", num_oov_buckets, None)
    kind, keys = _kind_of_keys(dtype), _keys_of(vocabulary_list)
    if (keys.dtype.kind in "iu") != kind.is_integer:
        raise value_error("TW102", f"the keys are {keys.dtype}", f"keys of {kind.name}")
    key_kind = int64 if kind.is_integer else string
    keys = keys.astype(key_kind.numpy_dtype)
    initializer = KeyValueTensorInitializer(keys, np.arange(keys.size), key_kind, int64)
    return _index_table(initializer, num_oov_buckets, default_value, kind, name)


def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: str = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> LookupInterface:
    """Return a table from numbers of lines to the lines of a file; `default_value` for others."""
    _check_sizes(vocabulary_file, 0, vocab_size)
    initializer = TextFileInitializer(
        vocabulary_file, int64, key_column_index, string, value_column_index, vocab_size, delimiter
    )
    return StaticHashTableV1(initializer, default_value, name)


def index_to_string_table_from_tensor(
    vocabulary_list: TensorLike | None, default_value: str = "UNK", name: str | None = None
) -> LookupInterface:
    """Return a table from places in a vector to its strings; `default_value` for others."""
    if vocabulary_list is None:
        raise value_error("TW207", "vocabulary_list must be specified")
    words = _keys_of(vocabulary_list)
    places = np.arange(words.size)
    initializer = KeyValueTensorInitializer(places, words, int64, string)
    return StaticHashTableV1(initializer, default_value, name)


def _kind_of_keys(dtype: DTypeLike) -> DType:
    kind = as_dtype(dtype)
    if not (kind is string or kind.is_integer):
        raise type_error("TW102", f"the dtype of keys is {kind}", "an integer or string dtype")
    return kind


def _keys_of(vocabulary: TensorLike) -> np.ndarray:
    """Return the elements of a vector, which a graph must know; ValueError if it does not."""
    with dispatch.eagerly():
        keys = get_static_value(convert_to_tensor(vocabulary))
    if keys is None:
        raise value_error("TW104", "the vocabulary is only known when the graph runs", "a list")
    return keys


def _index_table(
    initializer: TableInitializer, buckets: int, default: int, key_dtype: Any, name: str | None
) -> LookupInterface:
    if buckets:
        return StaticVocabularyTableV1(initializer, buckets, key_dtype, name)
    return StaticHashTableV1(initializer, default, name)


def _check_sizes(file: Any, buckets: int, size: int | None) -> None:
    if file is None or (isinstance(file, str) and not file):
        raise value_error("TW207", "vocabulary_file must be specified and must not be empty.")
    if buckets < 0:
        raise value_error(
            "TW207", f"num_oov_buckets must be greater or equal than 0, got {buckets}"
        )
    if size is not None and size < 1:
        raise value_error("TW207", f"vocab_size must be greater than 0, got {size}")
