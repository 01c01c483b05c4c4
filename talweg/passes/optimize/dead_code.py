"""Dead code elimination, inside of loops and branches too."""

from __future__ import annotations

from talweg.core.roles import Role
from talweg.passes.specialize.body_programs import ACTS
from talweg.passes.specialize.loop_equation import LoopEquation
from talweg.passes.specialize.program import Equation, StaticProgram, Value


def prune_all(static: StaticProgram) -> None:
    """Remove a whole program's equations that its results, checks and new states do not need."""
    after = [value for _, _, value in static.states]
    prune(static, {*static.outputs, *static.guards, *after})


def prune(static: StaticProgram, needed: set[Value]) -> None:
    """Remove unneeded equations of a program and its bodies; `needed` grows."""
    kept = []
    for equation in reversed(static.equations):
        acts = equation.prim.effect in ACTS
        if not acts and not any(value in needed for value in equation.outputs):
            continue
        if equation.prim.role is Role.LOOP:
            _prune_repeat(equation, needed)
        elif equation.prim.role is Role.BRANCH:
            _prune_choice(equation, needed)
        needed.update(equation.inputs)
        kept.append(equation)
    static.equations = kept[::-1]


def _prune_repeat(equation: Equation, needed: set[Value]) -> None:
    body: LoopEquation = equation.params["body"]
    inner = body.static
    starts = equation.inputs[len(inner.inputs) :]
    alive = {i for i, value in enumerate(equation.outputs) if value in needed}
    alive |= {i for i, carried in enumerate(body.carried) if carried is body.flag}
    while True:
        wanted = {body.carried[i].after for i in alive}
        reached = _reachable_values(inner, wanted)
        more = {i for i, c in enumerate(body.carried) if c.before in reached} - alive
        if not more:
            break
        alive |= more
    keep = sorted(alive) or [*range(len(body.carried))][:1]
    body.carried[:] = [body.carried[i] for i in keep]
    equation.outputs = tuple([equation.outputs[i] for i in keep])
    wanted = {carried.after for carried in body.carried}
    prune(inner, wanted)
    used = {x for e in inner.equations for x in e.inputs} | {c.after for c in body.carried}
    pairs = [(x, o) for x, o in zip(inner.inputs, equation.inputs) if x in used]
    inner.inputs[:] = [x for x, _ in pairs]
    equation.inputs = (*[outer for _, outer in pairs], *[starts[i] for i in keep])


def _reachable_values(inner: StaticProgram, wanted: set[Value]) -> set[Value]:
    """Return all values of a body that the given values need."""
    found = set(wanted)
    for equation in reversed(inner.equations):
        if equation.prim.effect in ACTS or any(value in found for value in equation.outputs):
            found.update(equation.inputs)
    return found


def _prune_choice(equation: Equation, needed: set[Value]) -> None:
    choice = equation.params["body"]
    keep = [i for i, value in enumerate(equation.outputs) if value in needed] or [0]
    keep = keep if equation.outputs else []
    choice.results[:] = [choice.results[i] for i in keep]
    equation.outputs = tuple([equation.outputs[i] for i in keep])
    index, *operands = equation.inputs
    outer = iter(operands)
    inputs = [index]
    for number, inner in enumerate(choice.bodies):
        needed_here = [(x, next(outer)) for x in inner.inputs]
        wanted = {v[number] for v in choice.results if v[number] is not None}
        prune(inner, wanted)
        used = {x for e in inner.equations for x in e.inputs}
        used |= {values[number] for values in choice.results}
        needed_here = [(x, value) for x, value in needed_here if x in used]
        inner.inputs[:] = [x for x, _ in needed_here]
        inputs += [value for _, value in needed_here]
    equation.inputs = tuple(inputs)
