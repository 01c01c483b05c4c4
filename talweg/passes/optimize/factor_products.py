"""Factoring of sums of products with a shared operand: x @ A + x @ B runs as x @ (A + B).

One product in place of two.  It changes nothing but rounding: each element is the same sum, with
A + B rounded before it is multiplied.  Done where both products have no other use, A and B
certainly have one shape, and the shared operand is not small beside them.
"""

from __future__ import annotations

from dataclasses import dataclass

from talweg.core.dims import Dim, same_dims
from talweg.core.provenance import describe
from talweg.graph.node import Node
from talweg.prims import arithmetic, contract


@dataclass(frozen=True)
class Factored:
    """A sum of products that runs as one product."""

    total: Node  # the addition
    product: Node  # its first product, whose parameters hold for the one that runs
    shared: Node  # the operand of both
    parts: tuple[Node, Node]  # those that are added first
    left: bool  # whether the shared operand stands on the left

    def __str__(self) -> str:
        form = (
            "x @ A + x @ B runs as x @ (A + B)"
            if self.left
            else ("A @ x + B @ x runs as (A + B) @ x")
        )
        return f"{form}: {describe(self.total.origin)}"


def factor_additions(order: list[Node], kept: set[Node]) -> dict[Node, Factored]:
    """Find the additions among the nodes `order` that run factored; `kept` are results."""
    additions = [node for node in order if node.prim is arithmetic.add and _products(node)]
    if not additions:
        return {}
    uses: dict[Node, int] = {}
    for node in order:
        for source in node.key[2:]:
            uses[source] = uses.get(source, 0) + 1
    matches = {}
    for node in additions:
        a, b = node.operands
        if a is b or a in kept or b in kept or uses[a] > 1 or uses[b] > 1:
            continue
        match = _match(node, a, b)
        if match is not None:
            matches[node] = match
    return matches


def _products(node: Node) -> bool:
    return all(operand.prim is contract.matmul for operand in node.operands)


def _match(total: Node, a: Node, b: Node) -> Factored | None:
    """Return the factoring of the sum of products a and b, None if there is none."""
    if a.key[1] != b.key[1] or not total.aval.dtype.is_floating:
        return None
    (x, p), (y, q) = a.operands, b.operands
    if x is y and _fit(p, q) and _pays(x, p, -2):
        return Factored(total, a, x, (p, q), True)
    if p is q and _fit(x, y) and _pays(p, x, -1):
        return Factored(total, a, p, (x, y), False)
    return None


def _fit(p: Node, q: Node) -> bool:
    """Return whether two operands certainly have one shape."""
    return (
        p.aval.dims is not None and q.aval.dims is not None and same_dims(p.aval.dims, q.aval.dims)
    )


def _pays(shared: Node, part: Node, axis: int) -> bool:
    """Return whether adding first costs no more:
    the product saved is at least as large as the sum made.
    """
    dims = shared.aval.dims
    if dims is None or len(dims) < 2 or part.aval.dims is None or len(part.aval.dims) > len(dims):
        return False
    size = dims[axis]
    return type(size) is Dim or size >= 1
