"""Lookup tables in GraphDefs: which nodes use one, and how these are written."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from talweg.api.lookup.tables import StaticHashTable, Table
from talweg.core.dtypes import DType
from talweg.core.shapes import as_shape
from talweg.interop.graph_def.writing import Literal, WrittenNode
from talweg.prims.strings.mapping import Rule
from talweg.trace.host_calls import NumpyCall

# What a method of a mutable table does, as an operation on (table, *operands).
METHODS = {
    "_read": "LookupTableFindV2",
    "_write": "LookupTableInsertV2",
    "_drop": "LookupTableRemoveV2",
    "_count_keys": "LookupTableSizeV2",
    "contents": "LookupTableExportV2",
}


def table_of(value: object) -> Table | None:
    """Return the table that a parameter of a node leads to, or None."""
    if isinstance(value, Rule):
        return value.table
    if isinstance(value, NumpyCall):
        owner = getattr(value.function, "__self__", None)
        return owner if isinstance(owner, Table) else None
    return None


def operation_of(call: Any) -> str | None:
    """Return the type of operation that a call of a table's method is, or None."""
    if table_of(call) is None:
        return None
    return METHODS.get(call.function.__name__)


def default_of(table: Table) -> np.ndarray:
    """Return a table's value for absent keys, as an array."""
    return np.asarray(table.default_value._array)


def look_up(writer: Any, rule: Rule, x: object) -> WrittenNode:
    """Return the finding of the elements of `x` in a static table."""
    default = Literal(default_of(rule.table))
    return WrittenNode("LookupTableFindV2", (writer.handle(rule.table), x, default), {})


def creation(table: Table) -> tuple[str, dict[str, Any]]:
    """Describe the creation of a table: (the operation that makes it, its attributes).

    Static tables of equal contents may share their name; each mutable one has its own.
    """
    kinds: dict[str, DType] = {"key_dtype": table.key_dtype, "value_dtype": table.value_dtype}
    if isinstance(table, StaticHashTable):
        keys, values = table.contents()
        text = repr((keys.tolist(), values.tolist(), kinds)).encode()
        name = hashlib.blake2b(text, digest_size=12).hexdigest()
        return "HashTableV2", {**kinds, "shared_name": f"hash_table_{name}"}
    shape = default_of(table).shape
    named = {**kinds, "shared_name": f"{table.name}_{table.serial}"}
    if shape:
        return "MutableHashTableOfTensorsV2", {**named, "value_shape": as_shape(shape)}
    return "MutableHashTableV2", named
