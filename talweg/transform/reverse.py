"""The reverse sweep: from cotangents of targets to those of sources, over a list of records.

A record is the tuple (primitive, operands, results, parameters, origin).  The same sweep serves
eager tapes and graphs.  It visits a record only if it lies on a path from a source to a target:
first forward, marking what depends on a source, then backward, applying the rules.  Iterative;
linear in the number of records.  Griewank and Walther, "Evaluating Derivatives", 2008, chapter 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.dtypes import variant
from talweg.core.errors import NeedsStaticError
from talweg.core.hooks import hooks
from talweg.core.value import IndexedSlices
from talweg.graph.node import BODY
from talweg.prims.arithmetic import zeros_of
from talweg.transform.rules import accumulate, densify, vjp_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.dispatch import Context
    from talweg.core.primitive import Primitive

Record = tuple  # (primitive, operands, results, parameters, origin)


def reachable(records: list[Record], sources: list) -> tuple[list, set[int]]:
    """Find the records that depend on a source, with which operands do, and all ids that do."""
    reached = {id(source) for source in sources}
    dependent = []
    for record in records:
        prim, operands, results = record[:3]
        wanted = [id(operand) in reached for operand in operands]
        if True not in wanted or (prim.no_gradient and _is_blocked(prim, wanted)):
            continue
        if type(results) is tuple:
            reached.update([id(z) for z in results if z.dtype.is_differentiable])
        elif prim.keeps_dtype or results.dtype.is_differentiable:
            reached.add(id(results))
        else:
            continue
        dependent.append((record, wanted))
    return dependent, reached


def _is_blocked(prim: Primitive, wanted: list) -> bool:
    """Return whether the declaration lets no cotangent reach any of the wanted operands."""
    names, blocked = prim.operands, prim.no_gradient
    last = len(names) - 1
    return all([names[min(i, last)] in blocked for i, want in enumerate(wanted) if want])


def pullback(
    records: list[Record],
    targets: list,
    seeds: list,
    sources: list,
    seen: Callable | None = None,
    pull: Callable | None = None,
) -> list:
    """Compute the cotangent of each source (None where there is no path) from the targets'.

    `seen` (operands, results, parameters) gives what the rules are shown instead of these; `pull`
    (primitive, cotangent, results, operands, parameters, wanted) applies a rule.
    """
    dependent, reached = reachable(records, sources)
    source_ids = {id(source) for source in sources}  # their cotangents stay; others are used up
    cotangents: dict[int, Any] = {}
    for target, seed in zip(targets, seeds):
        if seed is not None and id(target) in reached:
            cotangents[id(target)] = accumulate(cotangents.get(id(target)), seed)
    context = dispatch.context
    outer = context.deriving
    try:
        _sweep(dependent, cotangents, source_ids, seen, pull or _apply_rule, context)
    finally:
        context.deriving = outer
    return [cotangents.get(id(source)) for source in sources]


def _sweep(
    kept: list,
    cotangents: dict[int, Any],
    own: set[int],
    seen: Callable | None,
    pull: Callable,
    context: Context,
) -> None:
    """Apply the rules of records in reverse order; `context` is told of each."""
    for record, wanted in reversed(kept):
        prim, operands, results, params, _ = record
        if type(results) is tuple:
            g = _gather(results, cotangents, own)
        else:
            key = id(results)
            g = cotangents.get(key) if key in own else cotangents.pop(key, None)
        if g is None:
            continue
        if type(g) is IndexedSlices and not prim.wants_sparse:
            g = densify(g)
        context.deriving = record
        keys = operands
        if seen is not None:
            operands, results, params = seen(operands, results, params)
        if type(results) is tuple and prim.effect != BODY:
            g = _fill_zeros(g, results)  # type: ignore
        try:
            parts = pull(prim, g, results, operands, params, wanted)
        except NeedsStaticError:
            parts = hooks.vjp_whole(prim, g, results, operands, params)
        for operand, part, want in zip(keys, parts, wanted):
            if want and part is not None:
                key = id(operand)
                before = cotangents.get(key)
                cotangents[key] = part if before is None else accumulate(before, part)


def _apply_rule(
    prim: Primitive, g: Any, results: Any, operands: tuple, params: dict, wanted: list
) -> list:
    return (prim.vjp or vjp_of(prim))(g, results, operands, params, wanted)


def _gather(results: tuple, cotangents: dict[int, Any], own: set[int]) -> tuple | None:
    """Return the cotangents of several results, None for absent ones; None if all are absent."""
    found = [
        cotangents.get(id(z)) if id(z) in own else cotangents.pop(id(z), None) for z in results
    ]
    return None if all(g is None for g in found) else tuple(found)


def _fill_zeros(cotangents: tuple, results: tuple) -> tuple:
    """Return the cotangents, with zeros for absent ones: one tensor for those that are alike."""
    zeros: dict[tuple, Any] = {}
    filled = []
    for g, z in zip(cotangents, results):
        if g is None and type(z) is dispatch.state.plain:
            kind = (z.dims, z.dtype)
            if kind not in zeros:
                zeros[kind] = _dense(None, z)
            filled.append(zeros[kind])
        else:
            filled.append(_dense(g, z))
    return tuple(filled)


def _dense(g: object, z: Any) -> Any:
    """Return a cotangent as a tensor, zeros for None where the result has a cotangent."""
    if g is not None:
        return densify(g)
    return zeros_of(z) if z.dtype.is_differentiable and z.dtype is not variant else None
