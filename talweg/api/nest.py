"""tf.nest: functions over nested structures; what a structure is: `graph/structure.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.core.errors import type_error, value_error
from talweg.core.spec import TypeSpec
from talweg.graph import structure as nests
from talweg.pipeline.element import composite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import PositionalFunction, TensorLike


@export("nest.is_nested")
def is_nested(seq: TensorLike) -> bool:
    """Return whether `seq` is a container: a list, tuple, namedtuple, mapping, its views, an attrs
    class.

    Strings, arrays, tensors and sets are leaves.

    >>> import talweg as tf
    >>> tf.nest.is_nested([1]), tf.nest.is_nested("ab")
    (True, False)
    """
    return nests.is_nested(seq)


@export("nest.flatten")
def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Return the leaves of `structure` as a list; mappings in the order of their sorted keys.

    A leaf gives a list of itself.  expand_composites: take sparse and ragged tensors, and their
    specs, apart too.
    TypeError for mappings whose keys cannot be sorted.

    >>> import talweg as tf
    >>> tf.nest.flatten({"b": 1, "a": [2, (3, None)]})
    [2, 3, None, 1]
    """
    leaves = nests.flatten(structure, expand_composites)
    if not expand_composites:
        return leaves
    return [part for leaf in leaves for part in (leaf.part_specs() if _has_parts(leaf) else [leaf])]


def _has_parts(leaf: object) -> bool:
    """Return whether a leaf is the spec of a composite of tensors."""
    return isinstance(leaf, TypeSpec) and hasattr(leaf, "part_specs")


def _compose(structure: object, leaves: list) -> list:
    """Compose the leaves that belong to a composite's spec in `structure` to its value."""
    places = nests.flatten(structure, True)
    counts = [len(place.part_specs()) if _has_parts(place) else 1 for place in places]
    if not any(map(_has_parts, places)) or sum(counts) != len(leaves):
        return leaves
    remaining = iter(leaves)
    found = []
    for place, count in zip(places, counts):
        parts = [next(remaining) for _ in range(count)]
        found.append(composite(place, parts) if _has_parts(place) else parts[0])
    return found


@export("nest.pack_sequence_as")
def pack_sequence_as(
    structure: object, flat_sequence: Sequence[Any], expand_composites: bool = False
) -> Any:
    """Return `structure` with its leaves replaced by those of `flat_sequence`: the inverse of
    `flatten`.

    ValueError where the numbers of leaves differ, TypeError if flat_sequence is no sequence.

    >>> import talweg as tf
    >>> tf.nest.pack_sequence_as({"b": 1, "a": [2, 3]}, [10, 20, 30])
    {'b': 30, 'a': [10, 20]}
    """
    if not nests.is_nested(flat_sequence):
        raise type_error(
            "TW208",
            f"pack_sequence_as: flat_sequence={flat_sequence!r} has type "
            f"{type(flat_sequence).__name__}",
            "a list or tuple of leaves",
        )
    leaves = list(flat_sequence)
    if expand_composites:
        leaves = _compose(structure, leaves)
    if not nests.is_nested(structure, expand_composites) and len(leaves) != 1:
        raise value_error(
            "TW208",
            f"pack_sequence_as: structure={structure!r} is a leaf, but flat_sequence has "
            f"{len(leaves)} items",
            "one item",
        )
    return nests.pack(structure, leaves, expand_composites)


@export("nest.map_structure")
def map_structure(func: PositionalFunction, *structure: Any, **kwargs: Any) -> Any:
    """Return `func` of the corresponding leaves of each structure, in a structure like the first.

    check_types=True: containers must have the same types.  expand_composites=False: take sparse and
    ragged tensors apart.  TypeError if `func` is not callable or types differ, ValueError where
    structures differ or none is given.

    >>> import talweg as tf
    >>> tf.nest.map_structure(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    if not callable(func):
        raise type_error("TW104", f"func must be callable, got: {func!r}")
    if not structure:
        raise value_error("TW208", "map_structure: at least one structure must be given")
    check_types = kwargs.pop("check_types", True)
    composites = kwargs.pop("expand_composites", False)
    if kwargs:
        raise value_error(
            "TW104",
            f"map_structure: {next(iter(kwargs))!r} is not a keyword argument",
            "check_types or expand_composites",
        )
    for other in structure[1:]:
        _assert_same(structure[0], other, check_types, composites)
    columns = zip(*(flatten(one, composites) for one in structure))
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in columns], composites)


@export("nest.assert_same_structure")
def assert_same_structure(
    nest1: object, nest2: object, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise ValueError unless both have the same structure; TypeError where containers differ in
    type.

    Dictionaries of any class with equal keys are the same, so are namedtuples of equal name and
    fields.  check_types=False compares only how leaves are nested.

    >>> import talweg as tf
    >>> tf.nest.assert_same_structure([1, (2, 3)], ["a", ("b", "c")])
    """
    _assert_same(nest1, nest2, bool(check_types), expand_composites)


def _assert_same(first: object, second: object, check_types: bool, composites: bool) -> None:
    """Raise where two structures differ; a spec and what it describes are the same."""
    pairs = (nests.flatten(first), nests.flatten(second)) if composites else ()
    if not any(_has_parts(leaf) for leaves in pairs for leaf in leaves):
        return nests.assert_same(first, second, check_types, composites)
    nests.assert_same(first, second, check_types)
    for one, other in zip(*pairs):
        one, other = [_parts_of(leaf) for leaf in (one, other)]
        nests.assert_same(one, other, check_types)


def _parts_of(leaf: Any) -> Any:
    """Return the tensors, or their specs, that a leaf consists of, by the kind of its spec."""
    if _has_parts(leaf):
        return {type(leaf).__name__: list(leaf.part_specs())}
    if nests.is_nested(leaf, composites=True):
        return {type(leaf._type_spec).__name__: list(nests.children(leaf))}
    return leaf
