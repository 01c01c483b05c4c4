"""Traces with variables among their arguments: the other variables that they serve.

The function is traced with the variables it is called with; in other calls others stand in their
places (`eager/structured.py: Exchanged`).  What it has captured stays what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.errors import type_error
from talweg.eager.placed import PlacedVariable
from talweg.eager.variable import Variable
from talweg.eager.variable_spec import VariableSpec
from talweg.execute.interpret import onlooker
from talweg.graph import structure
from talweg.graph.handle import Handle
from talweg.passes.functionalize import program_of
from talweg.trace.reachable import may_reach
from talweg.trace.signature import VariablePlace, places_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.trace.concrete import ConcreteFunction
    from talweg.trace.methods import Method


def may_be_shared(function: Method | Callable[..., Any], variables: list) -> bool:
    """Return whether a trace of a function for these variables may serve others."""
    plain = all([type(variable) in (Variable, PlacedVariable) for variable in variables])
    return plain and not may_reach(function, variables)


def serves(concrete: ConcreteFunction, variables: list) -> bool:
    """Return whether a trace may be called with these variables as arguments.

    Inside another trace it serves those that it was made with, and whoever looks at numbers wants
    to see those as well.  None may stand in the place of another if it has captured it.
    """
    given = tuple([variable.handle for variable in variables])
    if given == concrete.formals:
        return True
    if not concrete.shared or dispatch.context.base is not None or onlooker.watch is not None:
        return False
    program = program_of(concrete.body)
    used = {value for value in concrete._outside if type(value) is Handle}
    used.update(program.starts, program.writes)
    return used.difference(concrete.formals).isdisjoint(given)


def without_variables(concrete: ConcreteFunction, args: tuple) -> tuple[tuple, list]:
    """Split the arguments of a direct call from its variables; TypeError for others.

    A call without any is one for the variables that the trace was made with.
    """
    flat = structure.flatten(list(args), composites=True)
    places = places_of(concrete._tree)
    if len(places) != len(flat) or not any([isinstance(x, Variable) for x in flat]):
        return args, []
    variables: dict[int, Any] = {}
    for spot, value in zip(places, flat):
        if type(spot) is VariablePlace and not (
            fits(value, spot.spec) and variables.setdefault(spot.number, value) is value
        ):
            text = f"{concrete.name} got {value!r}"
            raise type_error("TW104", text, f"a variable as {spot.spec} says")
    rest = [x for spot, x in zip(places, flat) if type(spot) is not VariablePlace]
    return tuple(rest), [variables[number] for number in range(len(concrete.formals))]


def fits(value: object, spec: VariableSpec) -> bool:
    """Return whether a value is a variable of a spec."""
    if not isinstance(value, Variable):
        return False
    return VariableSpec(value.shape, value.dtype, value.trainable, spec.alias_id).key == spec.key
