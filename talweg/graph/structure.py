"""Nests (TensorFlow's structures, JAX's pytrees), and the functions over them.

Containers are sequences (lists, tuples, namedtuples, deques; not strings), mappings (by sorted
key), views of mappings, attrs classes, and classes with `__tf_flatten__` and `__tf_unflatten__`.
Anything else is a leaf, `None` too.  A *composite* (a sparse or ragged tensor) is a leaf, unless
`composites` asks for its tensors: it then counts as a container of `_flat_components()`.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Callable, Iterator, Mapping, MappingView, Sequence
from typing import Any

from talweg.core.errors import type_error, value_error

LEAF, SEQUENCE, NAMEDTUPLE, MAPPING, VIEW, ATTRS, CUSTOM, COMPOSITE = range(8)
_TEXT = (str, bytes, bytearray, memoryview)
_KINDS: dict[type, int] = {list: SEQUENCE, tuple: SEQUENCE, dict: MAPPING}


def kind_of(value: object) -> int:
    """Classify `value`: the kind of container that it is, or LEAF or COMPOSITE."""
    cls = type(value)
    kind = _KINDS.get(cls)
    if kind is None:
        kind = _KINDS[cls] = _classify(cls)
    return kind


def _classify(cls: type) -> int:
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return NAMEDTUPLE
    if issubclass(cls, _TEXT):
        return LEAF
    if hasattr(cls, "_flat_components"):
        return COMPOSITE
    if hasattr(cls, "__tf_flatten__") and hasattr(cls, "__tf_unflatten__"):
        return CUSTOM
    if issubclass(cls, Mapping):
        return MAPPING
    if issubclass(cls, MappingView):
        return VIEW
    if issubclass(cls, Sequence):
        return SEQUENCE
    return ATTRS if hasattr(cls, "__attrs_attrs__") else LEAF


def is_nested(value: object, composites: bool = False) -> bool:
    """Return whether `value` is a container of a nest."""
    kind = kind_of(value)
    return kind != LEAF and (kind != COMPOSITE or composites)


def is_namedtuple(value: object) -> bool:
    """Return whether `value` is a namedtuple."""
    return kind_of(value) == NAMEDTUPLE


def children(value: Any) -> list:
    """Return the items of a container in the order of flattening."""
    kind = kind_of(value)
    if kind == MAPPING:
        return [value[key] for key in sort_keys(value)]
    if kind == ATTRS:
        return [getattr(value, field.name) for field in value.__attrs_attrs__]
    if kind == CUSTOM:
        return list(value.__tf_flatten__()[1])
    if kind == COMPOSITE:
        return value._flat_components()
    return list(value)


def sort_keys(mapping: Mapping) -> list:
    """Return the keys in order; TypeError where they cannot be compared."""
    try:
        return sorted(mapping)
    except TypeError:
        raise type_error(
            "TW208", f"nest only supports dicts with sortable keys, got {list(mapping)!r}"
        ) from None


def flatten(structure: object, composites: bool = False) -> list:
    """Return all leaves, in order."""
    kind = kind_of(structure)
    if kind == LEAF or (kind == COMPOSITE and not composites):
        return [structure]
    leaves: list = []
    for child in children(structure):
        leaves.extend(flatten(child, composites))
    return leaves


def rebuild(container: Any, items: list) -> Any:
    """Make a container like `container` that holds `items`."""
    kind = kind_of(container)
    if kind == MAPPING:
        return _rebuild_mapping(container, items)
    if kind in (NAMEDTUPLE, ATTRS):
        return type(container)(*items)
    if kind == CUSTOM:
        return type(container).__tf_unflatten__(container.__tf_flatten__()[0], tuple(items))
    if kind == COMPOSITE:
        return container._with_components(items)
    if kind == VIEW or type(container) is range:
        return list(items)
    return type(container)(items)


def _rebuild_mapping(container: Any, items: list) -> Any:
    pairs = dict(zip(sort_keys(container), items))
    return mapping_like(container, [(key, pairs[key]) for key in container])


def mapping_like(container: Any, pairs: list) -> Any:
    """Make a mapping of the type of `container`, with its default, of (key, value) pairs."""
    kind = type(container)
    if kind is dict:
        return dict(pairs)
    try:
        if hasattr(container, "default_factory"):
            return kind(container.default_factory, pairs)
        # a Counter would count pairs, a ChainMap takes mappings
        return kind(dict(pairs) if issubclass(kind, (Counter, ChainMap)) else pairs)
    except TypeError as error:
        raise type_error(
            "TW208",
            f"Cannot make a {type(container).__name__} like {container!r}: {error}",
            "a mapping that can be made from a list of pairs",
        ) from None


def pack(structure: object, leaves: list, composites: bool = False) -> Any:
    """Return the nest `structure` with its leaves replaced; ValueError if their number differs."""
    wanted = len(flatten(structure, composites))
    if wanted != len(leaves):
        raise value_error(
            "TW208",
            f"Could not pack sequence. Structure had {wanted} atoms, but flat_sequence had "
            f"{len(leaves)} items. Structure: {structure!r}, flat_sequence: {leaves!r}.",
        )
    return _pack(structure, iter(leaves), composites)


def _pack(value: object, remaining: Iterator, composites: bool) -> Any:
    if not is_nested(value, composites):
        return next(remaining)
    return rebuild(value, [_pack(child, remaining, composites) for child in children(value)])


def packer(
    structure: object, nested: Callable[[Any], bool] = is_nested
) -> Callable[[Iterator], Any]:
    """Make a function that packs leaves like `structure`, which is analysed once.

    `nested` says what is a container.
    """
    if not nested(structure):
        return next
    parts = [packer(child, nested) for child in children(structure)]
    if type(structure) is tuple:
        return lambda leaves: tuple([part(leaves) for part in parts])
    if type(structure) is dict:
        keys = sort_keys(structure)
        if keys == list(structure):
            return lambda leaves: dict(zip(keys, [part(leaves) for part in parts]))
    return lambda leaves: rebuild(structure, [part(leaves) for part in parts])


def map_leaves(function: Callable[[Any], Any], structure: object, composites: bool = False) -> Any:
    """Apply `function` to each leaf."""
    leaves = [function(leaf) for leaf in flatten(structure, composites)]
    return pack(structure, leaves, composites)


# -- comparison


def assert_same(
    first: object, second: object, check_types: bool = True, composites: bool = False
) -> None:
    """Raise ValueError if two nests differ in shape, TypeError if containers differ in type."""
    difference = _difference(first, second, check_types, composites)
    if difference is None:
        return
    is_type, text = difference
    make = type_error if is_type else value_error
    raise make(
        "TW208",
        f"The two structures don't have the same nested structure: {text}\n"
        f"  first: {_short(first)}\n  second: {_short(second)}",
    )


def _short(value: object) -> str:
    text = repr(value)
    text = text if len(text) <= 200 else text[:200] + "..."
    return f"{text} of type {type(value).__name__}"


def _difference(
    first: object, second: object, check_types: bool, composites: bool
) -> tuple[bool, str] | None:
    """Describe the first difference: (whether it is one of types, in words), or None."""
    nested = is_nested(first, composites), is_nested(second, composites)
    if not any(nested):
        return None
    if not all(nested):
        one, other = (first, second) if nested[0] else (second, first)
        return False, f"{_short(one)} is a container, while {_short(other)} is not"
    if check_types or COMPOSITE in (kind_of(first), kind_of(second)):
        difference = _type_difference(first, second)
        if difference is not None:
            return difference
    parts, others = children(first), children(second)
    if len(parts) != len(others):
        return False, f"{_short(first)} has {len(parts)} elements, {_short(second)} {len(others)}"
    for part, other in zip(parts, others):
        difference = _difference(part, other, check_types, composites)
        if difference is not None:
            return difference
    return None


def _plain_type(value: Any) -> type:
    """Return the class of a value; of a tuple that an object wrapped, that of the tuple."""
    return getattr(type(value), "plain_type", type(value))


def _type_difference(first: Any, second: Any) -> tuple[bool, str] | None:
    one, other = kind_of(first), kind_of(second)
    if one == other == MAPPING:
        if set(first) != set(second):
            return False, f"the keys are {sort_keys(first)} and {sort_keys(second)}"
        return None
    if COMPOSITE in (one, other):
        if type(first) is not type(second):
            return False, f"{type(first).__name__} is not {type(second).__name__}"
        return None
    if one == other == NAMEDTUPLE:
        same = (type(first).__name__, first._fields) == (type(second).__name__, second._fields)
    else:
        lists = isinstance(first, list) and isinstance(second, list)  # of any class
        same = lists or _plain_type(first) is _plain_type(second)
    if same:
        return None
    return True, f"{_short(first)} and {_short(second)} are containers of different types"
