"""Traversals of nodes without recursion: ancestors, and schedules that order effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from talweg.graph.node import Node


def sources_of(node: Node) -> tuple:
    """Return the nodes that must be computed before `node`, controls included."""
    controls = node.table.controls
    if controls:
        own = controls.get(node)
        if own:
            return (*node.key[2:], *own)
    return node.key[2:]


def postorder(
    roots: Iterable[Node], done: dict[Node, None], before: Callable[[Node], Iterable] = sources_of
) -> None:
    """Add the roots and their ancestors to `done` in postorder."""
    for root in roots:
        if root in done:
            continue
        stack: list = [(root, iter(before(root)))]
        entered = {root}
        while stack:
            node, sources = stack[-1]
            for source in sources:
                if source not in done and source not in entered:
                    entered.add(source)
                    stack.append((source, iter(before(source))))
                    break
            else:
                stack.pop()
                done[node] = None


def schedule(roots: Iterable[Node], before: Callable[[Node], Iterable] = sources_of) -> list[Node]:
    """Schedule the roots and their ancestors, with effects in order of creation."""
    roots = list(roots)
    needed: dict[Node, None] = {}
    postorder(roots, needed, before)
    effects = [node for node in needed if node.serial is not None]
    if len(effects) < 2:
        return list(needed)
    effects.sort(key=lambda node: node.serial)  # type: ignore[arg-type, return-value]
    order: dict[Node, None] = {}
    postorder(effects, order, before)
    postorder(roots, order, before)
    return list(order)
