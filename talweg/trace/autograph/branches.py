"""Conversion of `if` and conditional expressions."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.dtypes import int32
from talweg.core.errors import value_error
from talweg.core.thread_context import carry_context
from talweg.eager.convert import convert_to_tensor
from talweg.graph import structure
from talweg.graph.symbol import Symbol
from talweg.prims import arithmetic
from talweg.trace import control
from talweg.trace.autograph.merging import Merging
from talweg.trace.autograph.values import can_be_tensor, condition_of, is_symbolic, mark_undefined
from talweg.trace.bodies import BodyGraph, apply_branch

if TYPE_CHECKING:
    from talweg.core.value import Tensor

Thunk = Callable[[], Any]
_LEAVING = ("do_return", "break_", "continue_")


def if_stmt(
    cond: Any,
    body: Thunk,
    orelse: Thunk,
    get_state: Callable[[], tuple],
    set_state: Callable[[tuple], None],
    symbol_names: tuple[str, ...],
    nouts: int,
) -> None:
    """Run or trace an `if`; the first `nouts` of the names are used after it."""
    cond = decide_condition(condition_of(cond))
    if not is_symbolic(cond):
        return body() if cond else orelse()
    stage_if(cond, (body, orelse), get_state, set_state, symbol_names, nouts)


def stage_if(
    cond: Symbol,
    branches: tuple[Thunk, Thunk],
    get_state: Callable[[], tuple],
    set_state: Callable[[tuple], None],
    names: tuple[str, ...],
    nouts: int,
    fill: bool = False,
) -> None:
    """Trace both branches and merge their values of the names."""
    mark_undefined(get_state)
    initial = get_state()
    known = what_is_known(cond, initial)
    assumed = [
        tuple([x if k is None else (k is taken) for x, k in zip(initial, known)])
        for taken in (True, False)
    ]

    def run(number: int) -> list:
        set_state(_copy_containers(assumed[number]))
        with assume(cond, number == 0):
            branches[number]()
        return list(get_state())

    def merge(merging: Merging, states: list) -> list:
        builds, left = [], [_is_left(names, initial, state) for state in states]
        for nth, name in enumerate(names[:nouts]):
            values = [state[nth] for state in states]
            assumption = [state[nth] for state in assumed]
            if known[nth] is not None and all(map(operator.is_, values, assumption)):
                values = [initial[nth], initial[nth]]  # neither branch changed it
            builds.append(merging.match(name, _restore_unchanged(values, initial[nth]), left))
        return builds

    try:
        merging = Merging("`if`", fill)
        results = select(cond, [lambda: run(0), lambda: run(1)], merging, merge)
    except BaseException:
        set_state(initial)
        raise
    final = [_update_in_place(old, new) for old, new in zip(initial, results)]
    set_state((*final, *initial[nouts:]))


def if_exp(cond: Any, if_true: Thunk, if_false: Thunk, expr_repr: str) -> Any:
    """Run or trace `a if cond else b`."""
    cond = decide_condition(condition_of(cond))
    if not is_symbolic(cond):
        return if_true() if cond else if_false()
    return choice(cond, if_true, if_false, "the expression", "conditional expression")


def choice(cond: Symbol, if_true: Thunk, if_false: Thunk, name: str, statement: str) -> Any:
    """Return the value of one of two functions."""
    runs = [lambda: [if_true()], lambda: [if_false()]]
    return select(cond, runs, Merging(statement), merging_one(name))[0]


def merging_one(name: str) -> Callable[[Merging, list], list]:
    """Merge branches that give one value each."""
    return lambda merging, states: [merging.match(name, [state[0] for state in states])]


def select(cond: Symbol, runs: list, merging: Merging, merge: Callable[..., Any]) -> list:
    """Trace the functions for true and for false, and merge their results."""
    pred = control.truth(cond, merging.statement)
    traced = [trace(run, name) for run, name in zip(runs, ("then", "else"))]
    return join_branches(pred, traced, merging, merge)


def trace(run: Callable[[], list], name: str) -> tuple[BodyGraph, list]:
    """Trace a function into a graph of its own; its result and the graph.

    If code that is not converted asks for the value of a tensor, the function is traced along
    several paths (`trace/paths.py`), and everything it gives comes out of them as tensors.
    """
    graph, traced = BodyGraph(name), []

    def flat() -> list:
        traced.append(run())
        return tensors_of(traced[-1]) if dispatch.context.base is not graph else []

    graph.run(flat)
    if len(traced) == 1:
        return graph, traced[0]
    return graph, with_tensors(traced[0], graph.results)


def tensors_of(values: list) -> list:
    """Return all tensors and numbers in values, as tensors."""
    leaves = structure.flatten(values, composites=True)
    return [convert_to_tensor(leaf) for leaf in leaves if can_be_tensor(leaf)]


def with_tensors(values: list, tensors: list) -> list:
    """Return the values with other tensors."""
    remaining = iter(tensors)
    leaves = structure.flatten(values, composites=True)
    leaves = [next(remaining) if can_be_tensor(leaf) else leaf for leaf in leaves]
    return structure.pack(values, leaves, composites=True)


def join_branches(pred: Symbol, traced: list, merging: Merging, merge: Callable[..., Any]) -> list:
    """Build the branch of two traced bodies, the first of them taken if `pred` is true."""
    graphs = [graph for graph, _ in traced]
    builds = merge(merging, [values for _, values in traced])
    for number, graph in enumerate(graphs):
        graph.run(lambda number=number: merging.results_of(number))
    results: list = []
    if merging.rows or any([graph.effects for graph in graphs]):
        index = arithmetic.cast(arithmetic.logical_not(pred), dtype=int32)
        results = apply_branch(index, graphs)[:-1]
    return [build(results) for build in builds]


class BranchFacts(threading.local):
    """The known truth values of conditions: those of the enclosing branches in this thread."""

    known: tuple = ()


facts = carry_context(BranchFacts())


@contextmanager
def assume(cond: Symbol, holds: bool) -> Iterator[None]:
    """Assume in the block that a condition holds, or does not."""
    before = facts.known
    facts.known = (*before, (cond, holds))
    if cond.node.prim is arithmetic.logical_not:
        facts.known += ((cond.graph.symbol(cond.node.operands[0]), not holds),)
    try:
        yield
    finally:
        facts.known = before


def decide_condition(cond: Any) -> Any:
    """Return True or False for a condition that an enclosing branch decides, else the condition.

    So nothing is traced for an `if` inside of another on the same tensor.
    """
    if not facts.known or not is_symbolic(cond):
        return cond
    for known, holds in facts.known:
        truth = what_is_known(cond, [known])[0]
        if truth is not None:
            return holds if truth else not holds
    return cond


def _is_left(names: tuple[str, ...], initial: tuple, state: list) -> bool:
    """Return whether a branch ended in `return`, `break` or `continue`, as malt notes it."""
    return any(
        [
            name.startswith(_LEAVING) and after is True and before is not True
            for name, before, after in zip(names, initial, state)
        ]
    )


def what_is_known(cond: Symbol, values: Any) -> list:
    """Return for each value whether it is true if `cond` is; None where unknown.

    So after `if done: ... return x` and `if not done: ... return y` it is known that the function
    has returned.
    """
    places = {cond.node: True}
    if cond.node.prim is arithmetic.logical_not:
        places[cond.node.operands[0]] = False
    return [places.get(_node_here(x)) if is_symbolic(x) else None for x in values]


def _node_here(value: Symbol) -> Any:
    """Return the node of a tensor in the graph under construction."""
    base = dispatch.context.base
    if base is None or value.node.table is base.table:
        return value.node
    captured = getattr(base, "captured", {}).get(id(value))
    return None if captured is None else captured[1]


def _copy_containers(values: tuple) -> tuple:
    """Copy lists and dictionaries, so that a branch does not change what the other sees."""
    return tuple([type(x)(x) if type(x) in (list, dict) else x for x in values])


def _restore_unchanged(values: list, original: object) -> list:
    """Replace copies that nothing changed by their originals."""
    if type(original) not in (list, dict):
        return values
    return [original if _is_unchanged(value, original) else value for value in values]


def _is_unchanged(value: Any, original: Any) -> bool:
    if type(value) is not type(original) or len(value) != len(original):
        return False
    if type(original) is dict:
        return all([key in value and value[key] is x for key, x in original.items()])
    return all([x is y for x, y in zip(value, original)])


def _update_in_place(original: Any, value: Any) -> Any:
    """Update the original list or dictionary with the elements of its changed copy."""
    if value is original or type(value) is not type(original):
        return value
    if type(original) is list:
        original[:] = value
        return original
    if type(original) is dict:
        original.clear()
        original.update(value)
        return original
    return value


def check_return(value: Tensor, did_return: bool) -> Any:
    """Check what a function returns; ValueError if it returns on some paths only."""
    if is_symbolic(did_return):
        raise value_error(
            "TW208",
            "the function returns a value on some paths only: for other values of its tensors it "
            "ends without `return`",
            "a `return` at the end of every path",
        )
    return value
