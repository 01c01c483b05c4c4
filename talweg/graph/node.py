"""Nodes, and the intern table in which equal ones are the same object (hash-consing).

A `Node` is a primitive applied to nodes, with parameters.  Building an equal pure node gives the
node that is there; a node with an effect has a serial number, so it equals no other.  Nodes never
change, so inputs are always older than what uses them and no cycle can arise.

Lifetime.  `NodeTable` holds what is interned.  A node stays in it while a user's `Symbol` (a
handle), a younger node in the table, or a name holds it: `Node.holders` counts these, and at 0 the
node leaves the table and lets go of its inputs at once, in a loop, however long the chain.  The
count decides what the graph contains; Python's own references decide about memory, so a body or a
plan that still needs a node just keeps it.  Nodes know the table, not the `Graph` that users hold:
when the last handle and the last session are gone the graph goes, and the table is emptied.

Filliâtre and Conchon, "Type-safe modular hash-consing", 2006.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dim_walks import atoms_of
from talweg.core.dims import HEAVY, Atom, is_symbolic, of_atom, weight
from talweg.core.dtypes import of_numpy
from talweg.core.errors import InvalidArgumentError, NeedsStaticError, OpError, compose
from talweg.core.locking import new_lock
from talweg.core.provenance import Derived, Origin, user_origin

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive

GRAPH = "graph"  # not an effect: the primitive exists only in graphs
READ = "read"  # reading a variable: merged, but ordered among effects
WRITE = "write"  # changing a variable
INPUT = "input"  # a value from outside
BODY = "body"  # whatever the bodies among its parameters do
MERGED = frozenset((None, GRAPH, READ))
REMEMBERED = 10_000  # entries of each memory of a graph; full, it begins anew


class Node:
    """A primitive applied to nodes.

    `key` is (primitive, parameters as a tuple of pairs, *inputs); inputs beyond the operands are
    what parameters take their sizes from.  `aval` is what is known of the result, a tuple of these
    for a primitive with several results.
    """

    __slots__ = (
        "__weakref__",
        "aval",
        "handle",
        "holders",
        "key",
        "origin",
        "scope",
        "serial",
        "table",
    )

    def __init__(self, key: tuple, aval: Any, table: NodeTable):
        self.key, self.aval, self.table = key, aval, table
        self.serial: int | None = None  # place in the order of effects
        self.holders = 0
        self.origin: Origin | None = None
        self.scope: Any = None  # the name scope it was made in, see names.py
        self.handle: Any = None  # a weak reference to the user's handle, while there is one

    @property
    def prim(self) -> Any:
        """The primitive."""
        return self.key[0]

    @property
    def params(self) -> dict:
        """The parameters."""
        return dict(self.key[1])

    @property
    def inputs(self) -> tuple:
        """Every node that must be computed before this one."""
        return self.key[2:]

    @property
    def operands(self) -> tuple:
        """The inputs that the primitive is applied to (not those that only give sizes)."""
        key = self.key
        count = self.table.extra.get(self, 0)
        return key[2 : len(key) - count] if count else key[2:]

    def __repr__(self) -> str:
        return f"<node {self.key[0].name} {self.aval!r}>"


class Content:
    """A constant array as a parameter: equal where shape, dtype and every bit are equal.

    Arrays up to `EMBEDDED` bytes are literals of the graph; larger ones are captured: shared, and
    written into a serialised graph only on request.

    A constant that the user made (`given`) is never merged if there are derivatives by it: equal
    values in two places are two variables of the function, and numbers that merely stand in an
    expression are none.  Equal arrays are kept once all the same (`Graph.constant_node`).
    """

    __slots__ = ("__weakref__", "array", "digest", "given")
    EMBEDDED = 1024

    def __init__(self, array: Any, given: bool = False):
        array = np.asarray(array)
        self.array, self.given = array, given
        if array.dtype == object:
            self.digest = hash((array.shape, tuple(array.reshape(-1).tolist())))
        else:
            self.digest = hash((array.shape, array.dtype.str, array.tobytes()))

    @property
    def captured(self) -> bool:
        """Whether the array is too large to be a literal."""
        return self.array.nbytes > self.EMBEDDED

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Content) or self.digest != other.digest:
            return False
        if self is other:
            return True
        if self.given != other.given or (self.given and self.array.dtype.kind not in "iubO"):
            return False
        return self.has_array(other)

    def has_array(self, other: Content) -> bool:
        """Return whether the arrays are equal in every bit."""
        a, b = self.array, other.array
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype == object:
            return a.tolist() == b.tolist()
        return a is b or a.tobytes() == b.tobytes()

    def __hash__(self) -> int:
        return self.digest

    def __repr__(self) -> str:
        array = self.array
        return repr(array.tolist()) if array.size <= 8 else f"{array.dtype}{list(array.shape)}"


class _UniqueKey:
    """A key of the intern table that equals no other."""

    __slots__ = ()


class NodeTable:
    """The intern table of one graph."""

    def __init__(self, owner: Any):
        self.nodes: dict[Any, Node] = {}
        self.extra: Any = weakref.WeakKeyDictionary()  # nodes whose last inputs only give sizes
        self.controls: Any = weakref.WeakKeyDictionary()  # effects -> what they wait for
        self.requested: Any = weakref.WeakKeyDictionary()  # who asks from outside -> node inside
        self.labels: Any = weakref.WeakKeyDictionary()  # node -> its names, first one first
        self.contents: Any = weakref.WeakKeyDictionary()  # elements known, see contents.py
        self.avals: dict[Any, Aval] = {}
        self.inferred: dict[tuple, Any] = {}
        self.asked: dict[Node, int] = {}  # how often a node was asked for, if more than once
        self.shared: dict[Node, None] = {}  # nodes that a program has asked for more than once
        self.apart: Any = weakref.WeakKeyDictionary()  # nodes that equal none -> their keys here
        self.origins: dict[Any, Any] = {}  # one object for equal origins
        self.lock = new_lock()
        self.owner = weakref.ref(owner)
        self.merged = self.built = self.peak = self.serials = 0
        self.symbolic = False  # whether any size is unknown

    def canonical(self, aval: Aval) -> Aval:
        """Return the shared object of an abstract value if all its sizes are numbers."""
        if not is_static(aval):
            return aval
        if len(self.avals) >= REMEMBERED:
            self.avals.clear()
        return self.avals.setdefault((aval.dims, aval.dtype), aval)

    def infer(self, prim: Primitive, params: tuple, operands: tuple) -> Any:
        """Infer the abstract value of the result(s), cached where all sizes are numbers.

        What is remembered holds the operands' abstract values, whose addresses are its key.
        """
        avals = [node.aval for node in operands]
        key = (prim, params, *map(id, avals))
        remembered = self.inferred.get(key)
        if remembered is not None:
            return remembered[0]
        aval = self._infer(prim, params, avals)
        if prim.multiple:
            return tuple(map(self.canonical, aval))
        aval = self.canonical(aval)
        if is_static(aval) and all(map(is_static, avals)):
            if len(self.inferred) >= REMEMBERED:
                self.inferred.clear()
            self.inferred[key] = aval, avals
        return aval

    def _infer(self, prim: Primitive, params: tuple, avals: list) -> Any:
        """Apply the primitive's `infer` rule, with the errors that building a graph raises."""
        try:
            return prim.infer(*avals, **dict(params))
        except InvalidArgumentError as error:
            raise graph_error(error) from None
        except (TypeError, AttributeError) as error:
            if "NoneType" not in str(error) or all(a.dims is not None for a in avals):
                raise
            text = f"{prim.name}: the rank of an operand is not known while the graph is built"
            raise NeedsStaticError(compose("TW203", text)) from None

    def intern(self, prim: Primitive, params: tuple, operands: tuple, aval: Any = None) -> Node:
        """Return the node of `prim` on `operands`: the existing one, or a new one."""
        key = (prim, params, *operands)
        sizes: tuple = ()
        if params and self.symbolic:
            sizes = self._sources(params, operands)
            key += sizes
        effect = prim.effect if prim.effect != BODY else effect_of_bodies(params)
        merges = effect in MERGED
        with self.lock:  # threads may build one graph
            if merges:
                node = self.nodes.get(key)
                if node is not None:
                    self.merged += 1
                    self.asked[node] = self.asked.get(node, 1) + 1
                    if dispatch.context.deriving is None:
                        self.shared[node] = None
                    if dispatch.state.observer is not None:
                        dispatch.state.observer.node_asked(node, True)
                    return node
            owner = self.owner()
            if owner is not None and owner.frozen:
                owner.check_mutable()
            if aval is None:
                aval = self.infer(prim, params, operands)
            node = Node(key, aval, self)
            if effect is not None and effect != GRAPH:
                node.serial = self.serials = self.serials + 1
            if sizes:
                self.extra[node] = len(sizes)
            # Unknown sizes of several results are named after the items, each of them one result.
            if type(aval) is not tuple and aval.dims is not None:
                node.aval = self._name_unknown(aval, node)
            origin = user_origin(3)
            deriving = dispatch.context.deriving
            if deriving is not None and origin is not None:
                origin = Derived(origin, deriving[0], deriving[4])
            if len(self.origins) >= REMEMBERED:
                self.origins.clear()
            if owner is not None:
                derivatives = owner.derivatives
                node.scope = owner.scope if derivatives is None else derivatives.scope(owner.scope)
            node.origin = self.origins.setdefault(origin, origin)
            for source in key[2:]:
                source.holders += 1
            self.nodes[key if merges else node.serial] = node
            self.built += 1
            if dispatch.state.observer is not None:
                dispatch.state.observer.node_asked(node, False)
            return node

    def set_apart(self, node: Node) -> Node:
        """Return a copy of `node` that equals no other, so that it can be fed by itself.

        `node` itself where sizes that are not known are named after it.
        """
        if not is_static(node.aval) or self.extra.get(node):
            return node
        copy = Node(node.key, node.aval, self)
        copy.origin, copy.scope = node.origin, node.scope
        with self.lock:
            for source in node.inputs:
                source.holders += 1
            key = self.apart[copy] = _UniqueKey()
            self.nodes[key] = copy
            self.built += 1
        return copy

    def _sources(self, params: tuple, operands: tuple) -> tuple:
        """Return the nodes that sizes in the parameters come from, operands aside."""
        found = dict.fromkeys(atom.source for _, value in params for atom in atoms_of(value))
        return tuple([node for node in found if node is not None and node not in operands])

    def _name_unknown(self, aval: Aval, node: Node) -> Aval:
        """Return `aval` with a symbol of `node` for each dimension that is unknown or too long."""
        dims = aval.dims
        if dims is None:
            return aval
        if None not in dims and not (self.symbolic and any([weight(d) > HEAVY for d in dims])):
            return aval
        self.symbolic = True
        dims = tuple(
            of_atom(Atom("size", node, axis)) if size is None or weight(size) > HEAVY else size
            for axis, size in enumerate(dims)
        )
        return Aval(dims, aval.dtype)

    def release(self, node: Node) -> None:
        """Decrement the holders of `node`; without holders it leaves the table."""
        node.holders -= 1
        if node.holders <= 0:
            self.drop(node)

    def drop(self, node: Node) -> None:
        """Remove a node without holders, and the nodes that only it held."""
        self.peak = max(self.peak, len(self.nodes))
        pending = [node]
        nodes = self.nodes
        while pending:
            node = pending.pop()
            key = node.key
            own_key = self.apart.pop(node, None) or (key if key in nodes else node.serial)
            if nodes.pop(own_key, None) is None:
                continue
            self.asked.pop(node, None)
            self.shared.pop(node, None)
            for source in (*key[2:], *self.controls.pop(node, ())):
                source.holders -= 1
                if source.holders <= 0:
                    pending.append(source)

    def refine(self, node: Node, aval: Aval) -> None:
        """Refine the abstract value of a node's result by a further fact."""
        node.aval = self._name_unknown(self.canonical(aval), node)

    def clear(self) -> None:
        """Release all nodes when the graph is gone."""
        self.nodes.clear()
        self.asked.clear()
        self.shared.clear()
        self.inferred.clear()


def graph_error(error: OpError) -> Exception:
    """Map an eager error to the one that building a graph raises: as in TensorFlow, TypeError where
    dtypes are wrong and ValueError for the rest. What a value was tested for stays.
    """
    if getattr(error, "talweg_by_value", False):
        return error
    text = str(error)
    return TypeError(text) if text.rstrip("]").endswith(("TW102", "TW104")) else ValueError(text)


def is_static(aval: Any) -> bool:
    """Return whether no size of an abstract value is symbolic."""
    dims = () if type(aval) is tuple else aval.dims
    return dims is None or not is_symbolic(dims)


def effect_of_bodies(params: tuple) -> str | None:
    """Return the effect WRITE if a body among the parameters has an effect."""
    for _, value in params:
        for body in value if type(value) is tuple else (value,):
            if getattr(body, "has_effects", False):
                return WRITE
    return None


def aval_of_array(array: np.generic | np.ndarray) -> Aval:
    """Return the abstract value of an array."""
    return Aval(array.shape, of_numpy(array.dtype))
