"""`tensorflow.python.util.object_identity`: sets and dictionaries of objects by identity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, MutableSet
from typing import Any

from talweg.core.value import Reference

__all__ = ["Reference"]


class ObjectIdentityDictionary(MutableMapping):
    """A dictionary whose keys are told apart by identity."""

    def __init__(self, *args: object, **kwargs: object):
        self._found: dict[int, tuple[Any, Any]] = {}
        self.update(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return self._found[id(key)][1]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._found[id(key)] = key, value

    def __delitem__(self, key: Any) -> None:
        del self._found[id(key)]

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator:
        return iter([key for key, _ in self._found.values()])

    def __contains__(self, key: Any) -> bool:
        return id(key) in self._found


class ObjectIdentitySet(MutableSet):
    """A set whose elements are told apart by identity."""

    def __init__(self, *args: Iterable):
        self._found: dict[int, Any] = {id(x): x for values in args for x in values}

    def add(self, value: object) -> None:
        """Have an element."""
        self._found[id(value)] = value

    def discard(self, value: object) -> None:
        """Do not have an element."""
        self._found.pop(id(value), None)

    def update(self, items: Iterable) -> None:
        """Have some elements."""
        for item in items:
            self.add(item)

    def clear(self) -> None:
        """Have no elements."""
        self._found.clear()

    def __contains__(self, value: object) -> bool:
        return id(value) in self._found

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator:
        return iter(list(self._found.values()))


ObjectIdentityWeakKeyDictionary = ObjectIdentityDictionary
ObjectIdentityWeakSet = ObjectIdentitySet
