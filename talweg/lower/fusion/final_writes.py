"""Final nests of a program: new values of variables, written in place, and copied results.

They run after everything else, so that what reads a variable's value at the start finds it.  Among
them, whoever reads a variable comes before whoever writes it; where that is impossible (two
variables swapped, a variable's transpose added to it), the new value is computed beforehand.

The bodies of loops are such programs, with carried values as variables.  Of these a target can be a
part: `conflicts` says for each target which values are lost when it is written, and whether the own
element of such a value may be read as it is written; `places` which values its place depends on.
"""

from __future__ import annotations

from typing import Any

from talweg.lower.fusion.groups import FusionPlan, Nest
from talweg.lower.fusion.inline import is_plain
from talweg.lower.fusion.views import base_of
from talweg.lower.ir.loops import Buffer
from talweg.passes.specialize.program import Value


def place_finals(
    grouping: FusionPlan,
    copies: list[tuple[Value, Any]],
    conflicts: dict[Any, dict[Value, bool]],
    places: dict[Any, set[Value]],
    elsewhere: set[Value],
) -> list[Nest]:
    """Order the final nests; `copies` are (value, buffer) of results that need a copy.

    New values that are in `elsewhere` are written by others.
    """
    static = grouping.static
    writes = [
        (after, variable)
        for variable, before, after in static.states
        if after is not before and is_plain(after.dtype) and after not in elsewhere
    ]
    lost = {variable: {before: True} for variable, before, _ in static.states} | conflicts
    while True:
        count = len(grouping.units)
        for value, target in copies:
            grouping.add(base_of(value), final=True, target=target)
        for after, variable in writes:
            reads = places.get(variable)
            nest = grouping.add(base_of(after), final=variable if reads else True, target=variable)
            nest.loads |= reads or set()
        finals = grouping.units[count:]
        del grouping.units[count:]
        ordered, troubled = _order_nests(finals, lost)
        if not troubled:
            for number, nest in enumerate(ordered):
                nest.number = count + number
            grouping.units += ordered
            return ordered
        renamed: dict[Value, Value] = {}
        for nest in troubled:
            for value, _ in nest.targets:
                if value in grouping.given:
                    renamed[value] = grouping.add_copy(value)
                else:
                    grouping.ensure(value)
        copies = [(renamed.get(base_of(value), value), target) for value, target in copies]
        writes = [(renamed.get(base_of(value), value), target) for value, target in writes]


def _order_nests(finals: list[Nest], lost: dict) -> tuple[list[Nest], list[Nest]]:
    """Order the nests, readers of a value before its writer; also those in a cycle."""
    after: dict[Nest, set] = {nest: set() for nest in finals}  # who must have run before
    readers: dict[Value, set] = {}
    for nest in finals:
        for value in nest.loads:
            readers.setdefault(value, set()).add(nest)
    for writer in finals:
        for _, target in writer.targets:
            values = {} if isinstance(target, Buffer) else lost[target]
            for value, own in values.items():
                after[writer] |= readers.get(value, set()) - {writer}
                if value in writer.loads and (not own or value in writer.elsewhere):
                    return [], [writer]
    for nest in finals:
        if not order_members(nest, lost):
            return [], [nest]
    ordered: list[Nest] = []
    left = list(finals)
    while left:
        waiting = set(left)
        ready = [nest for nest in left if after[nest].isdisjoint(waiting)]
        if not ready:
            return [], left
        ordered += ready
        waiting.difference_update(ready)
        left = [nest for nest in left if nest in waiting]
    return ordered, []


def order_members(nest: Nest, lost: dict) -> bool:
    """Order the members of a nest so that none reads a value that another has overwritten.

    What a member reads is in a register for the members after it, if it is certainly written.  An
    element that is read where a condition holds (of a part that is joined) is a load of its own.
    """
    targets: dict[Value, set] = {value: set() for value in nest.members}
    for writer, target in nest.targets:
        targets[writer].update({} if isinstance(target, Buffer) else lost[target])
    own_loads = {value: nest.own_loads.get(value, set()) for value in nest.members}
    guarded = {value: nest.guarded_loads.get(value, set()) for value in nest.members}
    left, ordered = list(nest.members), []
    known: set[Value] = set()
    while left:
        for value in left:
            written = targets[value]
            fresh = written - known - (own_loads[value] - guarded[value])
            others = [other for other in left if other is not value]
            if not any(fresh & own_loads[other] or written & guarded[other] for other in others):
                break
        else:
            return False
        left.remove(value)
        ordered.append(value)
        if any(value is writer for writer, _ in nest.targets):
            known |= own_loads[value] - guarded[value]
    nest.members[:] = ordered
    return True
