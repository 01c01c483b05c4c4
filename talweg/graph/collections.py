"""Collections of a graph: lists under names, as `tf.add_to_collection` fills them.

What a graph holds must not hold the graph: tensors and operations are kept as nodes, and made
handles again when somebody asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, MutableSequence
from typing import TYPE_CHECKING, Any

from talweg.core.errors import value_error
from talweg.graph import structure
from talweg.graph.node import Node
from talweg.graph.operation import Operation
from talweg.graph.symbol import Symbol

if TYPE_CHECKING:
    from talweg.core.spec import TypeSpec
    from talweg.graph.function_graph import FunctionGraph
    from talweg.graph.graph import Graph


class CollectionItem:
    """An entry of a collection, stored as nodes: a tensor, an operation, or a nest of these."""

    __slots__ = ("nodes", "value")

    def __init__(self, value: Any):
        self.nodes: list[Node] = []
        self.value = structure.map_leaves(self._keep, value)

    def _keep(self, leaf: object) -> Any:
        if type(leaf) in (Symbol, Operation):
            return CollectionPosition(type(leaf), [self._hold(leaf.node)])
        if hasattr(leaf, "_flat_components"):
            return CollectionPosition(
                type(leaf), [self._keep(part) for part in leaf._flat_components()]
            )
        return leaf

    def _hold(self, node: Node) -> Node:
        node.holders += 1
        self.nodes.append(node)
        return node

    def give(self, graph: FunctionGraph) -> Any:
        """Rebuild the value that was added to the collection."""
        return structure.map_leaves(lambda leaf: _convert_given(leaf, graph), self.value)

    def __del__(self) -> None:
        for node in self.nodes:
            node.table.release(node)


class CollectionPosition:
    """A placeholder for one tensor or operation of a stored nest: its class and its nodes."""

    __slots__ = ("kind", "parts")

    def __init__(self, kind: type, parts: list):
        self.kind, self.parts = kind, parts


def _convert_given(leaf: TypeSpec, graph: Graph) -> Any:
    if type(leaf) is not CollectionPosition:
        return leaf
    if leaf.kind in (Symbol, Operation):
        node = leaf.parts[0]
        graph = node.table.owner() or graph  # one of a branch or loop that shares its collections
        return graph.symbol(node) if leaf.kind is Symbol else graph.operation_of(node)
    return leaf.kind(*[_convert_given(part, graph) for part in leaf.parts])


def detach_graph(value: object) -> Any:
    """Return a form of `value` that holds no reference to its graph."""
    leaves = structure.flatten(value, composites=True)
    return (
        CollectionItem(value)
        if any(type(leaf) in (Symbol, Operation) for leaf in leaves)
        else value
    )


class CollectionRef(MutableSequence):
    """A live view of a collection (`tf.get_collection_ref`): changes to it change the graph."""

    def __init__(self, graph: Any, items: list):
        self._graph, self._items = graph, items

    def _give(self, item: object) -> Any:
        return item.give(self._graph) if type(item) is CollectionItem else item

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._give(item) for item in self._items[index]]
        return self._give(self._items[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            self._items[index] = [detach_graph(item) for item in value]
        else:
            self._items[index] = detach_graph(value)

    def __delitem__(self, index: Any) -> None:
        del self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def insert(self, index: int, value: object) -> None:
        """Insert `value` before the item at `index`."""
        self._items.insert(index, detach_graph(value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (list, CollectionRef)) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


class Collections:
    """The part of `Graph` that stores collections."""

    collections: dict[Any, list]

    def add_to_collection(self, name: str, value: object) -> None:
        """Put `value` at the end of the collection `name`; RuntimeError if finalized."""
        self.check_mutable()  # type: ignore[attr-defined]
        self.collections.setdefault(name, []).append(detach_graph(value))

    def add_to_collections(self, names: Any, value: object) -> None:
        """Put `value` into each of the collections, once."""
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: str) -> CollectionRef:
        """Return a live view of the collection `name`, created if it is absent."""
        return CollectionRef(self, self.collections.setdefault(name, []))

    def get_collection(self, name: str, scope: str | None = None) -> list:
        """Return a copy of the collection `name` as a list.

        scope: a regular expression; only items are given whose name begins with it.
        """
        items = list(CollectionRef(self, self.collections.get(name, [])))
        if scope is None:
            return items
        pattern = re.compile(scope)
        return [item for item in items if hasattr(item, "name") and pattern.match(item.name)]

    def get_all_collection_keys(self) -> list:
        """Return the names of all collections, those with text as names."""
        return [name for name in self.collections if isinstance(name, str)]

    @property
    def all_collections(self) -> Iterable:
        """The names of all collections."""
        return self.collections.keys()

    def clear_collection(self, name: str) -> None:
        """Empty the collection `name`; RuntimeError if finalized."""
        self.check_mutable()  # type: ignore[attr-defined]
        self.collections.pop(name, None)

    def add_variable(self, variable: Any, collections: Any) -> None:
        """Add a new variable to the collections that its creator named."""
        if isinstance(collections, str):
            raise value_error(
                "TW401", f"collections={collections!r}", "a list of names of collections"
            )
        names = list([GLOBAL_VARIABLES] if collections is None else collections)
        if variable.trainable and TRAINABLE_VARIABLES not in names:
            names.append(TRAINABLE_VARIABLES)
        for name in names:
            self.collections.setdefault(name, []).append(variable)


GLOBAL_VARIABLES, TRAINABLE_VARIABLES = "variables", "trainable_variables"
