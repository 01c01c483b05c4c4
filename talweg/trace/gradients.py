"""Gradients of tensors of a graph: the reverse sweep over the nodes between them."""

from __future__ import annotations

from typing import Any

from talweg.core import dispatch
from talweg.core.dtypes import variant
from talweg.core.value import OPERATIONS, IndexedSlices
from talweg.graph.handle import Handle
from talweg.graph.node import Node
from talweg.graph.symbol import Symbol
from talweg.graph.walk import postorder
from talweg.trace.control_rules import items_of
from talweg.transform.reverse import pullback
from talweg.transform.rules import accumulate


def between(targets: list[Node], sources: set[Node]) -> list[Node]:
    """The ancestors of `targets` that depend on `sources`, in order; nothing above the sources."""
    order: dict[Node, None] = {}
    postorder(targets, order, lambda node: () if node in sources else node.operands)
    reached = set(sources)
    found = []
    for node in order:
        if node not in sources and any(source in reached for source in node.operands):
            reached.add(node)
            found.append(node)
    return found


def gradients(
    graph: Any, targets: list[Symbol], seeds: list, sources: list, stops: list[Symbol]
) -> list:
    """The cotangent of each source (a tensor or the handle of a variable); None without a path."""
    stopped = {symbol.node for symbol in stops}
    reads: list[list[Node]] = []
    ancestors: dict[Node, None] = {}
    if any(type(source) is Handle for source in sources):
        postorder([target.node for target in targets], ancestors, lambda node: node.operands)
    for source in sources:
        if type(source) is Handle:
            reads.append([n for n in ancestors if n.prim.name == "read_variable"
                          and n.params["variable"] is source])  # fmt: skip
        else:
            reads.append([source.node])
    ends = {node for nodes in reads for node in nodes}
    kept: dict[Node, Symbol] = {}

    def symbol(node: Node) -> Symbol:
        found = kept.get(node)
        if found is None:
            found = kept[node] = graph.symbol(node)
        return found

    records = []
    for node in between([target.node for target in targets], ends | stopped):
        if node.prim.name == "item" or node in stopped:
            continue
        if node.prim.multiple:
            results: Any = tuple([symbol(part) for part in items_of(node)])
        else:
            results = symbol(node)
        operands = tuple([symbol(source) for source in node.operands])
        records.append((node.prim, operands, results, node.params, node.origin))
    flat = [symbol(node) for nodes in reads for node in nodes]
    with dispatch.only(()), graph.as_default():
        found = iter(pullback(records, targets, seeds, flat))
        results = []
        for nodes in reads:
            total = None
            for _ in nodes:
                total = accumulate(total, next(found))
            results.append(total)
    return results


def ones_seed(target: Any) -> Any:
    """The seed of a target: ones of its shape."""
    if target.dtype is variant or not target.dtype.is_differentiable:
        return None
    return OPERATIONS["ones_like"](target)


def as_tensor(value: Any) -> Any:
    """A target as a tensor."""
    return value.values if isinstance(value, IndexedSlices) else value
