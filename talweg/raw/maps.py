"""The maps from tensors to tensors among tf.raw_ops; `table.txt` calls them `maps.*`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.joining import stack
from talweg.core.dtypes import int32
from talweg.core.errors import invalid
from talweg.raw.operands import handle_of, numbers_of, of_array, thing_of

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike
    from talweg.core.value import Tensor


class MapValue:
    """A map from tensors to tensors; a value, which is copied to be changed."""

    def __init__(self, entries: dict):
        self.entries = entries


def _entries(handle: Tensor) -> dict:
    return dict(thing_of(handle, MapValue, "TensorMap").entries)


def _key(key: Any) -> tuple:
    array = numbers_of(key)
    return array.dtype.str, array.shape, array.tobytes() if array.dtype != object else str(array)


def empty_map() -> Any:
    """Return a map without entries."""
    return handle_of(MapValue({}))


def insert(input_handle: Any, key: Any, value: Tensor) -> Any:
    """Return the map with another entry."""
    return handle_of(MapValue({**_entries(input_handle), _key(key): (key, value)}))


def erase(input_handle: Any, key: Any, value_dtype: DTypeLike) -> Any:
    """Return the map without an entry; InvalidArgumentError if there is none."""
    entries = _entries(input_handle)
    if _key(key) not in entries:
        raise invalid("TW104", "Trying to erase non-existent item.")
    del entries[_key(key)]
    return handle_of(MapValue(entries))


def look_up(input_handle: Any, key: Any, value_dtype: DTypeLike) -> Any:
    """Return the value of a key; InvalidArgumentError if there is none."""
    entries = _entries(input_handle)
    if _key(key) not in entries:
        raise invalid("TW104", "Trying to lookup non-existent key.")
    return entries[_key(key)][1]


def has_key(input_handle: Any, key: Any) -> Any:
    """Return whether a map has a key."""
    return of_array(np.bool_(_key(key) in _entries(input_handle)))


def map_size(input_handle: Any) -> Any:
    """Return the number of entries."""
    return of_array(len(_entries(input_handle)), int32)


def keys(input_handle: Any, key_dtype: DTypeLike) -> Any:
    """Return all keys, stacked."""
    return stack([key for key, _ in _entries(input_handle).values()])
