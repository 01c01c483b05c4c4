"""Names of operations: labels on nodes, given when asked for.

An explicit name keeps its node in the graph.  A node without one gets its default name when
somebody looks: it, and the nodes made before it, are then numbered in the order in which they were
made, as TensorFlow does.  Asking for an equal operation under a second name gives the one node both
names.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from talweg.core.errors import type_error, value_error
from talweg.graph.node import Node, NodeTable

NAMED_AT_ONCE = 100_000  # nodes in front of a node that are named with it
_OPERATION = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_SCOPE = re.compile(r"[A-Za-z0-9_.\\/>-]*")
HIDDEN = frozenset(("item", "size_value"))  # parts of other operations


class Names:
    """The part of a graph that knows names."""

    table: NodeTable

    def start_names(self) -> None:
        """Begin without names."""
        self._named: dict[str, Node] = {}  # explicit names; they hold their nodes
        self._seen: Any = weakref.WeakValueDictionary()  # names given because somebody looked
        self._labels: Any = weakref.WeakKeyDictionary()  # node -> its names, first one first
        self._numbered: Any = weakref.WeakSet()  # nodes with a default name
        self._used: dict[str, int] = {}  # name in lower case -> next number
        self._scopes: Any = weakref.WeakKeyDictionary()  # node -> scope it was made in
        self.scope = ""  # the name scopes entered, each with a slash behind it

    def forget_names(self) -> None:
        """Let go of the named nodes."""
        self._named.clear()

    # -- names and scopes as such

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` inside the present scope, with a number behind it if it is taken."""
        return self._unique(f"{self.scope}{name}", mark_as_used)

    def _unique(self, name: str, mark_as_used: bool = True) -> str:
        key = name.lower()
        number = self._used.get(key, 0)
        if mark_as_used:
            self._used[key] = number + 1
        if not number:
            return name
        while f"{key}_{number}" in self._used:
            number += 1
        if mark_as_used:
            self._used[f"{key}_{number}"] = 1
        return f"{name}_{number}"

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Put `name` and a slash before the names of what is made inside; gives the whole prefix.

        A name in use gets a number; one that ends in a slash is entered again as it is; None or ""
        leaves all scopes.  TypeError for what is no string, ValueError for names with other
        characters than letters, digits and ``_.\\/>-``.
        """
        before = self.scope
        self.scope = self.inner_scope(name)
        try:
            yield self.scope
        finally:
            self.scope = before

    def inner_scope(self, name: str | None) -> str:
        """The prefix that entering the scope `name` gives, now marked as used."""
        if name is not None and not isinstance(name, str):
            raise type_error("TW104", f"name scope {name!r} is of type {type(name)}", "a string")
        if not name:
            return ""
        if not (_SCOPE if self.scope else _OPERATION).fullmatch(name):
            raise value_error("TW501", f"'{name}' is not a valid scope name")
        return name if name.endswith("/") else f"{self.unique_name(name)}/"

    def get_name_scope(self) -> str:
        """The present scope, without the slash at its end."""
        return self.scope[:-1]

    def note_scope(self, node: Node) -> None:
        """Remember that `node` was made in the present scope; the first one counts."""
        self._scopes.setdefault(node, self.scope)

    # -- names of nodes

    def label(self, node: Node, name: str) -> str:
        """Give `node` the explicit name `name` (numbered if another node has it)."""
        full = name[:-1] if name.endswith("/") else f"{self.scope}{name}"
        if not _OPERATION.fullmatch(full):
            raise value_error(
                "TW501",
                f"'{full}' is not a valid node name",
                "a letter, digit or dot, then these or _ / \\ > -",
            )
        names = self._labels.setdefault(node, [])
        for present in names:
            if present == full or present.rpartition("_")[0] == full:
                return present
        full = self._unique(full)
        if node in self._numbered:  # an explicit name goes before one that was made up
            self._numbered.discard(node)
            names.insert(0, full)
        else:
            names.append(full)
        self._named[full] = node
        node.holders += 1
        return full

    def name_exactly(self, node: Node, full: str) -> None:
        """Give `node` a name that `unique_name` has found; it goes before others."""
        self._labels.setdefault(node, []).insert(0, full)
        self._named[full] = node
        node.holders += 1

    def has_name(self, full: str) -> bool:
        """Whether an operation has exactly this name."""
        return full in self._named or full in self._seen

    def add_name(self, node: Node, full: str) -> None:
        """Give `node` exactly this name, which `has_name` does not know; it goes behind others."""
        names = self._labels.setdefault(node, [])
        if node in self._numbered:
            self._numbered.discard(node)
            names.insert(0, full)
        else:
            names.append(full)
        self._used.setdefault(full.lower(), 1)
        self._named[full] = node
        node.holders += 1

    def operation_name(self, node: Node) -> str:
        """The (first) name of a node, made up now if it has none."""
        if node.prim.name == "item":
            node = node.inputs[0]
        names = self._labels.get(node)
        if not names:
            for earlier in self._unnamed_before(node):
                self._give_default(earlier)
            names = self._labels.get(node) or self._give_default(node)
        return names[0]

    def _give_default(self, node: Node) -> list[str]:
        scope = self._scopes.get(node, "")
        names = self._labels.setdefault(node, [])
        names.append(self._unique(scope + default_name(node)))
        self._seen[names[0]] = node
        self._numbered.add(node)
        return names

    def _unnamed_before(self, node: Node) -> list[Node]:
        """Nodes without a name that were made before `node`, and it; the oldest first."""
        found: list[Node] = []
        inner: set[Node] = set()  # what only waits: the waiting node is the operation
        begun = False
        for other in reversed(self.table.nodes.values()):
            begun = begun or other is node
            if not begun:
                continue
            if other in self._numbered or len(found) > NAMED_AT_ONCE:
                break
            if other.prim.name == "after":
                inner.add(other.inputs[0])
            if other not in inner and other not in self._labels and is_operation(other):
                found.append(other)
        return found[::-1] if len(found) <= NAMED_AT_ONCE else []

    def tensor_name(self, node: Node) -> str:
        """``name:index`` of a result."""
        index = node.params["index"] if node.prim.name == "item" else 0
        return f"{self.operation_name(node)}:{index}"

    def names_of(self, node: Node) -> list[str]:
        """All names of a node."""
        self.operation_name(node)
        return list(self._labels[node])

    def node_named(self, name: str) -> Node:
        """The node of an operation's name; KeyError if there is none."""
        node = self._named.get(name) or self._seen.get(name)
        if node is None:
            for other in reversed(self.table.nodes.values()):
                if is_operation(other):
                    self.operation_name(other)
                    break
            node = self._seen.get(name)
        if node is None:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.  [TW501]")
        return node


def is_operation(node: Node) -> bool:
    """Whether TensorFlow would show an operation for this node."""
    name = node.prim.name
    if name == "constant":
        return node.params["value"].given
    return name not in HIDDEN


def type_of(node: Node) -> str:
    """TensorFlow's type of operation for a node (`AddV2`)."""
    if node.prim.name == "item":
        node = node.inputs[0]
    if node.prim.name == "after":
        return type_of(node.inputs[0])
    return node.prim.type_of([source.aval for source in node.operands], node.params)


def default_name(node: Node) -> str:
    """The name of an operation that was given none, before it is numbered."""
    if node.prim.name == "after":
        return default_name(node.inputs[0])
    return node.prim.tf_name or type_of(node)
