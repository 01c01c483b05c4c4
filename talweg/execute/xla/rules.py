"""Rules from equations to operations of XLA, read from declarations.

The first that serves: `xla` (a function of JAX by its dotted name, a way of `ways.py`, or text over
`j`), `fold`, `scatter`, `scan`, `redraw`, `scalar`, `loops`.  What has none runs as its NumPy
kernel, on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.execute.xla import engine, meshes
from talweg.execute.xla.elements import ElementEvaluator, axes_of, leaf, operands_of
from talweg.execute.xla.engine import jax, lax
from talweg.execute.xla.engine import numpy as jnp
from talweg.execute.xla.scalars import SCALARS, compute_dtype
from talweg.execute.xla.ways import WAYS
from talweg.lower.fusion.inline import UnloweredError, scalar_of
from talweg.lower.handler import s
from talweg.lower.ir.index import Axis, Index
from talweg.passes.specialize.program import Equation

if TYPE_CHECKING:
    from talweg.execute.xla.emitter import Emitter


Rule = Callable[[Any, Equation, list], Any]  # of an emitter, an equation, its operands
FOLDS = {
    "add": jnp.sum,
    "mul": jnp.prod,
    "maximum": jnp.max,
    "minimum": jnp.min,
    "and": jnp.all,
    "or": jnp.any,
}
COMBINED = {"add": "add", "mul": "mul", "maximum": "max", "minimum": "min", None: "set"}


class JaxHandler:
    """The handler of `xla` rules of declarations: `j.numpy.sort(x)`, `j.lax.rev(x, (0,))`.

    `require(condition)`: where it does not hold the program fails, and the interpreter, which runs
    the kernel, says why.
    """

    numpy, lax, linalg = jnp, lax, jnp.linalg

    def __init__(self, require: Callable[[Any], None], replicas: str | None = None):
        self.require, self._replicas = require, replicas

    def all_reduce(self, x: Any, count: int) -> Any:
        """Sum over all replicas; in one program for all of them, `count` times x."""
        return x * count if self._replicas is None else lax.psum(x, self._replicas)

    def relayout(self, x: Any, layout: str | None) -> Any:
        """Constrain x to a sharding; x itself where its mesh is unknown."""
        sharding = meshes.SHARDINGS.get(layout)
        return x if sharding is None else lax.with_sharding_constraint(x, sharding)

    def check(self, function: Callable[..., Any], *operands: object) -> Any:
        """Apply a function of linear algebra, with NaN for operands that the kernel refuses.

        NotImplemented for 16-bit floats.
        """
        if any([x.dtype.itemsize == 2 for x in operands]):
            return NotImplemented
        found = function(*operands)
        self.require(jnp.all(jnp.isfinite(found)))
        return found


class NoEmitter:
    """A stub emitter for the question whether a rule applies."""

    axes: dict = {}
    replicas: str | None = None

    def require(self, condition: Any) -> None:
        """Do nothing."""


def rule_of(equation: Equation) -> Rule | None:
    """Return the rule of an equation; None if XLA does not support it."""
    lowering = equation.prim.lowering
    direct = lowering.get("xla")
    if direct is not None:
        return _rule_for_dtypes(equation, _direct)
    if "fold" in lowering:
        return _fold
    for name, rule in (("scatter", _scatter), ("scan", _scan), ("redraw", _redraw)):
        if callable(lowering.get(name)) and _plan(name, equation, equation.inputs) is not None:
            return rule
    scalar = lowering.get("scalar")
    if callable(scalar) or scalar in SCALARS:
        return _rule_for_dtypes(equation, _scalar)
    if callable(lowering.get("loops")):
        cost = lowering.get("cost")
        if cost is None or cost(*equation.inputs, **equation.params) is not None:
            return _loops
    return None


def _rule_for_dtypes(equation: Equation, rule: Rule) -> Rule | None:
    """Return a rule, if it supports these dtypes."""
    values = (*equation.inputs, *equation.outputs)
    if rule is _scalar and not any([x.dtype.is_complex for x in values]):
        return rule
    kinds = [jax.ShapeDtypeStruct(x.dims, x.dtype.numpy_dtype) for x in equation.inputs]
    try:
        found = jax.eval_shape(lambda *arrays: _try(rule, equation, [*arrays]), *kinds)
    except (NotImplementedError, TypeError, UnloweredError, ValueError):
        return None
    return None if found is None else rule


def _try(rule: Rule, equation: Equation, arrays: list) -> Any:
    found = rule(NoEmitter(), equation, arrays)
    return None if found is NotImplemented else found


def _direct(emitter: Emitter, equation: Equation, arrays: list) -> Any:
    rule, params = equation.prim.lowering["xla"], equation.params
    if callable(rule):
        return rule(JaxHandler(emitter.require, emitter.replicas), *arrays, **params)
    found = WAYS.get(rule) or engine.jax_function(rule)
    return found(*arrays, **params)


def _fold(emitter: Emitter, equation: Equation, arrays: list) -> Any:
    (x,), params = arrays, equation.params
    op, _ = equation.prim.lowering["fold"]
    more: dict[str, Any] = {}
    if not x.size and op in ("maximum", "minimum"):
        floating = jnp.issubdtype(x.dtype, jnp.floating)
        limits = (-np.inf, np.inf) if floating else _limits(x.dtype)
        more["initial"] = limits[op == "minimum"]
    wide = x.astype(compute_dtype(equation.inputs[0].dtype))
    return FOLDS[op](wide, axis=params["axes"], keepdims=params["keepdims"], **more)


def _limits(dtype: Any) -> tuple:
    known = np.iinfo(dtype)
    return known.min, known.max


def _scalar(emitter: Emitter, equation: Equation, arrays: list) -> Any:
    parts = [leaf(array, x.dtype) for x, array in zip(equation.inputs, arrays)]
    output = equation.output
    expr: Any = scalar_of(equation.prim, parts, equation.params, output.dtype)
    if expr is NotImplemented:
        return expr
    return ElementEvaluator(emitter.axes).spread(expr, output.dims, output.dtype)


def _loops(emitter: Emitter, equation: Equation, arrays: list) -> Any:
    output = equation.output
    index, counted = axes_of(output.dims)
    operands = operands_of(equation.inputs, arrays)
    expr = equation.prim.lowering["loops"](s, index, *operands, **equation.params)
    return ElementEvaluator({**emitter.axes, **counted}).spread(expr, output.dims, output.dtype)


def _scatter(emitter: Emitter, equation: Equation, arrays: list) -> Any:
    """Scatter updates into a start; positions outside of the result are ignored."""
    plan = _plan("scatter", equation, arrays)
    index, counted = axes_of(plan.over)
    at, update, condition = plan.at(index)
    elements = ElementEvaluator({**emitter.axes, **counted})
    output, dtype = equation.output, compute_dtype(equation.output.dtype)
    start = _start(emitter, plan.start, output.dims, dtype)
    updates = jnp.broadcast_to(elements.of(update), plan.over).astype(dtype)
    places = [jnp.broadcast_to(elements.index(i), plan.over) for i in at]
    if condition is not None:
        holds = jnp.broadcast_to(elements.of(condition), plan.over)
        places[0] = jnp.where(holds, places[0], output.dims[0] + 1)
    where = tuple(places)
    if plan.mark is not None:
        start = start.at[where].set(plan.mark, mode="drop")
    if plan.op == "or":
        narrow = start.astype(jnp.int32).at[where].max(updates.astype(jnp.int32), mode="drop")
        return narrow > 0
    if plan.op in ("fmax", "fmin"):
        none = -jnp.inf if plan.op == "fmax" else jnp.inf
        updates = jnp.where(jnp.isnan(updates), none, updates)
        return getattr(start.at[where], plan.op[1:])(updates, mode="drop")
    return getattr(start.at[where], COMBINED[plan.op])(updates, mode="drop")


def _start(emitter: Emitter, start: Any, dims: tuple, dtype: Any) -> Any:
    if not callable(start):
        return jnp.full(dims, start, dtype)
    index, counted = axes_of(dims)
    expr: Any = start(*index)
    return jnp.broadcast_to(ElementEvaluator({**emitter.axes, **counted}).of(expr), dims).astype(
        dtype
    )


def _scan(emitter: Emitter, equation: Equation, arrays: list) -> Any:
    """Scan along an axis: the carried value, one element after the other."""
    plan = _plan("scan", equation, arrays)
    dtype, count = equation.output.dtype, arrays[0].shape[plan.axis]
    rows = [jnp.moveaxis(x, plan.axis, 0).astype(compute_dtype(dtype)) for x in arrays]
    along = Axis("t", max(count, 2))

    def step(carried: Any, row: tuple) -> tuple:
        number, *parts = row
        exprs = [leaf(part, x.dtype) for x, part in zip(equation.inputs, parts)]
        expr = plan.step(leaf(carried, dtype), Index.of(along), *exprs)
        element = ElementEvaluator({**emitter.axes, along: number}).of(expr)
        new = jnp.broadcast_to(element, carried.shape).astype(carried.dtype)
        return new, carried if plan.exclusive else new

    numbers = jnp.arange(count)
    numbers = numbers[::-1] if plan.reverse else numbers
    start = jnp.full(rows[0].shape[1:], plan.start, compute_dtype(dtype))
    _, element = lax.scan(step, start, (numbers, *rows), reverse=plan.reverse)
    return jnp.moveaxis(element, 0, plan.axis)


def _plan(name: str, equation: Equation, arrays: Any) -> Any:
    """Return the plan of a rule, None where it does not apply; `arrays` are read later."""
    operands = operands_of(equation.inputs, arrays)
    return equation.prim.lowering[name](s, *operands, **equation.params)


def _redraw(emitter: Emitter, equation: Equation, arrays: list) -> Any:
    """Draw random numbers by rejection, each group from blocks of its own."""
    plan = _plan("redraw", equation, arrays)
    output, size = equation.output, plan.group
    groups = -(-output.size // size)
    group, block = Axis("g", max(groups, 2)), Axis("b", max(plan.blocks, 2))
    kind = compute_dtype(plan.dtype)

    def draw(state: tuple) -> tuple:
        number, taken, accepted = state
        elements = ElementEvaluator({**emitter.axes, group: jnp.arange(groups), block: number})
        for k in range(size):
            drawn = plan.draw((Index.of(group) * plan.blocks + Index.of(block)) * size + k)
            value = jnp.broadcast_to(elements.of(drawn), (groups,)).astype(kind)
            keep = jnp.broadcast_to(elements.of(plan.keep(drawn)), (groups,))
            target = jnp.where(keep, taken, size)
            accepted = accepted.at[jnp.arange(groups), target].set(value, mode="drop")
            taken = jnp.minimum(taken + keep, size)
        return number + 1, taken, accepted

    def lacking(state: tuple) -> Any:
        number, taken, _ = state
        return (number < plan.blocks) & jnp.any(taken < size)

    start = (jnp.int64(0), jnp.zeros(groups, jnp.int64), jnp.zeros((groups, size), kind))
    accepted = lax.while_loop(lacking, draw, start)[2]
    return accepted.reshape(-1)[: output.size].reshape(output.dims)
