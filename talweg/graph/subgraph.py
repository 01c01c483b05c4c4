"""Body: a closed piece of graph with inputs and outputs, a parameter of branches and loops.

Two bodies that do the same are equal, so that equal branches and loops are one node.
"""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any

from talweg.core.dims import Dim
from talweg.core.hooks import hooks
from talweg.core.locking import new_lock
from talweg.core.roles import Role
from talweg.graph.node import READ, Node
from talweg.graph.walk import schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.aval import Aval
    from talweg.graph.node import NodeTable

_serials = itertools.count()
_tangents: Any = weakref.WeakKeyDictionary()  # table -> those kept by a body over it
asking = new_lock()  # held while it is looked up or noted who asks for inner nodes

_NO_VALUE = frozenset((Role.CONSTANT, Role.GROUP, Role.READ))  # nothing to keep


def items_of(node: Node) -> list[Node]:
    """Return the nodes of all results of an operation with several."""
    item = hooks.item_p
    return [
        node.table.intern(item, (("index", place),), (node,), aval)
        for place, aval in enumerate(node.aval)
    ]


class Tangents:
    """A map from nodes of bodies to their tangents in the bodies' derived bodies.

    A tangent is kept by the derived operation exactly if the node itself is kept by the other.
    """

    __slots__ = ("__weakref__", "bodies", "pairs")

    def __init__(self, bodies: list, pairs: tuple):
        self.bodies, self.pairs = bodies, pairs  # pairs: ((node, its tangent), ...)
        with asking:
            for table in {part.table for _, part in pairs}:
                _tangents.setdefault(table, weakref.WeakSet()).add(self)


def collect_requested_nodes(table: NodeTable) -> dict[Node, None]:
    """Return a table's nodes that code outside requests, directly or as tangents.

    A linear body may be its own forward derivative, so this is a fixed point.
    """
    with asking:
        return _collect_requested_nodes(table)


def _collect_requested_nodes(table: NodeTable) -> dict[Node, None]:
    if table not in _tangents:
        return dict.fromkeys(table.requested.values())
    asked: dict[Any, dict] = {}
    links: list[Tangents] = []
    pending = [table]
    while pending:
        table_here = pending.pop()
        if table_here not in asked:
            asked[table_here] = dict.fromkeys(table_here.requested.values())
            for tangents in tuple(_tangents.get(table_here, ())):
                links.append(tangents)
                pending.extend([body.table for body in tangents.bodies])
    grown = True
    while grown:
        grown = False
        for tangents in links:
            for node, part in tangents.pairs:
                known = asked.get(part.table)
                if known is not None and part not in known and node in asked.get(node.table, ()):
                    known[part] = None
                    grown = True
    return asked[table]


class Body:
    """A closed piece of graph from `inputs` to `outputs`; `effects` always run.

    `asked` are nodes that may be asked for from outside; a body in which no output needs them
    equals no other.  `api`: the name of what it implements, of which `implementation` is the body
    that calls run, if a library gave another (`trace/implementations.py`).
    """

    __slots__ = (
        "__weakref__",
        "asked",
        "device",
        "digest",
        "effects",
        "implementation",
        "inputs",
        "items",
        "key",
        "name",
        "nodes",
        "outputs",
        "programs",
        "settled",
        "table",
    )

    def __init__(
        self,
        name: str,
        inputs: tuple,
        outputs: tuple,
        effects: tuple = (),
        asked: Sequence[Any] = (),
        api: object = None,
    ):
        self.implementation: Body | None = None
        self.settled = False
        self.device: str | None = None  # that all its operations ask for, if they do
        self.name, self.inputs, self.outputs, self.effects = name, inputs, outputs, effects
        self.nodes: list[Node] = schedule((*effects, *inputs, *outputs))
        self.items: dict[tuple, Node] = {}  # (operation with several results, place) -> its node
        for node in self.nodes_with(asked):
            if node.prim.role is Role.PROJECTION:
                self.items[node.inputs[0], node.params["index"]] = node
        self.programs: dict[Any, Any] = {}  # by what is kept of the inside
        self.table = self.nodes[0].table if self.nodes else None  # keeps the table alive
        scheduled = set(self.nodes)
        self.key = self._structure() if api is None else (*self._structure(), api)
        self.asked = tuple([node for node in asked if node not in scheduled])
        if self.asked:
            self.key = (*self.key, next(_serials))
        self.digest = hash(self.key)

    def settle_implementation(self) -> Body:
        """Return the body that calls of this one run, for good: a derivative is made of it."""
        self.settled = True
        return self if self.implementation is None else self.implementation

    @property
    def has_effects(self) -> bool:
        """Whether the body changes state, or depends on the order of execution."""
        own = set(self.inputs)
        return any(node.serial is not None and node not in own for node in self.nodes)

    def nodes_with(self, others: Sequence[Any]) -> list[Node]:
        """Schedule the body's nodes together with `others` over the same inputs."""
        own = set(self.nodes)
        fresh = [node for node in others if node not in own]
        if not fresh:
            return self.nodes
        return schedule((*self.effects, *self.inputs, *self.outputs, *fresh))

    def results_of(self, node: Node) -> list[Node]:
        """Return the result nodes of an inner operation with several, always the same ones."""
        for place, fresh in enumerate(items_of(node)):
            self.items.setdefault((node, place), fresh)
        return [self.items[node, place] for place in range(len(node.aval))]

    def find_requested(self) -> tuple:
        """Return the inner nodes that other programs or tangents request."""
        if self.table is None:
            return ()
        asked = collect_requested_nodes(self.table)
        if not asked:
            return ()
        found = {node: None for node in self.nodes if node in asked}
        return tuple(found | asked)

    def everything(self) -> tuple:
        """Return all inner nodes that have one value, residuals of inner operations among them."""
        found = self.programs.get("everything")
        if found is None:
            nodes: dict[Node, None] = {}
            for node in self.nodes_with(self.asked):
                if node.prim.multiple:
                    nodes.update(dict.fromkeys(self.results_of(node)))
                elif node.prim.role not in _NO_VALUE:
                    nodes[node] = None
            found = self.programs["everything"] = tuple(nodes)
        return found

    def _structure(self) -> tuple:
        number = {node: position for position, node in enumerate(self.nodes)}
        inputs = {node: position for position, node in enumerate(self.inputs)}
        rows = []
        sizes: dict = {}
        for node in self.nodes:
            if node in inputs:
                rows.append((inputs[node], _plain(node.aval, sizes)))
            elif node.serial is not None and node.prim.effect != READ:
                rows.append(node)
            else:
                sources = tuple([number[source] for source in node.inputs])
                rows.append((node.prim, _params(node), sources))
        return (*rows, tuple([number[node] for node in self.outputs]))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Body) and self.key == other.key)

    def __hash__(self) -> int:
        return self.digest

    def __repr__(self) -> str:
        return f"<body {self.name}: {len(self.nodes)} nodes>"


def _plain(aval: Aval, sizes: dict) -> tuple:
    """Return shape and dtype in a form that compares between bodies: which sizes are equal."""
    dims = aval.dims
    if dims is not None:
        dims = tuple(
            [
                ("size", sizes.setdefault(size, len(sizes))) if type(size) is Dim else size
                for size in dims
            ]
        )
    return dims, aval.dtype


def _params(node: Node) -> Any:
    """Return parameters in a form that compares between bodies; sizes belong to one body."""
    return node.key[1]
