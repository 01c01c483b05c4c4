"""Loops over datasets: each iteration is a call of a function of state and element.

Taking an element is something the host does; all that follows is a program of its own, which can be
compiled as a whole.
"""

from __future__ import annotations

from collections.abc import Callable

from talweg.core.spec import TensorSpec
from talweg.graph import structure
from talweg.trace.concrete import ConcreteFunction, TraceGraph
from talweg.trace.signature import ArgumentPlace, Container


def call_iteration(iteration: Callable[..., list], tensors: list, element: str | None) -> list:
    """Trace iteration(tensors, element) as a function and call it."""
    leaves = structure.flatten(element, composites=True)
    given = [leaf for leaf in leaves if leaf is not None]
    operands = [*tensors, *given]

    def trace_iteration(*symbols: object) -> list:
        remaining = iter(symbols[len(tensors) :])
        parts = [None if leaf is None else next(remaining) for leaf in leaves]
        return iteration(
            list(symbols[: len(tensors)]), structure.pack(element, parts, composites=True)
        )

    specs = [TensorSpec(operand.shape, operand.dtype) for operand in operands]
    places = [ArgumentPlace(number) for number in range(len(specs))]
    tree = Container([(), {}], [Container((None,) * len(specs), places), Container({}, [])])
    function = ConcreteFunction("iteration", TraceGraph("iteration"), tree, specs)
    function.trace(trace_iteration, [f"arg_{number}" for number in range(len(specs))])
    return function.call_flat(operands)
