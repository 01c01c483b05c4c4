"""Nests: lists, tuples, namedtuples, dicts (by sorted key), attrs and dataclass-like leaves.

A leaf is anything that is not one of these containers.  `None` is a leaf, as in `tf.nest`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from talweg.core.errors import type_error, value_error


def is_nested(value: Any) -> bool:
    """Whether `value` is a container of a nest."""
    return isinstance(value, (list, tuple, Mapping)) and not isinstance(value, (str, bytes))


def is_namedtuple(value: Any) -> bool:
    """Whether `value` is a namedtuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def children(value: Any) -> list:
    """What a container holds, in the order of flattening."""
    if isinstance(value, Mapping):
        return [value[key] for key in sorted_keys(value)]
    return list(value)


def sorted_keys(mapping: Mapping) -> list:
    """The keys in order; TypeError where they cannot be compared."""
    try:
        return sorted(mapping)
    except TypeError:
        raise type_error("TW208", "nest only supports dicts with sortable keys.") from None


def flatten(structure: Any) -> list:
    """All leaves, in order."""
    if not is_nested(structure):
        return [structure]
    leaves: list = []
    for child in children(structure):
        leaves.extend(flatten(child))
    return leaves


def rebuild(container: Any, items: list) -> Any:
    """A container like `container` that holds `items`."""
    if isinstance(container, Mapping):
        pairs = dict(zip(sorted_keys(container), items))
        ordered = [(key, pairs[key]) for key in container]
        if hasattr(container, "default_factory"):
            return type(container)(container.default_factory, ordered)  # type: ignore[attr-defined]
        return type(container)(ordered)  # type: ignore[call-arg]
    if is_namedtuple(container):
        return type(container)(*items)
    return type(container)(items)


def pack(structure: Any, leaves: list) -> Any:
    """The nest `structure` with its leaves replaced; ValueError if their number differs."""
    wanted = len(flatten(structure))
    if wanted != len(leaves):
        raise value_error(
            "TW208", f"Structure had {wanted} atoms, but flat_sequence had {len(leaves)} items."
        )
    remaining = iter(leaves)

    def build(value: Any) -> Any:
        if not is_nested(value):
            return next(remaining)
        return rebuild(value, [build(child) for child in children(value)])

    return build(structure)


def map_leaves(function: Callable[[Any], Any], structure: Any) -> Any:
    """`function` applied to each leaf."""
    return pack(structure, [function(leaf) for leaf in flatten(structure)])
