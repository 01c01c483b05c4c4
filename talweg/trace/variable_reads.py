"""Reads of variables inside branches, loops and calls, as the outer graph sees them.

A body takes the variables it reads as operands, so gradients by them flow.  It runs once what its
operation depends on is there: it must see what was written on the way to that, not the values at
the start of the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.roles import Role
from talweg.graph.function_graph import FunctionGraph
from talweg.graph.node import BODY, WRITE, Node
from talweg.graph.symbol import Symbol
from talweg.graph.walk import postorder
from talweg.passes.functionalize import bodies_of, program_of

if TYPE_CHECKING:
    from talweg.graph.graph import Graph
    from talweg.graph.handle import Handle


def as_of_operation(captures: list, operands: Iterable[Any]) -> list:
    """Return captures with reads of variables as of the operation with these operands."""
    base = dispatch.context.base
    if base is None or isinstance(base, FunctionGraph):  # there all effects are in order
        return captures
    reads = {number: x for number, x in enumerate(captures) if _is_early(x, base)}
    if not reads:
        return captures
    order: dict[Node, None] = {}
    tensors = [x for x in (*operands, *captures) if type(x) is Symbol]
    postorder([*[x.node for x in tensors if x.node.table is base.table], *base.controls], order)
    values = list(captures)
    for number, read in reads.items():
        handle = read.node.params["variable"]
        writes = tuple([node for node in order if handle in _find_written(node)])
        if writes:
            values[number] = _read_after(base, handle, writes)
    return values


def _is_early(value: Symbol, base: Graph) -> bool:
    """Return whether a tensor is a variable's value at the start
    of the run, and it is ever written.
    """
    if type(value) is not Symbol or value.node.prim.role is not Role.READ:
        return False
    node = value.node
    return not node.inputs and node.table is base.table and node.params["variable"].updated


def _find_written(node: Node) -> Iterable[Any]:
    if node.prim.effect == WRITE:
        return (node.params["variable"],)
    if node.prim.effect == BODY:
        return {handle for body in bodies_of(node) for handle in program_of(body).writes}
    return ()


def _read_after(base: Any, handle: Handle, writes: tuple) -> Any:
    before, base.controls = base.controls, writes
    try:
        return handle.variable.value()  # shown to the recorders, too
    finally:
        base.controls = before
