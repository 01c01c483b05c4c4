"""Profitability analysis: whether compiling a program with host regions pays."""

from __future__ import annotations

from typing import Any

from talweg.passes.fallback.regions import Region
from talweg.passes.specialize.program import Equation, StaticProgram, Value
from talweg.passes.specialize.stack_primitives import ENDLESS
from talweg.prims import contract

STEP, ELEMENT = 2e-6, 1e-9  # seconds that the interpreter takes for an operation, an element of one
FLOPS = 1e-10  # for one addition and multiplication in a product
CALL = 5e-5  # for getting into a region and out again
LEAST = 3e-5  # seconds to be saved in a call: a native call and its arguments take about 10 µs
TRIPS = 100  # of a loop of which nobody knows


def is_profitable(static: StaticProgram, at_all: bool) -> bool:
    """Return whether the compiled part is more than a few scalars;
    `at_all`: whether it has any work.
    """
    least = 0.0 if at_all else LEAST + CALL * len(static.hosts)
    return seconds_saved(static) > least


def seconds_saved(static: StaticProgram) -> float:
    """Estimate the seconds that the interpreter would take for the compiled part."""
    return sum(map(_seconds, static.equations))


def _seconds(equation: Equation) -> float:
    prim: Any = equation.prim
    if type(prim.numpy) is Region:
        return 0.0
    body = equation.params.get("body")
    if body is not None and hasattr(body, "loop"):
        return min(body.loop.trips, TRIPS) * seconds_saved(body.static)
    if body is not None and hasattr(body, "bodies"):
        return max([seconds_saved(each) for each in body.bodies], default=0.0)
    if prim is contract.matmul:
        x, z = equation.inputs[0], equation.outputs[0]
        return STEP + FLOPS * _size(z) * x.dims[-1]
    heavy = 10.0 if "call" in prim.lowering else 1.0
    sizes = sum(map(_size, (*equation.inputs, *equation.outputs)))
    return STEP + 0.5 * ELEMENT * heavy * sizes


def _size(value: Value) -> int:
    """Return the number of elements of a value, or of one row if the number of rows is unknown."""
    return value.size // ENDLESS if value.size >= ENDLESS else value.size
