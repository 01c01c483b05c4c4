"""tf.data.experimental: lookup tables filled from the elements of a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.export import export
from talweg.api.lookup.initializers import TableInitializer
from talweg.api.lookup.tables import LookupInterface, StaticHashTable
from talweg.api.lookup.vocabulary import StaticVocabularyTable
from talweg.core import dispatch
from talweg.core.dtypes import as_dtype, string
from talweg.core.errors import type_error, value_error

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike
    from talweg.core.value import Tensor


class HasherSpec(NamedTuple):
    """Describes the hash of keys outside of a table into buckets: "fasthash", which takes no
    key.
    """

    hasher: str
    key: Any


FAST_HASH = HasherSpec("fasthash", None)


@export("data.experimental.DatasetInitializer")
class DatasetInitializer(TableInitializer):
    """The keys and values of a table, from a dataset of pairs of scalars (key, value).

    ValueError for elements that are no pairs of scalars.

    >>> import talweg as tf
    >>> pairs = tf.data.Dataset.from_tensor_slices((["a", "b"], [3, 4]))
    >>> words = tf.data.experimental.DatasetInitializer(pairs)
    >>> int(tf.lookup.StaticHashTable(words, -1).lookup(tf.constant("b")))
    4
    """

    def __init__(self, dataset: Any):
        spec = dataset.element_spec
        if not isinstance(spec, tuple) or len(spec) != 2:
            raise value_error("TW104", f"dataset: its elements are {spec}", "pairs (key, value)")
        for name, part in zip(("key", "value"), spec):
            if part.shape.rank:
                raise value_error(
                    "TW203",
                    "dataset: its elements must be pairs (key, value) of scalar tensors, but it "
                    f"produces a non-scalar {name} of rank {part.shape.rank}",
                )
        self._dataset = dataset
        self.key_dtype, self.value_dtype = spec[0].dtype, spec[1].dtype

    def pairs(self) -> list[tuple]:
        """Return keys and values."""
        with dispatch.eagerly():
            return [(_item(key), _item(value)) for key, value in self._dataset.as_numpy_iterator()]


def _item(x: Tensor) -> Any:
    return x if isinstance(x, bytes) else x.item()


@export("data.experimental.table_from_dataset")
def table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: TensorLike | None = None,
    hasher_spec: HasherSpec = FAST_HASH,
    key_dtype: DTypeLike = string,
    name: str | None = None,
) -> LookupInterface:
    """Return a table of the pairs (key, id) of a dataset.

    num_oov_buckets: how many ids, behind those of the dataset, keys that are not in it share; with
    0 they have `default_value` (-1).  vocab_size: how many elements are read, by default all.
    ValueError for negative numbers, TypeError for keys that are neither strings nor integers.

    >>> import talweg as tf
    >>> pairs = tf.data.Dataset.from_tensor_slices((["a", "b"], tf.constant([0, 1], tf.int64)))
    >>> table = tf.data.experimental.table_from_dataset(pairs, default_value=-1)
    >>> table.lookup(tf.constant(["b", "z"])).numpy()
    array([ 1, -1])
    """
    if num_oov_buckets < 0:
        raise value_error("TW207", f"`num_oov_buckets` is {num_oov_buckets}", "0 or more")
    if vocab_size is not None and vocab_size < 1:
        raise value_error("TW207", f"`vocab_size` is {vocab_size}", "more than 0")
    kind = as_dtype(key_dtype)
    if not (kind is string or kind.is_integer):
        raise type_error("TW102", f"`key_dtype` is {kind}", "an integer or string dtype")
    initializer = DatasetInitializer(dataset if vocab_size is None else dataset.take(vocab_size))
    if num_oov_buckets:
        return StaticVocabularyTable(initializer, num_oov_buckets, name=name)
    return StaticHashTable(initializer, -1 if default_value is None else default_value, name)


@export("data.experimental.index_table_from_dataset")
def index_table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: TensorLike = -1,
    hasher_spec: HasherSpec = FAST_HASH,
    key_dtype: DTypeLike = string,
    name: str | None = None,
) -> LookupInterface:
    """Return a table of the elements of a dataset of keys, each with its place in the dataset as
    its id.

    The arguments are those of `table_from_dataset`.

    >>> import talweg as tf
    >>> words = tf.data.Dataset.from_tensor_slices(["a", "b"])
    >>> table = tf.data.experimental.index_table_from_dataset(words, num_oov_buckets=1)
    >>> table.lookup(tf.constant(["b", "z"])).numpy()
    array([1, 2])
    """
    pairs = dataset.enumerate().map(lambda number, key: (key, number))
    return table_from_dataset(
        pairs, num_oov_buckets, vocab_size, default_value, hasher_spec, key_dtype, name
    )
