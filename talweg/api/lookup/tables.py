"""Tables from keys to values, which live outside graphs.

A static table is filled when it is made, and finding in it is a function of the keys; a mutable one
is read and written in the order of the program.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.shapes import ensure_shape
from talweg.api.export import export, look_up
from talweg.api.host import call_on_contents, numpy_function
from talweg.api.resources import TrackableResource
from talweg.api.strings.mapping import map_strings
from talweg.core import dispatch
from talweg.core.dtypes import VARIANTS, DType, as_dtype, int64, string, variant
from talweg.core.errors import FailedPreconditionError, compose, invalid, type_error, value_error
from talweg.core.locking import new_lock
from talweg.eager.composite import SparseTensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.ragged import RaggedTensor
from talweg.graph.symbol import Symbol
from talweg.kernels.strings.native import MANY, Numbering
from talweg.prims.strings.mapping import Rule

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike


class LookupInterface:
    """Base of lookup tables and their combinations: `lookup` by keys of one dtype."""

    key_dtype: DType
    value_dtype: DType
    name: Any = None

    def _check(self, keys: Any) -> Any:
        sparse = isinstance(keys, (SparseTensor, RaggedTensor))
        keys = keys if sparse else tensor(keys, None if hasattr(keys, "dtype") else self.key_dtype)
        if keys.dtype is not self.key_dtype:
            raise type_error(
                "TW102",
                f"Dtype of argument `keys` must be {self.key_dtype}, received: {keys.dtype}",
            )
        return keys

    def __getitem__(self, keys: TensorLike) -> Any:
        return self.lookup(keys)

    def lookup(self, keys: object, name: str | None = None) -> Any:
        """Return the values of the keys, with the default where there is none."""
        raise NotImplementedError


class Table(LookupInterface, TrackableResource):
    """Base of static and mutable tables: their contents, default value and lookups."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike, default: Any, name: str):
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        with dispatch.eagerly():
            if not (hasattr(default, "dtype") and hasattr(default, "numpy")):
                default = convert_to_tensor(default, self.value_dtype)
        self.default_value, self.name = default, name
        self._value_dims = tuple(default.shape)
        self.serial = uuid.uuid4().hex  # tells it from all others, in files too
        self._default: Any = None  # of a table of variants, or one of a graph
        if type(default) is not Symbol and self.value_dtype is not variant:
            self._default = default.numpy()
        self._found: dict = {}
        self._numbering: Any = None  # of the keys as they are, and the values in that order
        self._lock = new_lock()

    def _forget_numbering(self) -> None:
        """Forget the numbering of the keys, which have changed."""
        self._numbering = None

    def _take_values(self, keys: np.ndarray) -> np.ndarray | None:
        """Look up many keys at once; None where that is not worthwhile."""
        numbering = self._numbering
        if numbering is None:
            if keys.size < MANY or 4 * keys.size < len(self._found) or self._default is None:
                return None
            own, values = self.contents()
            filled = np.concatenate([values, np.asarray(self._default)[None].astype(values.dtype)])
            numbering = self._numbering = Numbering(own), filled
        numbers = numbering[0].of(keys)
        values = numbering[1]
        if numbers is None or values.ndim > 1 or values.dtype.kind not in "iuf":
            return None if numbers is None else values[numbers]
        if values.itemsize != numbers.itemsize:
            return values.take(numbers, mode="wrap")  # -1 is the last, the default
        return values.take(numbers, mode="wrap", out=numbers.view(values.dtype))  # in place

    def _count_keys(self) -> np.ndarray:
        return np.array(len(self._found), np.int64)

    def _call(self, function: Any, operands: list, dtypes: Any) -> Any:
        """Build the operation that calls a function of arrays, which are of variants perhaps."""
        call = call_on_contents if self.value_dtype is variant else numpy_function
        return call(function, operands, dtypes)

    def size(self, name: str | None = None) -> Any:
        """Return the number of keys, int64."""
        return ensure_shape(numpy_function(self._count_keys, [], int64), [])

    def contents(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all keys and all values as arrays, in the order in which they came."""
        with self._lock:
            pairs = list(self._found.items())
        keys = np.array([key for key, _ in pairs], _kind_of(self.key_dtype))
        values: Any = np.empty((len(keys), *self._value_dims), _kind_of(self.value_dtype))
        into = values["variant"] if self.value_dtype is variant else values
        for place, (_, value) in enumerate(pairs):
            into[place] = value
        return keys, values

    def export(self, name: str | None = None) -> tuple:
        """Return all keys and all values."""
        keys, values = self._call(self.contents, [], [self.key_dtype, self.value_dtype])
        return ensure_shape(keys, [None]), ensure_shape(values, [None, *self._value_dims])


def _kind_of(dtype: DType) -> Any:
    """Return the NumPy dtype of keys or values."""
    if dtype is variant:
        return VARIANTS
    return object if dtype is string else dtype.numpy_dtype


@export("lookup.StaticHashTable")
class StaticHashTable(Table):
    """A table that is filled when it is made.

    FailedPreconditionError for a key that comes with two values.

    >>> import talweg as tf
    >>> words = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    >>> tf.lookup.StaticHashTable(words, 0).lookup(tf.constant(["b", "z"])).numpy()
    array([2, 0], dtype=int32)
    """

    def __init__(
        self,
        initializer: Any,
        default_value: object,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ):
        if not hasattr(initializer, "key_dtype"):
            raise type_error(
                "TW104",
                f"StaticHashTable: initializer is {initializer!r}",
                "an initializer of tables",
                "tf.lookup.KeyValueTensorInitializer(keys, values)",
            )
        kinds = initializer.key_dtype, initializer.value_dtype
        super().__init__(*kinds, default_value, name or "hash_table")
        initializer.initialize(self)
        if np.ndim(self._default):
            raise value_error(
                "TW204", f"Shapes {np.shape(self._default)} and () are not compatible", "a scalar"
            )
        default = self._default if isinstance(self._default, bytes) else self._default.item()
        self._rule = Rule(
            self._found.get,
            self.value_dtype,
            (default,),
            table=self,
            whole=lambda keys, default: self._take_values(keys),
        )

    def fill(self, pairs: list[tuple]) -> None:
        """Take keys and values."""
        self._forget_numbering()
        for key, value in pairs:
            if self._found.setdefault(key, value) != value:
                text = f"HashTable has different value for same key. Key {key!r} has {value!r}"
                raise FailedPreconditionError(None, None, compose("TW207", text))

    def lookup(self, keys: object, name: str | None = None) -> Any:
        """Return the values of the keys (a tensor, sparse or ragged); the default where there is
        none."""
        return map_strings(self._check(keys), self._rule)


@export("compat.v1.lookup.StaticHashTable")
class StaticHashTableV1(StaticHashTable):
    """`tf.lookup.StaticHashTable`, with an operation that fills it, which does nothing here.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     words = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    ...     table = tf.lookup.StaticHashTable(words, 0)
    ...     session.run(table.initializer)
    ...     session.run(table.lookup(tf.constant(["b"])))
    array([2], dtype=int32)
    """

    @property
    def initializer(self) -> Any:
        """An operation; the table is filled when it is made."""
        return look_up("compat.v1.no_op")()


@export("lookup.experimental.MutableHashTable")
class MutableHashTable(Table):
    """A table that programs write to.

    `default_value` has the shape of each value.

    >>> import talweg as tf
    >>> table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    >>> table.insert(["a"], [5])
    >>> table.lookup(["a", "b"]).numpy()
    array([ 5, -1])
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: object,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ):
        super().__init__(key_dtype, value_dtype, default_value, name)

    # TensorFlow keeps both arrays under one attribute, whose name is this.
    _checkpoint_attribute = "table"

    def _serialize_to_tensors(self) -> dict:
        keys, values = self.export()
        return {"-keys": keys, "-values": values}

    def _restore_from_tensors(self, restored_tensors: dict) -> None:
        with self._lock:
            self._found.clear()
            self._write(restored_tensors["-keys"].numpy(), restored_tensors["-values"].numpy())

    def _write(self, keys: np.ndarray, values: np.ndarray) -> None:
        expected = (*keys.shape, *self._value_dims)
        if values.shape != expected:
            raise invalid("TW204", f"Expected shape {expected} for value, got {values.shape}")
        values = values.reshape(keys.size, *self._value_dims)
        with self._lock:
            self._forget_numbering()
            if self.value_dtype is variant:
                values = values["variant"]
            self._found.update(zip(keys.reshape(-1).tolist(), values))

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Any:
        """Give the keys these values, in place of those they had."""
        keys, values = self._check(keys), tensor(values, self.value_dtype)
        return self._call(self._write, [keys, values], [])

    def _drop(self, keys: np.ndarray) -> None:
        with self._lock:
            self._forget_numbering()
            for key in keys.reshape(-1).tolist():
                self._found.pop(key, None)

    def remove(self, keys: TensorLike, name: str | None = None) -> Any:
        """Forget the keys; those that are not there do not matter."""
        return numpy_function(self._drop, [self._check(keys)], [])

    def _read(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
        shape = self._value_dims
        with self._lock:
            whole = self._take_values(keys) if default is self._default else None
        if whole is not None:
            return whole
        flat = keys.reshape(-1).tolist()
        given = np.broadcast_to(default, (len(flat), *shape)) if len(flat) else []
        values: Any = np.empty((len(flat), *shape), _kind_of(self.value_dtype))
        into = values
        if self.value_dtype is variant and flat:
            into, given = values["variant"], np.atleast_1d(given)["variant"]
        with self._lock:
            for row, (key, other) in enumerate(zip(flat, given)):
                into[row] = self._found.get(key, other)
        return values.reshape((*keys.shape, *shape))

    def lookup(
        self, keys: Any, dynamic_default_values: TensorLike | None = None, name: str | None = None
    ) -> Any:
        """Return the values of the keys; for a key without one, the default or the one given."""
        keys = self._check(keys)
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self.lookup(keys.flat_values, dynamic_default_values))
        if isinstance(keys, SparseTensor):
            return keys.with_values(self.lookup(keys.values, dynamic_default_values))
        given = self.default_value if dynamic_default_values is None else dynamic_default_values
        values = self._call(self._read, [keys, tensor(given, self.value_dtype)], self.value_dtype)
        sizes = [size if isinstance(size, int) else None for size in keys.dims]
        return ensure_shape(values, [*sizes, *self._value_dims])
