"""Names of operations: labels on nodes, generated on demand.

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
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.errors import type_error, value_error
from talweg.core.roles import Role
from talweg.graph.node import Node, NodeTable

if TYPE_CHECKING:
    from talweg.graph.symbol import Symbol

NAMED_AT_ONCE = 100_000  # nodes in front of a node that are named with it
_OPERATION = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_SCOPE = re.compile(r"[A-Za-z0-9_.\\/>-]*")
HIDDEN = frozenset((Role.PROJECTION, Role.SIZE))  # parts of other operations


class Derivatives:
    """The name scope of the derivatives made by one call, numbered on first look."""

    __slots__ = ("_found", "_last", "_name", "end", "start")

    def __init__(self, start: str, name: str, end: str = "_grad/"):
        self.start = start  # the scope in which they are made
        self.end = end  # what follows the name of an operation that is derived
        self._name, self._found = name, ""
        self.close()

    def close(self) -> None:
        """Release the node whose derivative was taken last."""
        self._last: tuple = (None, None, None)

    def scope(self, present: str) -> ScopeOfDerivative:
        """Return the scope of the present operation's derivative, given the enclosing one."""
        record = dispatch.context.deriving
        last, last_present, found = self._last
        if found is None or last is not record or last_present != present:
            node = None if record is None else _node_of(record[2])
            found = ScopeOfDerivative(self, node, present.removeprefix(self.start))
            self._last = record, present, found
        return found

    def text(self, names: Names | None) -> str:
        """Return the scope's name with a slash; without a graph, as it was given."""
        if names is None or self._name.endswith("/"):
            return self._name if self._name.endswith("/") else f"{self.start}{self._name}/"
        if not self._found:
            self._found = f"{names.unique_in(self.start, self._name)}/"
        return self._found


class ScopeOfDerivative:
    """The name scope of one operation's derivative, named on demand after that operation."""

    __slots__ = ("_derivatives", "_inner", "_of")

    def __init__(self, derivatives: Derivatives, of: Node | None, inner: str):
        self._derivatives, self._inner = derivatives, inner
        self._of = None if of is None else weakref.ref(of)

    def text(self, names: Names | None) -> str:
        """Return the scope's name with a slash behind it."""
        prefix = self._derivatives.text(names)
        node = None if self._of is None else self._of()
        if node is None or not is_operation(node):
            return prefix + self._inner
        labels = node.table.labels.get(node)
        name = labels[0] if labels else scope_of(node, names) + default_name(node)
        return f"{prefix}{name}{self._derivatives.end}{self._inner}"


def scope_of(node: Node, names: Names | None = None) -> str:
    """Return the scope in which a node was made, with a slash behind it; "" outside of all."""
    found = node.scope
    return found.text(names) if type(found) is ScopeOfDerivative else found or ""


def _node_of(results: Symbol | tuple[Symbol, ...]) -> Node | None:
    """Return the node of a result or of several; None for objects that are no graph tensors."""
    first = results[0] if type(results) is tuple else results
    node = getattr(first, "node", None)
    return node.inputs[0] if node is not None and node.prim.role is Role.PROJECTION else node


class Names:
    """The part of `Graph` that generates and looks up names of operations."""

    table: NodeTable

    def start_names(self) -> None:
        """Initialize empty tables of names."""
        self._named: dict[str, Node] = {}  # explicit names; they hold their nodes
        self._seen: Any = weakref.WeakValueDictionary()  # names given because somebody looked
        self._numbered: Any = weakref.WeakSet()  # nodes with a default name
        self._used: dict[str, int] = {}  # name in lower case -> next number
        self.scope = ""  # the name scopes entered, each with a slash behind it
        self.derivatives: Derivatives | None = None  # the scope of those that are being made

    def forget_names(self) -> None:
        """Release the named nodes."""
        self._named.clear()

    # -- names and scopes as such

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return `name` in the present scope, with a number behind it if it is taken."""
        return self._unique(f"{self.scope}{name}", mark_as_used)

    def unique_in(self, scope: str, name: str) -> str:
        """Return `name` in a scope, with a number behind it if it is taken."""
        return self._unique(scope + name)

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
        """Prefix names of operations made in the block with `name` and a slash.

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
        """Return the prefix that entering the scope `name` gives, and mark it as used."""
        if name is not None and not isinstance(name, str):
            raise type_error("TW104", f"name scope {name!r} is of type {type(name)}", "a string")
        if not name:
            return ""
        self._check_scope_name(name)
        return name if name.endswith("/") else f"{self.unique_name(name)}/"

    def _check_scope_name(self, name: str) -> None:
        if not (_SCOPE if self.scope else _OPERATION).fullmatch(name):
            raise value_error("TW501", f"'{name}' is not a valid scope name")

    def get_name_scope(self) -> str:
        """Return the present scope, without the slash at its end."""
        return self.scope[:-1]

    @contextmanager
    def derivatives_in(self, name: str, end: str = "_grad/") -> Iterator[None]:
        """Put derivatives made in the block into the scope `name`, each in a subscope that is named
        after the operation it derives; a name that ends in a slash is taken as it is.
        """
        self._check_scope_name(name)
        before = self.derivatives
        made = self.derivatives = Derivatives(self.scope, name, end)
        try:
            yield
        finally:
            self.derivatives = before
            made.close()

    def _present_scope(self) -> Any:
        """Return the scope in force, a text or a ScopeOfDerivative."""
        derivatives = self.derivatives
        return self.scope if derivatives is None else derivatives.scope(self.scope)

    # -- names of nodes

    def label(self, node: Node, name: str) -> str:
        """Give `node` the explicit name `name` (numbered if another node has it)."""
        scope = self._present_scope()
        scope = scope.text(self) if type(scope) is ScopeOfDerivative else scope
        full = name[:-1] if name.endswith("/") else f"{scope}{name}"
        if not _OPERATION.fullmatch(full):
            raise value_error(
                "TW501",
                f"'{full}' is not a valid node name",
                "a letter, digit or dot, then these or _ / \\ > -",
            )
        names = self.table.labels.setdefault(node, [])
        for present in names:
            if present == full or present.rpartition("_")[0] == full:
                return present
        if not name.endswith("/") or self.has_name(full):  # else it is the name of a scope
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
        self.table.labels.setdefault(node, []).insert(0, full)
        self._named[full] = node
        node.holders += 1

    def has_name(self, full: str) -> bool:
        """Return whether an operation has exactly this name."""
        return full in self._named or full in self._seen

    def add_name(self, node: Node, full: str) -> None:
        """Give `node` exactly this name, which must be free."""
        names = self.table.labels.setdefault(node, [])
        if node in self._numbered:
            self._numbered.discard(node)
            names.insert(0, full)
        else:
            names.append(full)
        self._used.setdefault(full.lower(), 1)
        self._named[full] = node
        node.holders += 1

    def take_name(self, full: str) -> None:
        """Remove an explicit name; a node that only the name held is released."""
        node = self._named.pop(full)
        names = self.table.labels[node]
        names.remove(full)
        if not names:
            del self.table.labels[node]
        elif names[0] in self._seen:
            self._numbered.add(node)
        node.table.release(node)

    def operation_name(self, node: Node) -> str:
        """Return the (first) name of a node, generated now if it has none."""
        if node.prim.role is Role.PROJECTION:
            node = node.inputs[0]
        names = self.table.labels.get(node)
        if not names:
            for earlier in self._collect_unnamed(node):
                self._give_default(earlier)
            names = self.table.labels.get(node) or self._give_default(node)
        return names[0]

    def _give_default(self, node: Node) -> list[str]:
        scope = scope_of(node, self)
        names = self.table.labels.setdefault(node, [])
        names.append(self._unique(scope + default_name(node)))
        self._seen[names[0]] = node
        self._numbered.add(node)
        return names

    def _collect_unnamed(self, node: Node) -> list[Node]:
        """Return the nodes without a name up to `node` in order of creation."""
        unnamed: list[Node] = []
        inner: set[Node] = set()  # what only waits: the waiting node is the operation
        begun = False
        for other in reversed(self.table.nodes.values()):
            begun = begun or other is node
            if not begun:
                continue
            if other in self._numbered or len(unnamed) > NAMED_AT_ONCE:
                break
            if other.prim.role is Role.ORDER:
                inner.add(other.inputs[0])
            if other not in inner and other not in self.table.labels and is_operation(other):
                unnamed.append(other)
        return unnamed[::-1] if len(unnamed) <= NAMED_AT_ONCE else []

    def name_all(self) -> None:
        """Name every unnamed operation, in order of creation."""
        nodes = list(self.table.nodes.values())
        inner = {node.inputs[0] for node in nodes if node.prim.role is Role.ORDER}
        for node in nodes:
            if node not in inner and node not in self.table.labels and is_operation(node):
                self._give_default(node)

    def tensor_name(self, node: Node) -> str:
        """Return ``name:index`` of a result."""
        index = node.params["index"] if node.prim.role is Role.PROJECTION else 0
        return f"{self.operation_name(node)}:{index}"

    def names_of(self, node: Node) -> list[str]:
        """Return all names of a node."""
        self.operation_name(node)
        return list(self.table.labels[node])

    def node_named(self, name: str) -> Node:
        """Return the node of an operation's name; KeyError if there is none."""
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
    """Return whether TensorFlow would show an operation for this node."""
    role = node.prim.role
    if role is Role.CONSTANT:
        return node.params["value"].given
    return role not in HIDDEN


def type_of(node: Node) -> str:
    """Return TensorFlow's type of operation for a node (`AddV2`)."""
    if node.prim.role is Role.PROJECTION:
        node = node.inputs[0]
    if node.prim.role is Role.ORDER:
        return type_of(node.inputs[0])
    return node.prim.type_of([source.aval for source in node.operands], node.params)


def default_name(node: Node) -> str:
    """Return the name of an operation without an explicit one, before it is numbered."""
    if node.prim.role is Role.ORDER:
        return default_name(node.inputs[0])
    return node.prim.tf_name or type_of(node)
