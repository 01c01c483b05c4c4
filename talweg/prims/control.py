"""Branches and loops over graphs: primitives whose parameters are bodies.

The last result of both is a *history*: a value that stands for everything computed inside.
`inner_value(history, inner=node)` is the value of one inner node, seen from outside: the value in
the branch taken, or the list of its values, one for each iteration.  Only values that somebody asks
for are kept.  So the reverse of a branch or loop computes nothing twice, saves just what it needs,
and is an ordinary branch or loop, which can be differentiated again.

`branch(index, *operands; bodies)`: runs body number `index` (the last one if out of range) on the
operands.  `loop(*variables, *others; cond, body, count)`: while `cond` gives true, the first
`count` operands become what `body` gives.

Derivatives are in `trace/control_rules.py`, since they trace new bodies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, primitive
from talweg.core.dims import Dim, same_dims, substitute
from talweg.core.dtypes import int32, variant
from talweg.core.primitive import NoGradient
from talweg.core.value import OPERATIONS
from talweg.graph.node import BODY, GRAPH


class History:
    """What a branch or loop kept of its inside: how often it ran, and values of inner nodes."""

    __slots__ = ("trips", "values")

    def __init__(self, trips: int, values: dict):
        self.trips, self.values = trips, values


class HistoryCotangent:
    """The cotangents of inner values, by inner node."""

    __slots__ = ("by_node",)

    def __init__(self, by_node: dict):
        self.by_node = by_node

    def __add__(self, other: HistoryCotangent) -> HistoryCotangent:
        total = dict(self.by_node)
        for node, g in other.by_node.items():
            present = total.get(node)
            total[node] = g if present is None else OPERATIONS["accumulate"](present, g)
        return HistoryCotangent(total)


def outputs_outside(body: Any, operands: tuple) -> list[Aval]:
    """What is known outside of a body's outputs: sizes that only exist inside are unknown."""
    known: dict[Any, Any] = {}
    for node, outside in zip(body.inputs, operands):
        if node.aval.dims is None or outside.dims is None:
            continue
        for inner, outer in zip(node.aval.dims, outside.dims):
            if type(inner) is Dim and len(inner.terms) == 1 and not inner.constant:
                atoms, factor = inner.terms[0]
                if factor == 1 and len(atoms) == 1:
                    known.setdefault(atoms[0], outer)
    found = []
    for node in body.outputs:
        dims = node.aval.dims
        if dims is not None:
            dims = tuple([substitute(size, known.get) for size in dims])
        found.append(Aval(dims, node.aval.dtype))
    return found


def merged(left: Aval, right: Aval) -> Aval:
    """What holds for both of two results."""
    if left.dims is None or right.dims is None or len(left.dims) != len(right.dims):
        return Aval(None, left.dtype)
    pairs = zip(left.dims, right.dims)
    dims = [a if a is not None and b is not None and same_dims((a,), (b,)) else None
            for a, b in pairs]  # fmt: skip
    return Aval(tuple(dims), left.dtype)


@primitive
class branch:
    """z, history = bodies[index](operands)."""

    operands = "index *operands"
    multiple = True
    effect = BODY
    batch = LOOP
    memory = "none"

    def infer(index, *operands, bodies):
        results = outputs_outside(bodies[0], operands)
        for body in bodies[1:]:
            results = list(map(merged, results, outputs_outside(body, operands)))
        return (*results, Aval((), variant))

    def numpy(run, index, *operands, bodies):
        number = int(index)
        body = bodies[number if 0 <= number < len(bodies) else -1]
        inner = run.inner(body)
        outputs, values = run.with_inner(body, list(operands), inner)
        return (*outputs, History(1, dict(zip(inner, values))))

    def vjp(g, z, index, *operands, bodies):
        return OPERATIONS["branch_vjp"](g, z, index, operands, bodies)

    def jvp(t, z, index, *operands, bodies):
        return OPERATIONS["branch_jvp"](t, z, index, operands, bodies)


@primitive
class loop:
    """z, history = the variables after the last iteration."""

    operands = "*operands"
    multiple = True
    effect = BODY
    batch = LOOP
    memory = "none"

    def infer(*operands, cond, body, count, avals):
        return (*[Aval(dims, dtype) for dims, dtype in avals], Aval((), variant))

    def numpy(run, *operands, cond, body, count, avals):
        variables, others = list(operands[:count]), list(operands[count:])
        del operands
        trips = 0
        inner = run.inner(body)
        kept: dict = {node: [] for node in inner}
        while run(cond, variables + others)[0]:
            arguments = variables + others
            variables = None
            if inner:
                variables, values = run.with_inner(body, arguments, inner)
                for node, value in zip(inner, values):
                    kept[node].append(value)
            else:
                variables = run(body, arguments)
            del arguments
            trips += 1
        return (*variables, History(trips, kept))

    def vjp(g, z, *operands, cond, body, count, avals):
        return OPERATIONS["loop_vjp"](g, z, operands, body, count)

    def jvp(t, z, *operands, cond, body, count, avals):
        return OPERATIONS["loop_jvp"](t, z, operands, body, count)


@primitive
class inner_value:
    """y = the value of the node `inner` inside the operation that made the history."""

    operands = "history"
    effect = GRAPH
    batch = LOOP
    memory = "view"

    def infer(history, *, inner, stacked):
        return Aval((), variant) if stacked else inner.aval

    def numpy(history, *, inner, stacked):
        return history.values.get(inner)

    def vjp(g, z, history, *, inner, stacked):
        return [HistoryCotangent({inner: g})]

    def jvp(t, z, history, *, inner, stacked):
        return None if t is None else OPERATIONS["history_tangent"](t, history, inner, stacked)


@primitive
class trips:
    """y = how many iterations a loop made."""

    operands = "history"
    effect = GRAPH
    no_gradient = NoGradient("a number of iterations is an integer")
    batch = LOOP
    memory = "none"

    def infer(history):
        return Aval((), int32)

    def numpy(history):
        return np.int32(history.trips)
