"""Variables that a branch writes in place: the new value is made where the old one is.

A step of training with a scaled loss (Micikevicius et al. 2018, "Mixed precision training") updates
all variables if the gradients are finite, and else none.  As results of a branch, the new values
would be written beside the old ones, or these copied there, and then copied back.  But if all that
a branch gives are new values of variables, which nobody else reads, it can run after everything
else, with the variables as states of its bodies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core.roles import Role
from talweg.lower.fusion.inline import can_inline, is_plain
from talweg.lower.fusion.materialize import is_fold
from talweg.lower.fusion.views import base_of
from talweg.passes.specialize.branches import BranchEquation
from talweg.passes.specialize.program import Equation, StaticProgram, Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


def split_branches(static: StaticProgram) -> None:
    """Split branches of which all results but checks are new values of variables, in place.

    The checks have to be known before the first variable is written.
    """
    variables = _written_by_branches(static)
    equations, static.equations = static.equations, []
    for equation in equations:
        written = [value for value in equation.outputs if value in variables]
        others = [value for value in equation.outputs if value not in variables]
        checks = [value for value in others if value.dtype.is_bool and value.size == 1]
        if written and checks:
            static.equations.append(_with_outputs(equation, others))
            equation = _with_outputs(equation, written)
        static.equations.append(equation)


def find_branch_writes(static: StaticProgram) -> dict[Value, Any]:
    """Return the new values that branches write in place, with their variables."""
    variables, uses = _written_by_branches(static), static.uses()
    found: dict[Value, Any] = {}
    for equation in static.equations:
        live = [value for value in equation.outputs if value in uses]
        if live and all(value in variables for value in live):
            found |= {value: variables[value] for value in live}
    return found


def _written_by_branches(static: StaticProgram) -> dict[Value, Any]:
    """Return the results of short branches that are only the new values of variables."""
    branches = [e for e in static.equations if e.prim.role is Role.BRANCH and e.prim.effect is None]
    results = {value for equation in filter(_is_short, branches) for value in equation.outputs}
    uses = static.uses() if results else {}
    return {
        after: variable
        for variable, before, after in static.states
        if after is not before and after in results and uses[after] == 2  # as a new state
    }


def _with_outputs(equation: Equation, outputs: list[Value]) -> Equation:
    """Return a branch that gives only some of the results."""
    body: BranchEquation = equation.params["body"]  # type: ignore[assignment]
    results = [row for row, value in zip(body.results, equation.outputs) if value in outputs]
    params = {**equation.params, "body": BranchEquation(body.bodies, results)}
    made = Equation(equation.prim, equation.inputs, params, equation.node)
    made.outputs = tuple(outputs)
    for value in outputs:
        value.maker = made
    return made


def _is_short(equation: Equation) -> bool:
    """Return whether the bodies of a branch take little time, and cannot fail.

    From the first variable that is written on, a program runs to its end.
    """
    bodies: list[StaticProgram] = equation.params["body"].bodies  # type: ignore[union-attr]
    for inner in (inner for body in bodies for inner in body.equations):
        if not all(is_plain(x.dtype) for x in (*inner.inputs, *inner.outputs)):
            return False
        is_scatter = inner.prim.lowering.get("call") == "scatter"
        if not (is_scatter or can_inline(inner) or is_fold(inner)):
            return False
    return True


def states_of_body(
    builder: LoweringBuilder, equation: Equation, number: int
) -> list[tuple[Value, list[Value], Value]]:
    """Return the states of the body with that number: (result, inputs for the old value, new one).

    Without those that this body leaves as they are.
    """
    operands, states = _operands_of_body(equation, number), []
    body: BranchEquation = equation.params["body"]  # type: ignore[assignment]
    for row, output in zip(body.results, equation.outputs):
        buffer, after = builder.in_place.get(output), row[number]
        if buffer is not None and after is not None:
            old = [x for x, outer in operands.items() if builder.buffer_of(outer) is buffer]
            if base_of(after) not in old:
                states.append((output, old, after))
    return states


def _operands_of_body(equation: Equation, number: int) -> dict[Value, Value]:
    """Return what the inputs of a body are outside."""
    bodies: list[StaticProgram] = equation.params["body"].bodies  # type: ignore[union-attr]
    first = 1 + sum([len(inner.inputs) for inner in bodies[:number]])
    return dict(zip(bodies[number].inputs, equation.inputs[first:]))
