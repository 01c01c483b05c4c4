"""Branches and loops over graphs: primitives whose parameters are bodies.

The last result of both is a *history*: a value that stands for everything computed inside.
`inner_value(history, inner=node)` is the value of one inner node, seen from outside: the value in
the branch taken, or the list of its values, one for each iteration.  Only values that somebody asks
for are kept.  So the reverse of a branch or loop computes nothing twice, saves just what it needs,
and is an ordinary branch or loop, which can be differentiated again.  A history is a value like any
other (an element of a list, a loop variable), and so are its cotangent and its tangent.

`branch(index, *operands; bodies)`: runs body number `index` (the last one if out of range) on the
operands.  `loop(*variables, *others; cond, body, count)`: while `cond` gives true, the first
`count` operands become what `body` gives.

Derivatives are in `trace/control_rules.py`, since they trace new bodies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import primitive
from talweg.core.dim_walks import substitute
from talweg.core.dims import Dim, same_dims
from talweg.core.dtypes import int32, variant
from talweg.core.errors import invalid
from talweg.core.hooks import hooks
from talweg.core.primitive import NoGradient, later
from talweg.core.roles import Role, Trait
from talweg.graph.node import BODY, GRAPH
from talweg.kernels.variants import History, List, total
from talweg.prims.rows import UNEVEN, Kinds, element_dims, in_front

if TYPE_CHECKING:
    from talweg.core.dtypes import DType
    from talweg.core.value import Tensor
    from talweg.graph.subgraph import Body

_LIST = Aval((), variant)


def avals_outside(body: Body, operands: tuple, nodes: tuple) -> list[Aval]:
    """Return the abstract values of inner nodes from outside: sizes made inside are unknown."""
    known: dict[Any, Any] = {}
    for node, outside in zip(body.inputs, operands):
        if node.aval.dims is None or outside.dims is None:
            continue
        for inner, outer in zip(node.aval.dims, outside.dims):
            if type(inner) is Dim and len(inner.terms) == 1 and not inner.constant:
                atoms, factor = inner.terms[0]
                if factor == 1 and len(atoms) == 1:
                    known.setdefault(atoms[0], outer)
    avals = []
    for node in nodes:
        dims = node.aval.dims
        if dims is not None:
            dims = tuple([substitute(size, known.get) for size in dims])
        avals.append(Aval(dims, node.aval.dtype))
    return avals


def merge_facts(left: Aval, right: Aval) -> Aval:
    """Return the facts that hold for both of two results."""
    if left.dims is None or right.dims is None or len(left.dims) != len(right.dims):
        return Aval(None, left.dtype)
    pairs = zip(left.dims, right.dims)
    dims = [
        a if a is not None and b is not None and same_dims((a,), (b,)) else None for a, b in pairs
    ]
    return Aval(tuple(dims), left.dtype)


@primitive
class branch:
    """z, history = bodies[index](operands)."""

    operands = "index *operands"
    role = Role.BRANCH
    tf_type = "If"
    tf_name = "cond"
    multiple = True
    effect = BODY
    memory = "none"

    def infer(index, *operands, bodies):
        results = avals_outside(bodies[0], operands, bodies[0].outputs)
        for body in bodies[1:]:
            results = list(map(merge_facts, results, avals_outside(body, operands, body.outputs)))
        return (*results, _LIST)

    def numpy(run, operands, *, bodies):
        number = int(operands.pop(0))
        body = bodies[number if 0 <= number < len(bodies) else -1]
        return run.call(body, operands)

    def batch(size, kinds, *operands, bodies):
        return hooks.branch_batch(size, kinds, operands, bodies)

    def vjp(g: tuple, z, index, *operands, bodies, wanted):
        return hooks.branch_vjp(g, z, index, operands, bodies, wanted[1:])

    def jvp(t: tuple, z, index, *operands, bodies):
        return hooks.branch_jvp(t, z, index, operands, bodies)


@primitive
class loop:
    """z, history = the variables after the last iteration."""

    operands = "*operands"
    role = Role.LOOP
    tf_type = "While"
    tf_name = "while"
    multiple = True
    effect = BODY
    memory = "none"

    def infer(*operands, cond, body, count, avals):
        return (*[Aval(dims, dtype) for dims, dtype in avals], _LIST)

    def numpy(run: Callable, operands, *, cond, body, count, avals):
        variables, others = operands[:count], operands[count:]
        operands.clear()
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
        return (*variables, History(trips, {node: List.of(kept[node]) for node in inner}))

    def batch(size, kinds, *operands, **params):
        return hooks.loop_batch(size, kinds, operands, **params)

    def vjp(g: tuple, z, *operands, cond, body, count, avals, wanted):
        return hooks.loop_vjp(g, z, operands, body, count, wanted)

    def jvp(t, z, *operands, cond, body, count, avals):
        return hooks.loop_jvp(t if isinstance(t, tuple) else (t,), z, operands, body, count)


@primitive
class again:
    """z, history = body(operands), run once more for derivatives instead of being remembered."""

    operands = "*operands"
    role = Role.AGAIN
    tf_type = "PartitionedCall"
    multiple = True
    effect = BODY
    memory = "none"

    def infer(*operands, body):
        return (*avals_outside(body, operands, body.outputs), _LIST)

    def numpy(run: Callable, operands, *, body):
        return (*run(body, operands), History(1, {}))

    def batch(size, kinds, *operands, body):
        return hooks.call_batch(again, size, kinds, operands, body)

    def vjp(g: tuple, z, *operands, body, wanted):
        return hooks.again_vjp(g, operands, body, wanted)

    def jvp(t: tuple, z, *operands, body):
        return hooks.again_jvp(t, operands, body)


@primitive
class inner_value:
    """y = the value of the node `inner` inside the operation that made the history.

    `rows`: the sizes in front of it, if the history is that of a batch.
    """

    operands = "history"
    role = Role.INNER_VALUE
    effect = GRAPH
    memory = "view"
    traits = {Trait.PASSES_ON}

    def infer(history, *, inner, stacked, rows=()):
        dims, dtype = keep_fixed_dims(inner.aval), inner.aval.dtype
        if stacked or dtype is variant:
            return _LIST
        return Aval(None if dims is None else (*rows, *dims), dtype)

    def numpy(history, *, inner, stacked, rows=()):
        return history.values.get(inner)

    def batch(size, kinds, history, *, inner, stacked, rows=()):
        if UNEVEN in kinds:
            return NotImplemented
        return inner_value(history, inner=inner, stacked=stacked, rows=(size, *rows))

    def vjp(g, z, history, *, inner, stacked, rows=()):
        return [history_of(g, inner=inner)]

    def jvp(t, z, history, *, inner, stacked, rows=()):
        return None if t is None else history_part(t, *zero_like(z), inner=inner, **zero(z))


def keep_fixed_dims(aval: Aval) -> tuple | None:
    """Return the dimensions of `aval`, None where they are no numbers."""
    if aval.dims is None:
        return None
    return tuple([size if type(size) is int else None for size in aval.dims])


def is_fixed(x: Tensor) -> bool:
    """Return whether a tensor's shape is known, so that its zeros need no look at it."""
    dims = x.shape._dims
    return dims is not None and None not in dims


def zero_like(x: Tensor) -> tuple:
    """Return the operand that gives a zero in place of `x` its shape: none if it is known."""
    return () if is_fixed(x) else (x,)


def zero(x: Tensor) -> dict:
    """Return the parameters of an operation that may give a zero in place of `x`."""
    return {"dims": x.shape._dims if is_fixed(x) else None, "dtype": x.dtype}


def zeros_if_absent(found: object, like: tuple, dims: tuple | None, dtype: DType) -> Any:
    """Return `found`, or zeros like the operand given or of these dimensions; else absent."""
    if found is not None or dtype is variant:
        return found
    if like:  # where nobody computed the value there is nothing to be like
        return None if like[0] is None else np.zeros_like(like[0])
    return None if dims is None or None in dims else np.zeros(dims, dtype.numpy_dtype)


@primitive
class history_of:
    """h = a history in which all is zero but the value of `inner`, which is x: a cotangent."""

    operands = "x"
    effect = GRAPH
    memory = "view"
    traits = {Trait.PASSES_ON}

    def infer(x, *, inner):
        return _LIST

    def numpy(x, *, inner):
        return History(0, {inner: x})

    def batch(size, kinds, x, *, inner):
        return NotImplemented if UNEVEN in kinds else history_of(x, inner=inner)

    def vjp(g, z, x, *, inner):
        return [history_part(g, *zero_like(x), inner=inner, **zero(x))]

    def jvp(t, z, x, *, inner):
        return None if t is None else history_of(t, inner=inner)


@primitive
class history_part:
    """y = the part of a cotangent or tangent of a history that belongs to `inner`.

    Zeros like the second operand, or of shape `dims`, if there is none.
    """

    operands = "history *like"
    effect = GRAPH
    memory = "view"

    def infer(history, *like, inner, dims, dtype):
        return like[0] if like else Aval(dims, dtype)

    def numpy(history, *like, inner, dims, dtype):
        found = None if history is None else history.values.get(inner)
        return zeros_if_absent(found, like, dims, dtype)

    def batch(size, kinds, history, *like, inner, dims, dtype):
        if UNEVEN in kinds:
            return NotImplemented
        history = in_front(history, size, kinds[0])
        like = [in_front(x, size, kind) for x, kind in zip(like, kinds[1:])]
        dims = element_dims(size, dims, dtype)
        return history_part(history, *like, inner=inner, dims=dims, dtype=dtype)

    def vjp(g, z, history, *like, inner, dims, dtype):
        return [history_of(g, inner=inner), *[None] * len(like)]

    def jvp(t: tuple, z, history, *like, inner, dims, dtype):
        t = t[0] if like else t
        if t is None:
            return None
        if like:
            return history_part(t, *like, inner=inner, dims=dims, dtype=dtype)
        return history_part(t, *zero_like(z), inner=inner, **zero(z))


@primitive
class history_map:
    """h = a history whose values by inner node are those that the operand has for other nodes.

    `pairs` = ((node, node of the operand), ...).  So the history of a derived operation becomes the
    tangent of the history of the operation it was derived from.
    """

    operands = "history"
    effect = GRAPH
    memory = "view"

    def infer(history, *, tangents):
        return _LIST

    def numpy(history, *, tangents):
        if history is None:
            return None
        own = history.values
        values = {node: own[part] for node, part in tangents.pairs if part in own}
        return History(history.trips, values)

    def batch(size, kinds, history, *, tangents):
        return NotImplemented if UNEVEN in kinds else history_map(history, tangents=tangents)

    def vjp(g, z, history, *, tangents):
        return [history_unmap(g, tangents=tangents)]

    def jvp(t, z, history, *, tangents):
        return None if t is None else history_map(t, tangents=tangents)


@primitive
class history_unmap:
    """h = the transpose of `history_map`."""

    operands = "history"
    effect = GRAPH
    memory = "view"

    def infer(history, *, tangents):
        return _LIST

    def numpy(history, *, tangents):
        if history is None:
            return None
        values: dict = {}
        for node, part in tangents.pairs:
            if node in history.values:
                values[part] = total(values.get(part), history.values[node])
        return History(history.trips, values)

    def batch(size, kinds, history, *, tangents):
        return NotImplemented if UNEVEN in kinds else history_unmap(history, tangents=tangents)

    def vjp(g, z, history, *, tangents):
        return [history_map(g, tangents=tangents)]

    def jvp(t, z, history, *, tangents):
        return None if t is None else history_unmap(t, tangents=tangents)


@primitive
class trips:
    """y = how many iterations a loop made."""

    operands = "history"
    effect = GRAPH
    no_gradient = NoGradient("a number of iterations is an integer")
    memory = "none"

    def infer(history):
        return Aval((), int32)

    def numpy(history):
        return np.int32(history.trips)

    def batch(size, kinds, history):
        return NotImplemented if UNEVEN in kinds else Kinds(trips(history), (0,))


@primitive
class require:
    """y = x; InvalidArgumentError with `message` unless `holds`.

    `where_used`: a branch or loop that reads y asks itself, so nothing is asked if it does not run.
    """

    operands = "x holds"
    role = Role.REQUIREMENT
    tf_type = "Assert"
    effect = GRAPH
    memory = "view"

    def infer(x, holds, *, message, where_used=False):
        return x

    def numpy(x, holds, *, message, where_used=False):
        if not holds:
            raise invalid("TW207", message)
        return x

    def batch(size, kinds, x, holds, *, message, where_used=False):
        if kinds[1]:
            holds = later("reduce_all")(holds, axes=(0,), keepdims=False)
        return Kinds(require(x, holds, message=message, where_used=where_used), kinds[:1])

    def vjp(g, z, x, holds, *, message, where_used=False):
        return [g, None]

    def jvp(t: tuple, z, x, holds, *, message, where_used=False):
        return t[0]

    def expand(t, x, holds, *, message, where_used=False):
        t.require(holds)
        return x
