"""Vocabularies: ids of words, with buckets for out-of-vocabulary words; dense tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.gathering import where
from talweg.api.export import export, look_up
from talweg.api.lookup.tables import LookupInterface, MutableHashTable, StaticHashTable
from talweg.api.ragged.functions import RaggedTensor  # its methods know graphs there
from talweg.api.strings.numbers import as_string, to_hash_bucket_fast
from talweg.api.tensors import cast
from talweg.core import dispatch
from talweg.core.dtypes import as_dtype, int64, string
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.tracking import AutoTrackable
from talweg.eager.composite import SparseTensor

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike
    from talweg.core.value import Tensor


def _with_flat(x: Any, values: Tensor) -> Any:
    """Return the elements of a tensor, sparse or ragged one replaced."""
    if isinstance(x, RaggedTensor):
        return x.with_flat_values(values)
    return x.with_values(values) if isinstance(x, SparseTensor) else values


def _flat(x: object) -> Any:
    return x.flat_values if isinstance(x, RaggedTensor) else getattr(x, "values", x)


@export("lookup.StaticVocabularyTable")
class StaticVocabularyTable(LookupInterface, AutoTrackable):
    """The ids of words, int64; words that have none fall into buckets behind them, by their hash.

    initializer: ids from 0 on for strings or integers, or None for buckets alone;
    lookup_key_dtype: the dtype of keys, if it is not the initializer's.  TypeError for values that
    are not int64, and for keys that are neither strings nor integers, ValueError unless there is a
    bucket.

    >>> import talweg as tf
    >>> words = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    >>> table = tf.lookup.StaticVocabularyTable(words, num_oov_buckets=1)
    >>> table.lookup(tf.constant(["b", "z"])).numpy()
    array([1, 2])
    """

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ):
        if num_oov_buckets <= 0:
            raise value_error("TW207", f"`num_oov_buckets` is {num_oov_buckets}", "more than 0")
        own = string if initializer is None else initializer.key_dtype
        key_dtype = own if lookup_key_dtype is None else as_dtype(lookup_key_dtype)
        if not (key_dtype is string or key_dtype.is_integer):
            raise type_error("TW102", f"`lookup_key_dtype` is {key_dtype}", "integer or string")
        if own.is_integer is not key_dtype.is_integer:
            raise type_error("TW102", f"keys are {key_dtype}, those of the initializer {own}")
        if initializer is not None and initializer.value_dtype is not int64:
            raise type_error("TW102", f"`value_dtype` is {initializer.value_dtype}", "int64")
        self.key_dtype, self.value_dtype = key_dtype, int64
        self.name, self._buckets, self._table = name, int(num_oov_buckets), None
        if initializer is not None:
            self._table = StaticHashTable(initializer, -1, name)

    def size(self, name: str | None = None) -> Any:
        """Return the number of ids, those of the buckets included; int64."""
        known = 0 if self._table is None else self._table.size()
        return look_up("convert_to_tensor")(known, int64) + self._buckets

    def lookup(self, keys: object, name: str | None = None) -> Any:
        """Return the id of each key (a tensor, sparse or ragged); int64.  TypeError for another
        dtype."""
        keys = self._check(keys)
        flat = _flat(keys)
        text = flat if self.key_dtype is string else as_string(cast(flat, int64))
        ids = to_hash_bucket_fast(text, self._buckets)
        if self._table is not None:
            words = flat if self.key_dtype is string else cast(flat, self._table.key_dtype)
            known = self._table.lookup(words)
            ids = where(look_up("equal")(known, -1), ids + self._table.size(), known)
        return _with_flat(keys, ids)


@export("compat.v1.lookup.StaticVocabularyTable")
class StaticVocabularyTableV1(StaticVocabularyTable):
    """`tf.lookup.StaticVocabularyTable`, with an operation that fills it, which does nothing here.

    >>> import talweg.compat.v1 as tf
    >>> words = tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([0], tf.int64))
    >>> int(tf.lookup.StaticVocabularyTable(words, 1).size())
    2
    """

    @property
    def initializer(self) -> Any:
        """An operation; the table is filled when it is made."""
        return None if self._table is None else look_up("compat.v1.no_op")()


@export("lookup.experimental.DenseHashTable")
class DenseHashTable(MutableHashTable):
    """A table that programs write to, with two keys that it never holds.

    empty_key, deleted_key: what TensorFlow marks free places with; InvalidArgumentError where they
    are looked up or written, or are equal.  initial_num_buckets: a power of two.  `export` gives
    what is in the table, without free places.

    >>> import talweg as tf
    >>> table = tf.lookup.experimental.DenseHashTable(
    ...     tf.string, tf.int64, -1, empty_key="", deleted_key="$")
    >>> table.insert(["a"], [5])
    >>> table.lookup(["a", "b"]).numpy()
    array([ 5, -1])
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: object,
        empty_key: TensorLike,
        deleted_key: TensorLike,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ):
        super().__init__(key_dtype, value_dtype, default_value, name)
        convert = look_up("convert_to_tensor")
        with dispatch.eagerly():
            self._empty = _item(convert(empty_key, self.key_dtype))
            self._deleted = _item(convert(deleted_key, self.key_dtype))
        if self._empty == self._deleted:
            raise invalid("TW207", "empty_key and deleted_key are equal", "two different keys")
        count = initial_num_buckets
        if count is not None and (count < 4 or count & (count - 1)):
            raise invalid("TW207", f"initial_num_buckets is {count}", "a power of two, at least 4")

    def _check_given(self, keys: np.ndarray) -> None:
        for name, key in (("empty_key", self._empty), ("deleted_key", self._deleted)):
            if (keys == key).any():
                raise invalid("TW207", f"Using the {name} as a table key is not allowed: {key!r}")

    def _read(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
        self._check_given(keys)
        return super()._read(keys, default)

    def _write(self, keys: np.ndarray, values: np.ndarray) -> None:
        self._check_given(keys)
        super()._write(keys, values)

    def _drop(self, keys: np.ndarray) -> None:
        self._check_given(keys)
        super()._drop(keys)

    def _restore_from_tensors(self, restored_tensors: dict) -> None:
        keys = restored_tensors["-keys"].numpy().reshape(-1)
        values = restored_tensors["-values"].numpy().reshape(len(keys), *self._value_dims)
        kept = (keys != self._empty) & (keys != self._deleted)
        with self._lock:
            self._found.clear()
            self._write(keys[kept], values[kept])

    def insert_or_assign(
        self, keys: TensorLike, values: TensorLike, name: str | None = None
    ) -> Any:
        """Do the same as `insert`."""
        return self.insert(keys, values)

    def erase(self, keys: TensorLike, name: str | None = None) -> Any:
        """Do the same as `remove`."""
        return self.remove(keys)


def _item(x: Tensor) -> Any:
    """Return the element of an eager tensor."""
    return np.asarray(x.numpy(), object).item()
