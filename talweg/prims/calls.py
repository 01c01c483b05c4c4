"""Calling a traced function: one primitive, whose body is the trace.

`z, history = call(operands; body)`.  The history is as in `prims/control.py`.
"""

from __future__ import annotations

from talweg.core.aval import Aval
from talweg.core.declare import primitive
from talweg.core.dtypes import variant
from talweg.core.hooks import hooks
from talweg.core.roles import Role, Trait
from talweg.graph.node import BODY, GRAPH
from talweg.prims.control import avals_outside
from talweg.prims.rows import in_front


@primitive
class call:
    """z, history = body(operands)."""

    operands = "*operands"
    role = Role.CALL
    multiple = True
    effect = BODY
    memory = "none"

    def tf_type(*operands, body):
        return f"{'Stateful' if body.has_effects else ''}PartitionedCall"

    def infer(*operands, body):
        return (*avals_outside(body, operands, body.outputs), Aval((), variant))

    def numpy(run, operands, *, body):
        return run.call(body, operands)

    def batch(size, kinds, *operands, body):
        return hooks.call_batch(call, size, kinds, operands, body.settle_implementation())

    def vjp(g: tuple, z, *operands, body, wanted):
        return hooks.call_vjp(g, z, operands, body.settle_implementation(), wanted)

    def jvp(t, z, *operands, body):
        return hooks.call_jvp(t, z, operands, body.settle_implementation())


@primitive
class with_rule:
    """z = the first `count` operands; their cotangents go to the other operands by `rule`.

    This is a call of a function with a custom gradient: its results, and its arguments.
    """

    operands = "*operands"
    role = Role.CUSTOM_RULE
    multiple = True
    effect = GRAPH
    memory = "view"
    traits = {Trait.PASSES_ON}

    def infer(*operands, rule, count):
        return tuple(operands[:count])

    def numpy(*operands, rule, count):
        return tuple(operands[:count])

    def batch(size, kinds, *operands, rule, count):
        found = [in_front(x, size, kind) for x, kind in zip(operands[:count], kinds)]
        return with_rule(*found, *operands[count:], rule=rule, count=count)

    def vjp(g, z, *operands, rule, count):
        return [*[None] * count, *rule.vjp(g, z, operands[count:], {}, [])]

    def jvp(t: tuple, z, *operands, rule, count):
        return rule.jvp(list(t[count:]), z, operands[count:], {})
