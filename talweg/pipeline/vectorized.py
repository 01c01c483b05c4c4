"""Functions of elements applied to many rows at once.

A traced function whose operations act element by element (or move elements, in ways known when it
was traced) gives for a stack of rows the stack of its results, and the same numbers: each operation
gets one more axis in front.  Then `map` over rows of arrays costs a few calls of NumPy for hundreds
of rows.  Anything else (random numbers, variables, reductions, Python) is called row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.declare import ELEMENTWISE
from talweg.core.dims import Dim
from talweg.core.roles import Trait
from talweg.eager.tensor import wrap
from talweg.graph.handle import Handle
from talweg.graph.node import Node
from talweg.graph.symbol import Symbol, constant_of
from talweg.graph.walk import postorder
from talweg.trace.host_calls import Outside
from talweg.transform.batch import apply_rule

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive
    from talweg.graph.subgraph import Body
    from talweg.trace.concrete import ConcreteFunction

MANY = 64  # operations, beyond which nobody is sure that it pays

Step = tuple[Callable[..., Any], list[int], int]


class Vectorized:
    """The operations of a traced function, for stacks of rows."""

    @classmethod
    def of(cls, concrete: ConcreteFunction) -> Vectorized | None:
        """Return the vectorized form of a traced function, if all its operations have one."""
        captured = concrete._outside
        if any([type(value) in (Handle, Symbol) for value in captured]):
            return None
        body = concrete.body
        if body.effects or not body.outputs:
            return None
        nodes: dict[Node, None] = {}
        postorder(body.outputs, nodes)
        rows = len(body.inputs) - len(captured)
        try:
            return cls(body, list(nodes), rows, captured)
        except _RowByRowError:
            return None

    def __init__(self, body: Body, nodes: list[Node], rows: int, captured: list):
        self.slots: dict[Node, int] = {}
        self.stacked: dict[Node, bool] = {}
        self.start: list = [None] * rows
        self.steps: list[Step] = []
        for place, node in enumerate(body.inputs):
            self._place(node, place < rows)
            if place >= rows:
                self.start.append(np.asarray(captured[place - rows]._array))
        for node in nodes:
            if node not in self.slots:
                self._add(node)
        if len(self.steps) > MANY:
            raise _RowByRowError
        self.outputs = [(self.slots[node], self.stacked[node]) for node in body.outputs]

    def _place(self, node: Node, stacked: bool) -> int:
        if type(node.aval) is tuple or node.aval.dims is None:
            raise _RowByRowError
        self.slots[node] = len(self.slots)
        self.stacked[node] = stacked
        return self.slots[node]

    def _add(self, node: Node) -> None:
        """Add one more operation; _RowByRowError for one without a form for stacks."""
        content = constant_of(node)
        if content is not None:
            self._place(node, False)
            self.start.append(content.array)
            return
        prim = node.prim
        known = prim.batch == ELEMENTWISE or Trait.MOVES_ROWS in prim.traits
        if not known or prim.effect is not None or prim.multiple or _has_sizes(node):
            raise _RowByRowError
        operands = node.operands
        flags = [self.stacked[operand] for operand in operands]
        inputs = [self.slots[operand] for operand in operands]
        slot = self._place(node, any(flags))
        self.start.append(None)
        if prim.batch != ELEMENTWISE:
            kernel = partial(_apply_batch_rule, prim, tuple(flags), node.params)
        elif not any(flags):
            kernel = partial(prim.numpy, **node.params)
        else:
            kernel = _elementwise(node, flags)
        self.steps.append((kernel, inputs, slot))

    def __call__(self, arrays: list) -> list:
        """Return the results for stacks of rows."""
        count = len(arrays[0])
        values = [*arrays, *self.start[len(arrays) :]]
        with Outside(), np.errstate(all="ignore"):
            for kernel, inputs, place in self.steps:
                values[place] = kernel(*[values[slot] for slot in inputs])
        return [
            values[slot] if stacked else np.broadcast_to(values[slot], (count, *values[slot].shape))
            for slot, stacked in self.outputs
        ]


class _RowByRowError(Exception):
    """There is no form for stacks of rows."""


def _has_sizes(node: Node) -> bool:
    """Return whether a parameter, or the shape of an operand, is only known when the graph runs."""
    shapes = [operand.aval.dims for operand in node.operands]
    return any([_is_open(part) for part in (*shapes, *node.params.values())])


def _is_open(value: object) -> bool:
    if type(value) is tuple:
        return any([_is_open(part) for part in value])
    return type(value) is Dim


def _elementwise(node: Node, flags: list[bool]) -> Callable[..., Any]:
    """Return the kernel of an elementwise operation,
    with operands whose ranks leave the rows in front.
    """
    kernel = partial(node.prim.numpy, **node.params) if node.params else node.prim.numpy
    ranks = [len(operand.aval.dims) for operand in node.operands]
    rank = max(ranks)
    missing = [rank - own if flag else 0 for own, flag in zip(ranks, flags)]
    if not any(missing):
        return kernel

    def align(*arrays: object) -> Any:
        return kernel(*[_spread(array, count) for array, count in zip(arrays, missing)])

    return align


def _spread(array: Any, missing: int) -> Any:
    if not missing:
        return array
    return array.reshape((len(array), *(1,) * missing, *array.shape[1:]))


def _apply_batch_rule(prim: Primitive, flags: tuple, params: dict, *arrays: Any) -> Any:
    """Return an operation by its batch rule."""
    operands = [wrap(array) for array in arrays]
    if not any(flags):
        return prim(*operands, **params)._array
    count = next(len(array) for array, flag in zip(arrays, flags) if flag)
    return apply_rule(prim, count, flags, operands, params)._array
