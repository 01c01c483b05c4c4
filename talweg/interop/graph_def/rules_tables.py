"""Rules of lookup tables: a table is made when the graph is, and filled and read when it runs.

One graph has one table of a name; functions of a saved model get theirs as arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.host import numpy_function
from talweg.api.lookup.initializers import TextFileInitializer
from talweg.api.lookup.tables import MutableHashTable
from talweg.core import dispatch
from talweg.core.dtypes import string
from talweg.core.errors import FailedPreconditionError, compose
from talweg.core.tracking import Trackable
from talweg.interop.graph_def.rules_state import outermost
from talweg.interop.graph_def.values import ResourceEdge, base, rule

if TYPE_CHECKING:
    from talweg.interop.graph_def.building import GraphBuilder
    from talweg.interop.graph_def.reading import NodeRecord

MAKERS = (
    "HashTable",
    "HashTableV2",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTableV2",
    "AnonymousHashTable",
    "AnonymousMutableHashTable",
    "AnonymousMutableHashTableOfTensors",
)


class ImportedTable(MutableHashTable):
    """A table of a graph that was read: static ones, too, are filled when the graph runs."""

    def __init__(self, attributes: dict, name: str, static: bool):
        kind = attributes["value_dtype"]
        shape = attributes.get("value_shape")
        dims = () if shape is None else shape.as_tuple()
        with dispatch.eagerly():
            empty = (
                np.full(dims, b"", object) if kind is string else (np.zeros(dims, kind.numpy_dtype))
            )
        super().__init__(attributes["key_dtype"], kind, empty if dims else empty[()], name)
        self.static = static  # filled once

    def take(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Have these contents; FailedPreconditionError for a key of two values in a static one."""
        before = {} if not self.static else dict(self._found)
        if not self.static:
            self._found.clear()
        self._write(keys, values)
        if self.static and len(self._found) < len(before) + len(keys) and not before:
            given = dict.fromkeys(keys.reshape(-1).tolist())
            if len(given) < keys.size:
                text = "HashTable has different value for same key."
                raise FailedPreconditionError(None, None, compose("TW207", text))

    def read_file(self, filename: np.ndarray, options: dict) -> None:
        """Have the contents that a file gives."""
        source = TextFileInitializer(
            np.asarray(filename).item(),
            self.key_dtype,
            options["key_index"],
            self.value_dtype,
            options["value_index"],
            None if options["vocab_size"] < 0 else options["vocab_size"],
            options["delimiter"],
            value_index_offset=options["offset"],
        )
        self._forget_numbering()
        self._found.clear()
        self._found.update(source.pairs())


class Tables(Trackable):
    """The tables of a graph, by name."""

    def __init__(self, known: dict[str, ImportedTable] | None = None) -> None:
        self.known: dict[str, ImportedTable] = {} if known is None else known

    def get(self, item: NodeRecord) -> ImportedTable:
        """Return the table that a node makes."""
        attributes = item.attributes
        name = attributes.get("shared_name") or item.name
        if name not in self.known:
            static = "Mutable" not in item.op
            self.known[name] = ImportedTable(attributes, item.name, static)
        return self.known[name]


@rule(*MAKERS)
def make_table(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return a table."""
    tables = builder.tables
    if tables is None:
        tables = Tables(outermost(base()).extras.setdefault("imported_tables", {}))
    return [ResourceEdge(tables.get(item))]


@rule("LookupTableFind", "LookupTableFindV2")
def find_values(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return the values of keys, with a default."""
    table, keys, default = inputs
    return [table.handle.lookup(keys, default)]


@rule("LookupTableInsert", "LookupTableInsertV2")
def insert_keys(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Insert keys with their values."""
    return inputs[0].handle.insert(inputs[1], inputs[2])


@rule("LookupTableRemoveV2")
def remove_keys(builder: GraphBuilder, item: object, inputs: list) -> Any:
    """Remove keys."""
    return inputs[0].handle.remove(inputs[1])


@rule("LookupTableImport", "LookupTableImportV2", "InitializeTable", "InitializeTableV2")
def fill_table(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Fill a table with its contents."""
    return numpy_function(inputs[0].handle.take, list(inputs[1:]), [])


@rule("InitializeTableFromTextFile", "InitializeTableFromTextFileV2")
def fill_from_file(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Fill a table with the contents that a file gives."""
    table, options = inputs[0].handle, dict(item.attributes)
    return numpy_function(lambda name: table.read_file(name, options), [inputs[1]], [])


@rule("LookupTableSize", "LookupTableSizeV2")
def count_keys(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return the number of keys."""
    return [inputs[0].handle.size()]


@rule("LookupTableExport", "LookupTableExportV2")
def export_table(builder: GraphBuilder, item: object, inputs: list) -> list:
    """Export all keys and values."""
    return list(inputs[0].handle.export())
