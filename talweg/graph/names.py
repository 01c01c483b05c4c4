"""Names of operations: labels on nodes, given when asked for.

An explicit name keeps its node in the graph.  A node without one gets a numbered name when somebody
looks at it.  Asking for an equal operation under a second name gives the one node both names.
"""

from __future__ import annotations

import weakref
from typing import Any

from talweg.core.errors import type_error, value_error
from talweg.graph.node import Node, NodeTable


class Names:
    """The part of a graph that knows names."""

    table: NodeTable

    def start_names(self) -> None:
        """Begin without names."""
        self._named: dict[str, Node] = {}  # explicit names; they hold their nodes
        self._seen: Any = weakref.WeakValueDictionary()  # names given because somebody looked
        self._labels: Any = weakref.WeakKeyDictionary()  # node -> its names, first one first
        self._used: dict[str, int] = {}  # name in lower case -> next number
        self.scope = ""  # the name scopes entered, each with a slash behind it

    def forget_names(self) -> None:
        """Let go of the named nodes."""
        self._named.clear()

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` inside the present scope, with a number behind it if it is taken."""
        return self._unique(f"{self.scope}{name}", mark_as_used)

    def _unique(self, name: str, mark_as_used: bool = True) -> str:
        key = name.lower()
        number = self._used.get(key, 0)
        found = name
        if number:
            while f"{name}_{number}".lower() in self._used:
                number += 1
            found = f"{name}_{number}"
        if mark_as_used:
            self._used[key] = number + 1
            self._used.setdefault(found.lower(), 1)
        return found

    def label(self, node: Node, name: str) -> str:
        """Give `node` the explicit name `name` (numbered if another node has it)."""
        if name.endswith("/"):
            full = name[:-1]
        else:
            full = f"{self.scope}{name}"
        names = self._labels.setdefault(node, [])
        for present in names:
            if present == full or present.rpartition("_")[0] == full:
                return present
        full = self._unique(full)
        names.append(full)
        self._named[full] = node
        node.holders += 1
        return full

    def operation_name(self, node: Node) -> str:
        """The (first) name of a node, made up now if it has none."""
        names = self._labels.get(node)
        if not names:
            names = self._labels.setdefault(node, [])
            names.append(self._unique(default_name(node)))
            self._seen[names[0]] = node
        return names[0]

    def tensor_name(self, node: Node) -> str:
        """``name:index`` of a result."""
        if node.prim.name == "item":
            return f"{self.operation_name(node.inputs[0])}:{node.params['index']}"
        return f"{self.operation_name(node)}:0"

    def names_of(self, node: Node) -> list[str]:
        """All names of a node."""
        self.operation_name(node)
        return list(self._labels[node])

    def node_named(self, name: str) -> Node:
        """The node of an operation's name; TypeError if that is no text, KeyError if unknown."""
        if not isinstance(name, str):
            raise type_error("TW104", f"Operation names are strings, not {type(name).__name__}.")
        if ":" in name:
            raise value_error(
                "TW501", f"The name {name!r} looks like a tensor's, not an operation's"
            )
        node = self._named.get(name) or self._seen.get(name)
        if node is None:
            for other in list(self.table.nodes.values()):
                if other.prim.name != "item":
                    self.operation_name(other)
            node = self._seen.get(name)
        if node is None:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.  [TW501]")
        return node


def default_name(node: Node) -> str:
    """The name of an operation that was given none: its type in TensorFlow, or the primitive's."""
    return node.prim.name
