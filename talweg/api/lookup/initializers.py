"""Initializers of lookup tables: keys and values from vectors, or from the lines of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export
from talweg.core import dispatch
from talweg.core.dtypes import DType, as_dtype, int64, string
from talweg.core.errors import invalid, value_error
from talweg.core.system_errors import from_system
from talweg.eager.convert import convert_to_tensor
from talweg.graph.symbol import Symbol, constant_of

if TYPE_CHECKING:
    from talweg.api.lookup.tables import StaticHashTable
    from talweg.core.annotations import DTypeLike, TensorLike


@export("lookup.TextFileIndex")
class TextFileIndex:
    """Names the parts of a line of a file that may be a key or a value.

    >>> import talweg as tf
    >>> tf.lookup.TextFileIndex.WHOLE_LINE
    -2
    """

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TableInitializer:
    """Base of the initializers of tables, which give keys and values."""

    def pairs(self) -> list[tuple]:
        """Return keys and values."""
        raise NotImplementedError

    def initialize(self, table: StaticHashTable) -> None:
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
        """Return keys and values; InvalidArgumentError unless there are as many."""
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
        filename: TensorLike,
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ):
        path = _path_of(filename)
        if not path:
            raise value_error("TW207", "`filename` is empty", "the path of a file")
        _check_columns(key_index, as_dtype(key_dtype), value_index, as_dtype(value_dtype))
        if vocab_size is not None and vocab_size <= 0:
            raise value_error("TW207", f"`vocab_size` is {vocab_size}", "more than 0")
        self.path = Path(path)
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self.key_index, self.value_index = key_index, value_index
        self.count, self.delimiter, self.offset = vocab_size, delimiter.encode(), value_index_offset

    def _part(self, line: bytes, number: int, index: int, dtype: DType) -> Any:
        if index == TextFileIndex.LINE_NUMBER:
            return number
        found = line
        if index != TextFileIndex.WHOLE_LINE:
            columns = line.split(self.delimiter)
            if index >= len(columns):
                happened = f"Invalid number of columns in {self.path} line {number} ({line!r})"
                raise invalid("TW204", f"{happened}: got {len(columns)}", f"at least {index + 1}")
            found = columns[index]
        return found if dtype is string else self._number(found, number, dtype)

    def _number(self, found: bytes, line: int, dtype: DType) -> Any:
        """Return the number that a column is, which Python's rules would take for more (1_0)."""
        try:
            if b"_" in found:
                raise ValueError("an underscore")
            return dtype.numpy_dtype.type(found.decode("ascii")).item()
        except (ValueError, OverflowError):
            happened = f"Field {found!r} in line {line} of {self.path} is not a valid {dtype.name}"
            raise invalid("TW207", happened) from None

    def pairs(self) -> list[tuple]:
        """Read keys and values; InvalidArgumentError if the file is shorter than it should be."""
        try:
            lines = [line.removesuffix(b"\r") for line in self.path.read_bytes().split(b"\n")]
        except OSError as error:
            raise from_system(error) from None
        if not lines[-1]:
            lines.pop()  # what comes after the last end of a line
        if self.count is not None and len(lines) < self.count:
            raise invalid("TW204", f"{self.path} has {len(lines)} lines", f"{self.count}")
        pairs = []
        for number, line in enumerate(lines[: self.count]):
            key = self._part(line, number, self.key_index, self.key_dtype)
            value = self._part(line, number, self.value_index, self.value_dtype)
            if self.key_index == TextFileIndex.LINE_NUMBER:
                key += self.offset
            elif self.value_index == TextFileIndex.LINE_NUMBER:
                value += self.offset
            pairs.append((key, value))
        return pairs


def _check_columns(key: int, key_dtype: DType, value: int, value_dtype: DType) -> None:
    """Raise ValueError for columns that there are not, or of dtypes that they cannot have."""
    for name, index, dtype in (("key", key, key_dtype), ("value", value, value_dtype)):
        if index < TextFileIndex.WHOLE_LINE:
            raise value_error("TW206", f"`{name}_index` is {index}", "at least -2")
        if index == TextFileIndex.LINE_NUMBER and dtype is not int64:
            raise value_error("TW102", f"`{name}_dtype` of line numbers is {dtype}", "int64")
        if index == TextFileIndex.WHOLE_LINE and not (dtype is string or dtype.is_integer):
            raise value_error(
                "TW102", f"`{name}_dtype` of whole lines is {dtype}", "string or an integer"
            )


def _path_of(filename: TensorLike) -> Any:
    """Return a path, given as text, an asset, a tensor, or a constant of a graph."""
    filename = getattr(filename, "asset_path", filename)
    if type(filename) is Symbol:
        content = constant_of(filename.node)
        if content is None:
            raise value_error("TW207", f"the file of a table is {filename!r}", "a constant")
        filename = np.asarray(content.array).item()
    found = filename.numpy() if hasattr(filename, "numpy") else filename
    return found.decode() if isinstance(found, bytes) else found
