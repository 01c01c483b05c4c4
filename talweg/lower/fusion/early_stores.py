"""Early stores: carried values written where they are computed, before a trip's final nests.

That saves a copy.  It is right if nobody reads what is lost after that: no later unit, and in the
same nest only the own element, by members that come first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.lower.fusion.final_writes import order_members
from talweg.lower.fusion.groups import Block, Nest
from talweg.lower.fusion.inline import can_inline, is_plain
from talweg.lower.fusion.materialize import is_fold
from talweg.lower.fusion.views import base_of, operands_of
from talweg.passes.specialize.program import Value
from talweg.prims import arithmetic

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder
    from talweg.passes.specialize.loop_equation import CarriedValue

WITH_RESULTS = frozenset(("matmul",))  # blocks that can put a result into several buffers


def write_early(builder: LoweringBuilder) -> None:
    """Make the units of a body write carried values, as many as possible."""
    grouping, static = builder.grouping, builder.static
    wanted = [
        (variable, base_of(after))
        for variable, before, after in static.states
        if after is not before and _is_made_here(builder, base_of(after))
    ]
    early = {variable for variable, _ in wanted}
    given = {base_of(after) for _, _, after in static.states} - {base for _, base in wanted}
    given |= {base_of(value) for value, _ in builder.copies}
    given.update(*[builder.places.get(v, ()) for v, _, _ in static.states if v not in early])
    for _, base in wanted:
        grouping.ensure(base)
    wanted.sort(key=lambda pair: not builder.places.get(pair[0]))
    done = set()
    for variable, base in wanted:
        if not given.intersection(builder.conflicts[variable]) and _try(builder, variable, base):
            done.add(variable)
        else:  # where it goes is asked by one of the last nests
            given |= builder.places.get(variable, set())
    static.states = [
        (variable, before, before if variable in done else after)
        for variable, before, after in static.states
    ]


def _is_made_here(builder: LoweringBuilder, base: Value) -> bool:
    """Return whether a value is computed by a nest, or by a block that supports early stores."""
    if base.content is not None or base in builder.grouping.given or not is_plain(base.dtype):
        return False
    if base in builder.in_place or base.maker is None:
        return False
    if can_inline(base.maker) or is_fold(base.maker):
        return True
    return base.maker.prim.lowering.get("call") in WITH_RESULTS or base not in builder.buffers


def _try(builder: LoweringBuilder, variable: CarriedValue | tuple, base: Value) -> bool:
    """Store a value early in the memory of the carried one, if no later reader conflicts."""
    grouping, target = builder.grouping, builder.state[variable]
    unit = grouping.units[grouping.unit_of[base]]
    if unit.space[0] == "general" and base in builder.buffers:
        return False
    lost = builder.conflicts[variable]
    places = builder.places.get(variable, set())
    if any(builder.written.get(value, unit.number + 1) <= unit.number for value in places):
        return False
    for other in list(grouping.units):
        reads = _reads(other)
        if other.number < unit.number:
            continue
        if (
            reads is not None
            and other is not unit
            and reads & lost.keys()
            and _copies(builder, other)
        ):
            _to_front(builder, other)
            continue
        for value, own_unit in lost.items():
            if reads is not None and value not in reads:
                continue
            inside = own_unit and other is unit and unit.space[0] == "map"
            if not inside or value in unit.elsewhere:
                return False
            if type(unit) is Block and not _is_sum(unit, base, value):
                return False
    if type(unit) is Nest:
        unit.targets.append((base, variable))
        if not order_members(unit, builder.conflicts):
            unit.targets.pop()
            return False
    if base in builder.buffers:
        if type(unit) is Block and unit.equation.prim.lowering.get("call") not in WITH_RESULTS:
            return False
        builder.also.setdefault(base, []).append(target)
    else:
        builder.buffers[base] = target
    if type(unit) is Block and unit.loads & lost.keys():
        builder.updated.add(target)
    unit.loads |= places
    unit.elsewhere |= places
    for value in lost:
        builder.written[value] = unit.number
    return True


def _is_sum(unit: Block, base: Value, value: Value) -> bool:
    """Return whether a product is added to `value`, which only that epilogue reads."""
    if unit.equation.prim.lowering.get("call") not in WITH_RESULTS or base is unit.members[0]:
        return False
    others = [member for member in unit.members if member is not base]
    read = {base_of(x) for x in operands_of(unit.equation)}
    return value not in read.union(*[unit.own_loads.get(member, set()) for member in others])


def copy_if_lost(builder: LoweringBuilder, value: Value, lost: set[Value]) -> Value:
    """Return a value, or a copy made before everything else if it would be overwritten."""
    if base_of(value) not in lost:
        return value
    grouping = builder.grouping
    copy = grouping.add_copy(value)
    _to_front(builder, grouping.units[grouping.unit_of[copy]])
    return copy


def _copies(builder: LoweringBuilder, unit: Nest) -> bool:
    """Return whether a unit only copies inputs of the body that are not overwritten yet."""
    if type(unit) is not Nest or any(value in builder.written for value in unit.loads):
        return False
    names = [
        value.maker is not None and value.maker.prim is arithmetic.identity
        for value in unit.members
    ]
    return all(names) and unit.loads <= builder.grouping.given and not unit.targets


def _to_front(builder: LoweringBuilder, unit: Nest) -> None:
    """Move a unit before all others."""
    grouping = builder.grouping
    order = [unit, *[other for other in grouping.units if other is not unit]]
    new = {other.number: place for place, other in enumerate(order)}
    for value, number in grouping.unit_of.items():
        grouping.unit_of[value] = new[number]
    builder.written = {value: new[number] for value, number in builder.written.items()}
    for place, other in enumerate(order):
        other.number = place
    grouping.units[:] = order


def _reads(unit: Nest) -> set[Value] | None:
    """Return the values that a unit reads from memory; None if unknown."""
    if unit.space[0] == "general":
        return None
    if type(unit) is Block:
        return unit.loads | {base_of(x) for x in operands_of(unit.equation)}
    return unit.loads
