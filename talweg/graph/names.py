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
    """The scope of the derivatives made by one call: a name, numbered when somebody looks."""

    __slots__ = ("_found", "_last", "_name", "end", "start")

    def __init__(self, start: str, name: str, end: str = "_grad/"):
        self.start = start  # the scope in which they are made
        self.end = end  # what follows the name of an operation that is derived
        self._name, self._found = name, ""
        self.close()

    def close(self) -> None:
        """Hold nothing of what was derived last."""
        self._last: tuple = (None, None, None)

    def scope(self, present: str) -> ScopeOfDerivative:
        """Where the derivative of what is derived now is, while `present` is the scope."""
        record = dispatch.context.deriving
        last, last_present, found = self._last
        if found is None or last is not record or last_present != present:
            node = None if record is None else _node_of(record[2])
            found = ScopeOfDerivative(self, node, present.removeprefix(self.start))
            self._last = record, present, found
        return found

    def text(self, names: Names | None) -> str:
        """The scope, with a slash behind it; without a graph to be unique in, as it was given."""
        if names is None or self._name.endswith("/"):
            return self._name if self._name.endswith("/") else f"{self.start}{self._name}/"
        if not self._found:
            self._found = f"{names.unique_in(self.start, self._name)}/"
        return self._found


class ScopeOfDerivative:
    """Where the derivative of one operation is: a scope that is named after that operation, which
    has a name only when somebody looks."""

    __slots__ = ("_derivatives", "_inner", "_of")

    def __init__(self, derivatives: Derivatives, of: Node | None, inner: str):
        self._derivatives, self._inner = derivatives, inner
        self._of = None if of is None else weakref.ref(of)

    def text(self, names: Names | None) -> str:
        """The scope, with a slash behind it."""
        prefix = self._derivatives.text(names)
        node = None if self._of is None else self._of()
        if node is None or not is_operation(node):
            return prefix + self._inner
        labels = node.table.labels.get(node)
        name = labels[0] if labels else scope_of(node, names) + default_name(node)
        return f"{prefix}{name}{self._derivatives.end}{self._inner}"


def scope_of(node: Node, names: Names | None = None) -> str:
    """The scope in which a node was made, with a slash behind it; "" outside of all."""
    found = node.scope
    return found.text(names) if type(found) is ScopeOfDerivative else found or ""


def _node_of(results: Symbol | tuple[Symbol, ...]) -> Node | None:
    """The node of a result or of several; None for what is no tensor of a graph."""
    first = results[0] if type(results) is tuple else results
    node = getattr(first, "node", None)
    return node.inputs[0] if node is not None and node.prim.role is Role.PROJECTION else node


class Names:
    """The part of a graph that knows names."""

    table: NodeTable

    def start_names(self) -> None:
        """Begin without names."""
        self._named: dict[str, Node] = {}  # explicit names; they hold their nodes
        self._seen: Any = weakref.WeakValueDictionary()  # names given because somebody looked
        self._numbered: Any = weakref.WeakSet()  # nodes with a default name
        self._used: dict[str, int] = {}  # name in lower case -> next number
        self.scope = ""  # the name scopes entered, each with a slash behind it
        self.derivatives: Derivatives | None = None  # the scope of those that are being made

    def forget_names(self) -> None:
        """Let go of the named nodes."""
        self._named.clear()

    # -- names and scopes as such

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` inside the present scope, with a number behind it if it is taken."""
        return self._unique(f"{self.scope}{name}", mark_as_used)

    def unique_in(self, scope: str, name: str) -> str:
        """`name` inside a scope, with a number behind it if it is taken."""
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
        self._check_scope_name(name)
        return name if name.endswith("/") else f"{self.unique_name(name)}/"

    def _check_scope_name(self, name: str) -> None:
        if not (_SCOPE if self.scope else _OPERATION).fullmatch(name):
            raise value_error("TW501", f"'{name}' is not a valid scope name")

    def get_name_scope(self) -> str:
        """The present scope, without the slash at its end."""
        return self.scope[:-1]

    @contextmanager
    def derivatives_in(self, name: str, end: str = "_grad/") -> Iterator[None]:
        """Put what is made inside into the scope `name`, each derivative of an operation into a
        scope there that is named after this operation; a name that ends in a slash is taken as it
        is."""
        self._check_scope_name(name)
        before = self.derivatives
        made = self.derivatives = Derivatives(self.scope, name, end)
        try:
            yield
        finally:
            self.derivatives = before
            made.close()

    def _present_scope(self) -> Any:
        """The scope of what is made now, a text or a ScopeOfDerivative."""
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
        """Whether an operation has exactly this name."""
        return full in self._named or full in self._seen

    def add_name(self, node: Node, full: str) -> None:
        """Give `node` exactly this name, which `has_name` does not know; it goes behind others."""
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
        """Take away an explicit name; a node that only it held goes."""
        node = self._named.pop(full)
        names = self.table.labels[node]
        names.remove(full)
        if not names:
            del self.table.labels[node]
        elif names[0] in self._seen:
            self._numbered.add(node)
        node.table.release(node)

    def operation_name(self, node: Node) -> str:
        """The (first) name of a node, made up now if it has none."""
        if node.prim.role is Role.PROJECTION:
            node = node.inputs[0]
        names = self.table.labels.get(node)
        if not names:
            for earlier in self._unnamed_before(node):
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

    def _unnamed_before(self, node: Node) -> list[Node]:
        """Nodes without a name that were made before `node`, and it; the oldest first."""
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
        """Give every operation a name, in the order in which they were made, however many."""
        nodes = list(self.table.nodes.values())
        inner = {node.inputs[0] for node in nodes if node.prim.role is Role.ORDER}
        for node in nodes:
            if node not in inner and node not in self.table.labels and is_operation(node):
                self._give_default(node)

    def tensor_name(self, node: Node) -> str:
        """``name:index`` of a result."""
        index = node.params["index"] if node.prim.role is Role.PROJECTION else 0
        return f"{self.operation_name(node)}:{index}"

    def names_of(self, node: Node) -> list[str]:
        """All names of a node."""
        self.operation_name(node)
        return list(self.table.labels[node])

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
    role = node.prim.role
    if role is Role.CONSTANT:
        return node.params["value"].given
    return role not in HIDDEN


def type_of(node: Node) -> str:
    """TensorFlow's type of operation for a node (`AddV2`)."""
    if node.prim.role is Role.PROJECTION:
        node = node.inputs[0]
    if node.prim.role is Role.ORDER:
        return type_of(node.inputs[0])
    return node.prim.type_of([source.aval for source in node.operands], node.params)


def default_name(node: Node) -> str:
    """The name of an operation that was given none, before it is numbered."""
    if node.prim.role is Role.ORDER:
        return default_name(node.inputs[0])
    return node.prim.tf_name or type_of(node)
