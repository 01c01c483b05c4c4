"""Rematerialization: which values a call keeps for its reverse, and which are computed again.

The rules of a reverse need values of the forward run.  Each is kept, as a residual, or computed
again from residuals and from the operands, which a tape holds in any case.  The least memory is a
minimum cut of the forward run's graph, from the operands to what the reverse needs.  A node is two
vertices; the edge between them is as wide as its value has bytes, and it is cut where the value is
kept.  An edge from the source to the first vertex is as wide as the price of computing the value
again (it has no limit for products, convolutions, loops and effects), and is cut where that is
done.  Of equal cuts the one that computes least again is taken.

Where a product is so large that strip mining never stores it whole (attention's scores), it is
computed again, and so is everything of its size, without a price: that happens in blocks which stay
in cache, in the forward run and in the reverse one.

Chen, Xu, Zhang and Guestrin 2016, "Training deep nets with sublinear memory cost"; the cut is that
of PyTorch's `min_cut_rematerialization_partition`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.lazy import LazyModule
from talweg.core.roles import Role, Trait
from talweg.graph.walk import postorder
from talweg.prims import arithmetic, contract

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talweg.graph.node import Node
    from talweg.graph.subgraph import Body
    from talweg.passes.optimize import strip_mining
else:
    strip_mining = LazyModule("talweg.passes.optimize.strip_mining")

LEAST = 1 << 20  # bytes that a choice must save; it is one more trace of the reverse
SHARE = 8  # the price of computing a value again, as a part of the bytes that are read or written
UNIT = 256  # bytes of a unit of capacity, so that 32 bits are enough
UNLIMITED = 1 << 30
LIGHT = frozenset(("map", "view", "reduce"))  # how a primitive touches memory that is repeated
IN_LOOPS = frozenset(("scalar", "loops", "fold", "expand"))  # how it is compiled


class RematerializationLimits:
    """The sizes that decide what is computed again, which tests lower."""

    least, unit = LEAST, UNIT


limits = RematerializationLimits()


def is_repeatable(node: Node) -> bool:
    """Return whether a value may be computed again: no effects, no library, sizes of its operands.

    A product may be, too; whether it is, the choice says.
    """
    prim = node.prim
    if prim.role is not Role.OPERATION or prim.effect is not None or prim.multiple:
        return False
    if (
        node.table.extra.get(node)
        or not _has_bytes(node)
        or not all(map(_has_bytes, node.operands))
    ):
        return False
    if prim is contract.matmul:
        return True
    if prim in (arithmetic.equal, arithmetic.not_equal):  # exact, or all bits must be the same
        return not node.operands[0].aval.dtype.is_floating
    return prim.memory in LIGHT and not IN_LOOPS.isdisjoint(prim.lowering)


def choose_residuals(body: Body, reverse: Body, sources: list[tuple]) -> frozenset[Node] | None:
    """Return the inner values to keep for a reverse with inputs of these sources.

    None: all that it takes, which is hardly more.
    """
    needed = [what for kind, what in sources if kind == "inner"]
    before = sum(map(bytes_of, needed))
    if before < limits.least:
        return None
    kept = _ForwardGraph(body, reverse, sources).cut(needed)
    return kept if before - sum(map(bytes_of, kept)) >= limits.least else None


def bytes_of(node: Node) -> int:
    """Return the bytes of a value; sizes that are not known count as 1."""
    return _count(node) * node.aval.dtype.size if _has_bytes(node) else 0


def _has_bytes(node: Node) -> bool:
    dtype = getattr(node.aval, "dtype", None)
    return dtype is not None and dtype.numpy_dtype.kind != "O"


def _count(node: Node) -> int:
    dims = node.aval.dims or ()
    return math.prod([size for size in dims if type(size) is int])


class _ForwardGraph:
    """What a reverse needs of a forward run, and what that is made of.

    whole: values that the reverse needs in memory, not element by element.
    exact: values that the reverse compares with others, for equality; `pairs` of these.
    strips: what has the size of a large product, and is computed in blocks like it.
    """

    def __init__(self, body: Body, reverse: Body, sources: list[tuple]):
        self.inputs, self.outputs = set(body.inputs), set(body.outputs)
        self.whole: set[Node] = set()
        self.exact: set[Node] = set()
        self.pairs: list[tuple[Node, Node]] = []
        self.strips: set[Node] = set()
        self._look_at(reverse, dict(zip(reverse.inputs, sources)))

    # -- what the reverse does with values

    def _look_at(self, reverse: Body, sources: dict[Node, tuple]) -> None:
        """Find the values that the reverse needs whole, or compares for equality."""
        results = set(reverse.outputs)
        origins: dict[Node, tuple] = dict(sources)  # views of inputs -> the sources
        for node in reverse.nodes:
            if node in origins:
                continue
            operands, prim = node.operands, node.prim
            known = [origins.get(x) for x in operands]
            if _is_view(node) and len(operands) == 1 and known[0] is not None:
                origins[node] = known[0]
                continue
            if prim.memory not in LIGHT or prim.role is not Role.OPERATION:
                self.whole.update(_inner(known))
            if prim in (arithmetic.equal, arithmetic.not_equal):
                self._note_equality(known)
        self.whole.update(_inner([origins.get(node) for node in results]))

    def _note_equality(self, known: list[tuple | None]) -> None:
        """Note values that are compared; 16-bit ones may be computed in float32 where they are."""
        inner = _inner(known)
        if len(inner) == 2 and all([node.aval.dtype.size > 2 for node in inner]):
            if inner[0] is not inner[1]:
                self.pairs.append((inner[0], inner[1]))
        else:
            self.exact.update(inner)

    # -- prices

    def _sources(self, node: Node) -> tuple:
        """Return the values that a value is computed from, if it may be computed again."""
        if node in self.inputs or not is_repeatable(node):
            return ()
        if node.prim is contract.matmul and not _is_large(node):
            return ()
        return node.operands

    def _find_strips(self, nodes: Iterable[Node]) -> None:
        """Find the values that have the size of a large product: made of it, or masks for it."""
        again = [node for node in nodes if self._sources(node)]
        sizes = {_count(node) for node in again if node.prim is contract.matmul}
        self.strips.update([node for node in again if _count(node) in sizes])

    def _price(self, node: Node) -> int:
        """Return the price of computing a value again, in bytes; None if it is to be kept."""
        if node in self.exact or not self._sources(node):
            return UNLIMITED
        if node in self.strips or Trait.CHEAP_TO_REPEAT in node.prim.traits:
            return 0
        if node in self.whole:
            return UNLIMITED
        return _units(max(map(bytes_of, (node, *node.operands))) // SHARE)

    def _width(self, node: Node) -> int:
        """Return the price of keeping a value; views are made again instead.

        The tape has the results in any case.
        """
        if Trait.CHEAP_TO_REPEAT in node.prim.traits and is_repeatable(node):
            return UNLIMITED
        return 0 if node in self.outputs else _units(bytes_of(node))

    # -- the cut

    def cut(self, needed: list[Node]) -> frozenset[Node]:
        """Return the values to keep, from which all others that are needed follow."""
        forward: dict[Node, None] = {}
        postorder(needed, forward, self._sources)
        self._find_strips(forward)
        nodes = [x for x in forward if x not in self.inputs and x.prim.role is not Role.CONSTANT]
        first = {node: 2 * i + 2 for i, node in enumerate(nodes)}
        edges: dict[tuple[int, int], int] = {}
        for node, vertex in first.items():
            edges[vertex, vertex + 1] = self._width(node)
            edges[0, vertex] = self._price(node)
            for x in self._sources(node):
                if x in first:
                    edges[first[x] + 1, vertex] = UNLIMITED
        for node in needed:
            edges[first[node] + 1, 1] = UNLIMITED
        for one, other in self.pairs:  # both are computed again, by one program, or none
            edges[first[one], first[other]] = edges[first[other], first[one]] = UNLIMITED
        behind = _behind_minimum_cut(edges, 2 * len(nodes) + 2)
        return frozenset([node for node, i in first.items() if not behind[i] and behind[i + 1]])


def _is_large(product: Node) -> bool:
    """Return whether strip mining stores a product nowhere, though it has to compute it again."""
    if bytes_of(product) < limits.least:  # so that nothing is imported for small ones
        return False
    z, x, y = dims = [node.aval.dims for node in (product, *product.operands)]
    if None in dims or not all([type(size) is int for each in dims for size in each]):
        return False
    return strip_mining.is_much_larger(z, x, y, product.aval.dtype, strip_mining.limits.again)


def _is_view(node: Node) -> bool:
    prim = node.prim
    return prim.memory == "view" and prim.role is Role.OPERATION and prim.effect is None


def _inner(known: list[tuple | None]) -> list[Node]:
    return [source[1] for source in known if source is not None and source[0] == "inner"]


def _units(size: int) -> int:
    return min(-(-size // limits.unit), UNLIMITED) if size else 0


def _behind_minimum_cut(edges: dict[tuple[int, int], int], count: int) -> np.ndarray:
    """Return which vertices are on the sink's side of a minimum cut, as few as there can be.

    The source is vertex 0, the sink vertex 1.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    pairs: Any = np.array([pair for pair, width in edges.items() if width], np.int32).T
    widths = np.array([width for width in edges.values() if width], np.int32)
    graph = coo_array((widths, tuple(pairs)), (count, count)).tocsr()
    left = graph - maximum_flow(graph, 0, 1).flow
    left.eliminate_zeros()
    behind = np.zeros(count, bool)
    behind[breadth_first_order(left.T.tocsr(), 1, return_predecessors=False)] = True
    return behind
