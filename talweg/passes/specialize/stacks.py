"""The analysis of carried stacks of dynamic length: the updates that lowering supports.

Lowering writes rows where they are, so each version of a stack has to be used once: by the next
change of it.  A loop that does otherwise has no compiled form, which is found out here; lowering
asks the same questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core.roles import Role
from talweg.passes.specialize.stack_primitives import append, is_endless, with_row

if TYPE_CHECKING:
    from talweg.passes.specialize.loop_equation import LoopEquation
    from talweg.passes.specialize.program import StaticProgram, Value


def is_appended(before: Value, after: Value, used: dict) -> bool:
    """Return whether a trip only appends rows to a carried stack."""
    maker = after.maker
    alone = maker is not None and maker.prim is append and maker.inputs[0] is before
    return alone and used.get(before, 0) == 1 and used.get(after, 0) == 1


def pass_on(before: Value, after: Value) -> list | None:
    """Return a stack after each of the loops that it passes through, None for other uses."""
    found = []
    while after is not before:
        maker = after.maker
        if maker is None or maker.prim.role is not Role.LOOP:
            return None
        found.append(after)
        body = maker.params["body"]
        after = maker.inputs[len(body.static.inputs) + maker.outputs.index(after)]
    return found


def are_carried_by_rows(static: StaticProgram) -> bool:
    """Return whether all loops of a program without dead code change their stacks by rows."""
    for equation in static.equations:
        inners = []
        if equation.prim.role is Role.LOOP:
            body = equation.params["body"]
            if not _changes_rows(body):
                return False
            inners = [body.static]
        elif equation.prim.role is Role.BRANCH:
            inners = equation.params["body"].bodies
        if not all(map(are_carried_by_rows, inners)):
            return False
    return True


def _changes_rows(body: LoopEquation) -> bool:
    stacks = [(c.before, c.after) for c in body.carried if c.after is not c.before]
    stacks = [(before, after) for before, after in stacks if is_endless(before)]
    if not stacks:
        return True
    used: dict[Any, int] = {}
    for equation in body.static.equations:
        for x in equation.inputs:
            used[x] = used.get(x, 0) + 1
    for each in body.carried:
        used[each.after] = used.get(each.after, 0) + 1
    return all(_changes_by_rows(before, after, used) for before, after in stacks)


def _changes_by_rows(before: Value, after: Value, used: dict) -> bool:
    if is_appended(before, after, used):
        return True
    loops = pass_on(before, after)
    if loops is not None:
        return all(used.get(x, 0) == 1 for x in (before, *loops))
    while after is not before:
        maker = after.maker
        if maker is None or maker.prim is not with_row or used.get(after, 0) != 1:
            return False
        after = maker.inputs[0]
    return True
