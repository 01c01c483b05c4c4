"""tf.__internal__.nest: structures down to where a shallower one ends, and paths in structures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from talweg.api.export import export
from talweg.core.errors import type_error, value_error
from talweg.graph import structure as nests


def _is_nested(value: object, expand_composites: bool) -> bool:
    return nests.is_nested(value, expand_composites)


def _key_parts(value: object) -> list[tuple[Any, Any]]:
    """Return the parts of a container with their keys, in the order of flattening."""
    if isinstance(value, Mapping):
        return [(key, value[key]) for key in nests.sort_keys(value)]
    names = getattr(value, "_fields", None) or [
        field.name for field in getattr(value, "__attrs_attrs__", ())
    ]
    return list(zip(names or range(len(nests.children(value))), nests.children(value)))


def assert_shallow_structure(
    shallow_tree: object, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise TypeError or ValueError unless `shallow_tree` is `input_tree` as far as it goes.

    check_types: whether sequences must be of one type, too.
    """
    if not _is_nested(shallow_tree, expand_composites):
        return
    if not _is_nested(input_tree, expand_composites):
        raise type_error(
            "TW208",
            "If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(input_tree)}.",
        )
    mappings = isinstance(shallow_tree, Mapping) and isinstance(input_tree, Mapping)
    if check_types and not mappings and not _alike(shallow_tree, input_tree):
        raise type_error(
            "TW208",
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}.",
        )
    own, other = _key_parts(shallow_tree), _key_parts(input_tree)
    if len(own) != len(other):
        raise value_error(
            "TW208",
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(other)}, while shallow structure has length {len(own)}.",
        )
    if mappings:
        lacking = [key for key, _ in own if key not in input_tree]
        if lacking:
            raise value_error(
                "TW208",
                "The shallow_tree's keys are not a subset of the input_tree's keys. The "
                "shallow_tree has the following keys that are not in the input_tree: "
                f"{lacking}.",
            )
    for (_, part), (_, deep) in zip(own, other):
        assert_shallow_structure(part, deep, check_types, expand_composites)


def _alike(first: Any, second: Any) -> bool:
    if nests.is_namedtuple(first) and nests.is_namedtuple(second):
        return type(first).__name__ == type(second).__name__
    if isinstance(first, type(second)) or isinstance(second, type(first)):
        return True
    return nests.kind_of(first) == nests.kind_of(second) == nests.COMPOSITE


def _walk_up_to(
    shallow_tree: object, input_tree: Any, expand_composites: bool, path: tuple = ()
) -> Iterator[tuple[tuple, Any]]:
    if not _is_nested(shallow_tree, expand_composites):
        yield path, input_tree
        return
    deep = dict(_key_parts(input_tree)) if isinstance(input_tree, Mapping) else None
    parts = nests.children(input_tree) if deep is None else None
    for place, (key, part) in enumerate(_key_parts(shallow_tree)):
        below = deep[key] if deep is not None else parts[place]  # type: ignore[index]
        yield from _walk_up_to(part, below, expand_composites, (*path, key))


@export("__internal__.nest.flatten_up_to")
def flatten_up_to(
    shallow_tree: object, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list:
    """Return the parts of `input_tree` that stand where `shallow_tree` has leaves.

    TypeError or ValueError where the two differ, as `assert_shallow_structure` says.

    >>> import talweg as tf
    >>> tf.__internal__.nest.flatten_up_to([0, {"a": 0}], [[1, 2], {"a": (3, 4)}])
    [[1, 2], (3, 4)]
    """
    assert_shallow_structure(shallow_tree, input_tree, check_types, expand_composites)
    return [part for _, part in _walk_up_to(shallow_tree, input_tree, expand_composites)]


def flatten_with_tuple_paths_up_to(
    shallow_tree: object, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[tuple]:
    """Flatten as `flatten_up_to`, each part with the keys that lead to it."""
    assert_shallow_structure(shallow_tree, input_tree, check_types, expand_composites)
    return list(_walk_up_to(shallow_tree, input_tree, expand_composites))


def flatten_with_tuple_paths(structure: object, expand_composites: bool = False) -> list[tuple]:
    """Return the leaves, each with the keys that lead to it."""
    return list(_walk_up_to(structure, structure, expand_composites))


def flatten_with_joined_string_paths(
    structure: object, separator: str = "/", expand_composites: bool = False
) -> list[tuple]:
    """Return the leaves, each with the keys that lead to it as one text."""
    found = flatten_with_tuple_paths(structure, expand_composites)
    return [(separator.join(map(str, path)), leaf) for path, leaf in found]


@export("__internal__.nest.yield_flat_paths")
def yield_flat_paths(nest: Any, expand_composites: bool = False) -> Iterator[tuple]:
    """Return the keys that lead to each leaf.

    >>> import talweg as tf
    >>> list(tf.__internal__.nest.yield_flat_paths({"b": [1, 2], "a": 3}))
    [('a',), ('b', 0), ('b', 1)]
    """
    return (path for path, _ in _walk_up_to(nest, nest, expand_composites))


@export("__internal__.nest.map_structure_up_to")
def map_structure_up_to(
    shallow_tree: object, func: Callable[..., Any], *inputs: object, **kwargs: object
) -> Any:
    """Map `func` over the parts of the inputs that stand at the leaves of `shallow_tree`.

    kwargs: check_types and expand_composites.  ValueError without inputs.

    >>> import talweg as tf
    >>> tf.__internal__.nest.map_structure_up_to([0, 0], len, [[1, 2], (3,)])
    [2, 1]
    """
    return map_structure_with_tuple_paths_up_to(
        shallow_tree, lambda path, *parts: func(*parts), *inputs, **kwargs
    )


def map_structure_with_tuple_paths_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """Map as `map_structure_up_to`; `func` gets the keys that lead to the parts first."""
    check_types = kwargs.pop("check_types", True)
    expand_composites = kwargs.pop("expand_composites", False)
    if not inputs:
        raise value_error("TW208", "Cannot map over no sequences")
    for tree in inputs:
        assert_shallow_structure(shallow_tree, tree, check_types, expand_composites)
    rows = [list(_walk_up_to(shallow_tree, tree, expand_composites)) for tree in inputs]
    found = [func(row[0][0], *[part for _, part in row], **kwargs) for row in zip(*rows)]
    return nests.pack(shallow_tree, found, expand_composites)


def map_structure_with_tuple_paths(
    func: Callable[..., Any], *structure: object, **kwargs: object
) -> Any:
    """Map as `tf.nest.map_structure`; `func` gets the keys that lead to the leaves first."""
    return map_structure_with_tuple_paths_up_to(structure[0], func, *structure, **kwargs)


def map_structure_with_paths(func: Callable[..., Any], *structure: object, **kwargs: object) -> Any:
    """Map as `map_structure_with_tuple_paths`, the keys joined to one text."""

    def with_text(path: tuple, *leaves: object, **options: object) -> Any:
        return func("/".join(map(str, path)), *leaves, **options)

    return map_structure_with_tuple_paths(with_text, *structure, **kwargs)


@export("__internal__.nest.get_traverse_shallow_structure")
def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: object, expand_composites: bool = False
) -> Any:
    """Return a structure of bools that ends where `traverse_fn` does not want to go deeper.

    traverse_fn: gives a bool for a part, or a structure of bools for its parts.  TypeError for
    anything else.

    >>> import talweg as tf
    >>> tf.__internal__.nest.get_traverse_shallow_structure(
    ...     lambda part: not isinstance(part, dict), [1, {"a": 2}]
    ... )
    [False, False]
    """
    wanted = traverse_fn(structure)
    if not _is_nested(structure, expand_composites):
        if not isinstance(wanted, bool):
            raise type_error("TW208", f"traverse_fn returned {wanted!r}", "a bool for a leaf")
        return wanted and False
    if isinstance(wanted, bool):
        if not wanted:
            return False
        parts = [
            get_traverse_shallow_structure(traverse_fn, part, expand_composites)
            for part in nests.children(structure)
        ]
        return nests.rebuild(structure, parts)
    assert_shallow_structure(wanted, structure, expand_composites=expand_composites)
    parts = []
    for below, part in zip(nests.children(wanted), nests.children(structure)):
        if not isinstance(below, bool):
            raise type_error("TW208", f"traverse_fn returned {wanted!r}", "bools for the parts")
        deeper = get_traverse_shallow_structure(traverse_fn, part, expand_composites)
        parts.append(deeper if below else False)
    return nests.rebuild(structure, parts)


@export("__internal__.nest.list_to_tuple")
def list_to_tuple(structure: object) -> Any:
    """Return a structure with tuples in place of its lists.

    >>> import talweg as tf
    >>> tf.__internal__.nest.list_to_tuple([1, {"a": [2]}])
    (1, {'a': (2,)})
    """
    if not nests.is_nested(structure):
        return structure
    parts = [list_to_tuple(part) for part in nests.children(structure)]
    return tuple(parts) if isinstance(structure, list) else nests.rebuild(structure, parts)


@export("__internal__.nest.is_mapping")
def is_mapping(obj: object) -> bool:
    """Return whether an object is a mapping."""
    return isinstance(obj, Mapping)


@export("__internal__.nest.is_attrs")
def is_attrs(obj: object) -> bool:
    """Return whether an object is of a class that `attr.s` made."""
    return nests.kind_of(obj) == nests.ATTRS


@export("__internal__.nest.sequence_like")
def sequence_like(instance: Any, args: Iterable) -> Any:
    """Return a container like `instance` of other parts, which are in the order of flattening."""
    return nests.rebuild(instance, list(args))


def yield_value(iterable: Any) -> Iterator:
    """Return the parts of a container."""
    return iter(nests.children(iterable))


def yield_sorted_items(iterable: Any) -> Iterator[tuple]:
    """Return the parts of a container with their keys."""
    return iter(_key_parts(iterable))


def is_namedtuple(instance: Any, strict: bool = False) -> bool:
    """Return whether an object is a namedtuple."""
    return nests.is_namedtuple(instance)


def is_nested_or_composite(seq: Any) -> bool:
    """Return whether an object is a container or consists of tensors."""
    return nests.is_nested(seq, True)


def flatten_dict_items(dictionary: dict) -> dict:
    """Return a dictionary whose keys are leaves: nested keys go with the parts of nested values."""
    found: dict = {}
    for key, value in dictionary.items():
        if not nests.is_nested(key):
            found[key] = value
            continue
        keys, values = nests.flatten(key), nests.flatten(value)
        if len(keys) != len(values):
            raise value_error("TW208", f"{len(keys)} keys {key!r} have {len(values)} values")
        found.update(zip(keys, values))
    return found
