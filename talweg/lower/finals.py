"""The last nests of a program: new values of variables, written in place, and copied results.

They run after everything else, so that what reads a variable's value at the start finds it.  Among
them, whoever reads a variable comes before whoever writes it; where that is impossible (two
variables swapped, a variable's transpose added to it), the new value is computed beforehand.
"""

from __future__ import annotations

from typing import Any

from talweg.lower.group import Grouping, Nest
from talweg.lower.pull import is_plain
from talweg.lower.views import base_of
from talweg.passes.straight import Value


def place_finals(grouping: Grouping, copies: list[tuple[Value, Any]]) -> list[Nest]:
    """The final nests in order; `copies` are (value, buffer) of results that need a copy."""
    straight = grouping.straight
    writes = [(after, variable, before) for variable, before, after in straight.states
              if after is not before and is_plain(after.dtype)]  # fmt: skip
    while True:
        count = len(grouping.units)
        for value, target in copies:
            grouping.add(base_of(value), final=True, target=target)
        for after, variable, _ in writes:
            grouping.add(base_of(after), final=True, target=variable)
        finals = grouping.units[count:]
        del grouping.units[count:]
        befores = {variable: before for _, variable, before in writes}
        ordered, troubled = _ordered(finals, befores)
        if not troubled:
            for number, nest in enumerate(ordered):
                nest.number = count + number
            grouping.units += ordered
            return ordered
        for nest in troubled:
            for value, _ in nest.targets:
                grouping.ensure(value)


def _ordered(finals: list[Nest], befores: dict) -> tuple[list[Nest], list[Nest]]:
    """The nests, readers of a variable before its writer; and those for which that fails."""
    writer: dict[Value, Nest] = {}
    for nest in finals:
        for _, target in nest.targets:
            if target in befores:
                writer[befores[target]] = nest
    after: dict[Nest, set] = {nest: set() for nest in finals}  # who must have run before
    for nest in finals:
        for before, other in writer.items():
            if before not in nest.loads:
                continue
            if other is not nest:
                after[other].add(nest)
            elif before in nest.elsewhere:
                return [], [nest]
    ordered: list[Nest] = []
    left = list(finals)
    while left:
        ready = [nest for nest in left if not after[nest] & set(left)]
        if not ready:
            return [], left
        ordered += ready
        left = [nest for nest in left if nest not in ready]
    return ordered, []
