"""The verifier of static programs: invariants that hold before and after each pass.

Operands are made before they are used, by an equation of the same program; each value has one
maker, which knows it; results have the shapes and dtypes that `infer` says; results, guards and new
values of variables are there, and variables keep shape and dtype.  Bodies of loops and branches
likewise, with what they take from outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from talweg.core.aval import Aval
from talweg.core.errors import InternalError
from talweg.passes.specialize.program import Equation, StaticProgram, Value


def check(static: StaticProgram, stage: str = "the beginning") -> None:
    """Raise InternalError unless the program is well-formed; `stage`: after which pass."""
    try:
        _check(static, set(static.inputs) | {before for _, before, _ in static.states})
    except InternalError as error:
        raise InternalError(None, None, f"after {stage}: {error.message}") from None


def _check(static: StaticProgram, there: set[Value], more: Iterable[Value] = ()) -> None:
    for equation in static.equations:
        for place, x in enumerate(equation.inputs):
            _require(x.content is not None or x in there, f"operand {place} is not there", equation)
        _check_results(equation)
        _check_bodies(equation)
        for value in equation.outputs:
            _require(value.maker is equation, f"{value} has another maker", equation)
            _require(value not in there, f"{value} is made twice", equation)
        there.update(equation.outputs)
    for value in (*static.outputs, *static.guards, *more):
        _require(value.content is not None or value in there, f"the result {value} is not there")
    for variable, before, after in static.states:
        _require(after.content is not None or after in there, f"{variable}'s value is not there")
        _require(_kind(before) == _kind(after), f"{variable} becomes {after}, was {before}")


def _check_results(equation: Equation) -> None:
    infer = equation.prim.infer
    if infer is None:
        return
    known = infer(*[Aval(x.dims, x.dtype) for x in equation.inputs], **equation.params)
    avals = known if equation.prim.multiple else (known,)
    _require(len(avals) == len(equation.outputs), "another number of results", equation)
    for value, aval in zip(equation.outputs, avals):
        _require(_kind(value) == (aval.dims, aval.dtype), f"{value} should be {aval}", equation)


def _check_bodies(equation: Equation) -> None:
    body: Any = equation.params.get("body")
    if hasattr(body, "carried"):
        inner = body.static
        starts = equation.inputs[len(inner.inputs) :]
        _require(len(starts) == len(body.carried), "another number of starts", equation)
        for carried, start, value in zip(body.carried, starts, equation.outputs, strict=True):
            kinds = {_kind(x) for x in (carried.before, carried.after, start, value)}
            _require(len(kinds) == 1, f"a carried value is of several kinds: {kinds}", equation)
        befores = {carried.before for carried in body.carried}
        _check(inner, {*inner.inputs, *befores}, [carried.after for carried in body.carried])
    elif hasattr(body, "bodies"):
        for number, inner in enumerate(body.bodies):
            own = [row[number] for row in body.results if row[number] is not None]
            _check(inner, set(inner.inputs), own)


def _kind(value: Value) -> tuple:
    return value.dims, value.dtype


def _require(holds: bool, problem: str, equation: Equation | None = None) -> None:
    if not holds:
        place = "" if equation is None else f" in {equation}"
        raise InternalError(None, None, problem + place)
