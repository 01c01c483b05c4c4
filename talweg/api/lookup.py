"""tf.lookup: tables from keys to values, which live outside graphs.

A static table is filled when it is made, and finding in it is a function of the keys; a mutable one
is read and written in the order of the program.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.shapes import ensure_shape
from talweg.api.export import export, look_up
from talweg.api.host import numpy_function
from talweg.api.resources import TrackableResource
from talweg.api.strings.mapping import mapped
from talweg.core import dispatch
from talweg.core.dtypes import DType, as_dtype, int64, string
from talweg.core.errors import (
    FailedPreconditionError,
    compose,
    invalid,
    type_error,
    value_error,
)
from talweg.core.locking import new_lock
from talweg.eager.composite import SparseTensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.ragged import RaggedTensor
from talweg.graph.symbol import Symbol, constant_of
from talweg.prims.strings.mapping import Rule


@export("lookup.TextFileIndex")
class TextFileIndex:
    """What of a line of a file is a key or value.

    >>> import talweg as tf
    >>> tf.lookup.TextFileIndex.WHOLE_LINE
    -2
    """

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TableInitializer:
    """Where a table's keys and values come from."""

    def pairs(self) -> list[tuple]:
        """Keys and values."""
        raise NotImplementedError

    def initialize(self, table: Any) -> None:
        """Fill a table; libraries override this to leave one empty."""
        table.fill(self.pairs())


@export("lookup.KeyValueTensorInitializer")
class KeyValueTensorInitializer(TableInitializer):
    """The keys and values of a table, as two vectors.

    >>> import talweg as tf
    >>> tf.lookup.KeyValueTensorInitializer(["a"], [1]).key_dtype
    tf.string
    """

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ):
        with dispatch.eagerly():
            self.keys = convert_to_tensor(keys, key_dtype)
            self.values = convert_to_tensor(values, value_dtype)
        self.key_dtype, self.value_dtype = self.keys.dtype, self.values.dtype

    def pairs(self) -> list[tuple]:
        """Keys and values; InvalidArgumentError unless there are as many."""
        keys = self.keys.numpy().reshape(-1).tolist()
        values = self.values.numpy().reshape(-1).tolist()
        if len(keys) != len(values):
            raise invalid("TW204", f"{len(keys)} keys and {len(values)} values", "as many")
        return list(zip(keys, values))


@export("lookup.TextFileInitializer")
class TextFileInitializer(TableInitializer):
    """The keys and values of a table, from the lines of a file.

    key_index, value_index: a column of a line split at `delimiter`, or one of `TextFileIndex`.

    >>> import talweg as tf
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "words"
    >>> _ = path.write_text("a" + chr(10) + "b" + chr(10))
    >>> index = tf.lookup.TextFileIndex
    >>> words = tf.lookup.TextFileInitializer(
    ...     str(path), tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER)
    >>> int(tf.lookup.StaticHashTable(words, -1).lookup("b"))
    1
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ):
        self.path = Path(_path_of(filename))
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self.key_index, self.value_index = key_index, value_index
        self.count, self.delimiter, self.offset = vocab_size, delimiter.encode(), value_index_offset

    def _part(self, line: bytes, number: int, index: int, dtype: DType) -> Any:
        if index == TextFileIndex.LINE_NUMBER:
            return number
        found = line if index == TextFileIndex.WHOLE_LINE else line.split(self.delimiter)[index]
        return found if dtype is string else dtype.numpy_dtype.type(found.decode()).item()

    def pairs(self) -> list[tuple]:
        """Keys and values; InvalidArgumentError if the file is shorter than it should be."""
        lines = self.path.read_bytes().splitlines()
        if self.count is not None and len(lines) < self.count:
            raise invalid("TW204", f"{self.path} has {len(lines)} lines", f"{self.count}")
        found = []
        for number, line in enumerate(lines[: self.count]):
            key = self._part(line, number, self.key_index, self.key_dtype)
            value = self._part(line, number, self.value_index, self.value_dtype)
            if self.key_index == TextFileIndex.LINE_NUMBER:
                key += self.offset
            elif self.value_index == TextFileIndex.LINE_NUMBER:
                value += self.offset
            found.append((key, value))
        return found


def _path_of(filename: Any) -> Any:
    """A path, given as text, an asset, a tensor, or a constant of a graph."""
    filename = getattr(filename, "asset_path", filename)
    if type(filename) is Symbol:
        content = constant_of(filename.node)
        if content is None:
            raise value_error("TW207", f"the file of a table is {filename!r}", "a constant")
        filename = np.asarray(content.array).item()
    found = filename.numpy() if hasattr(filename, "numpy") else filename
    return found.decode() if isinstance(found, bytes) else found


class Table(TrackableResource):
    """What static and mutable tables share."""

    def __init__(self, key_dtype: Any, value_dtype: Any, default: Any, name: str):
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        with dispatch.eagerly():
            if not (hasattr(default, "dtype") and hasattr(default, "numpy")):
                default = convert_to_tensor(default, self.value_dtype)
        self.default_value, self.name = default, name
        self.serial = uuid.uuid4().hex  # tells it from all others, in files too
        self._default = default.numpy()
        self._found: dict = {}
        self._lock = new_lock()

    def _sized(self) -> np.ndarray:
        return np.array(len(self._found), np.int64)

    def size(self, name: str | None = None) -> Any:
        """The number of keys, int64."""
        return ensure_shape(numpy_function(self._sized, [], int64), [])

    def contents(self) -> tuple[np.ndarray, np.ndarray]:
        """All keys and all values as arrays, in the order in which they came."""
        kinds = [
            object if dtype is string else dtype.numpy_dtype
            for dtype in (self.key_dtype, self.value_dtype)
        ]
        with self._lock:
            pairs = list(self._found.items())
        keys = np.array([key for key, _ in pairs], kinds[0])
        values = np.array([value for _, value in pairs], kinds[1])
        return keys, values.reshape(len(keys), *np.shape(self._default))

    def export(self, name: str | None = None) -> tuple:
        """All keys and all values."""
        keys, values = numpy_function(self.contents, [], [self.key_dtype, self.value_dtype])
        return ensure_shape(keys, [None]), ensure_shape(values, [None, *np.shape(self._default)])

    def _check(self, keys: Any) -> Any:
        sparse = isinstance(keys, (SparseTensor, RaggedTensor))
        keys = keys if sparse else tensor(keys, None if hasattr(keys, "dtype") else self.key_dtype)
        if keys.dtype is not self.key_dtype:
            raise type_error(
                "TW102",
                f"Dtype of argument `keys` must be {self.key_dtype}, received: {keys.dtype}",
            )
        return keys

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of the keys, with the default where there is none."""
        raise NotImplementedError


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
        default_value: Any,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ):
        kinds = initializer.key_dtype, initializer.value_dtype
        super().__init__(*kinds, default_value, name or "hash_table")
        initializer.initialize(self)
        default = self._default if isinstance(self._default, bytes) else self._default.item()
        self._rule = Rule(self._found.get, self.value_dtype, (default,), table=self)

    def fill(self, pairs: list[tuple]) -> None:
        """Take keys and values."""
        for key, value in pairs:
            if self._found.setdefault(key, value) != value:
                text = f"HashTable has different value for same key. Key {key!r} has {value!r}"
                raise FailedPreconditionError(None, None, compose("TW207", text))

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of the keys (a tensor, sparse or ragged); the default where there is none."""
        return mapped(self._check(keys), self._rule)


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
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
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
        values = values.reshape(keys.size, *np.shape(self._default))
        with self._lock:
            self._found.update(zip(keys.reshape(-1).tolist(), values))

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Any:
        """Give the keys these values, in place of those they had."""
        keys, values = self._check(keys), tensor(values, self.value_dtype)
        return numpy_function(self._write, [keys, values], [])

    def _drop(self, keys: np.ndarray) -> None:
        with self._lock:
            for key in keys.reshape(-1).tolist():
                self._found.pop(key, None)

    def remove(self, keys: Any, name: str | None = None) -> Any:
        """Forget the keys; those that are not there do not matter."""
        return numpy_function(self._drop, [self._check(keys)], [])

    def _read(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
        shape = np.shape(self._default)
        flat = keys.reshape(-1).tolist()
        given = np.broadcast_to(default, (len(flat), *shape)) if len(flat) else []
        kind = object if self.value_dtype is string else self.value_dtype.numpy_dtype
        found = np.empty((len(flat), *shape), kind)
        with self._lock:
            for place, (key, other) in enumerate(zip(flat, given)):
                found[place] = self._found.get(key, other)
        return found.reshape((*keys.shape, *shape))

    def lookup(self, keys: Any, dynamic_default_values: Any = None, name: str | None = None) -> Any:
        """The values of the keys; where there is none, the default, or the one given with it."""
        keys = self._check(keys)
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self.lookup(keys.flat_values, dynamic_default_values))
        if isinstance(keys, SparseTensor):
            return keys.with_values(self.lookup(keys.values, dynamic_default_values))
        given = self.default_value if dynamic_default_values is None else dynamic_default_values
        found = numpy_function(
            self._read, [keys, tensor(given, self.value_dtype)], self.value_dtype
        )
        sizes = [size if isinstance(size, int) else None for size in keys.dims]
        return ensure_shape(found, [*sizes, *np.shape(self._default)])
