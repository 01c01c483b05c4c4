"""Parts of specialized loops: the equation `repeat`, and the join of abstract values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.roles import Role
from talweg.kernels.variants import History, List
from talweg.passes.fallback.regions import add_regions
from talweg.passes.fallback.selection import leaving
from talweg.passes.functionalize import Program
from talweg.passes.reasons import Reason
from talweg.passes.specialize.body_programs import BodyProgram, acts
from talweg.passes.specialize.lists import Lists, as_stack
from talweg.passes.specialize.program import (
    Equation,
    SpecializationError,
    StaticProgram,
    Value,
    constant,
)
from talweg.passes.specialize.stack_primitives import Construct, LoopIndex
from talweg.passes.specialize.trees import Stack, arrange_like, arrays_of, form, map_tree, template

if TYPE_CHECKING:
    from talweg.graph.node import Node
    from talweg.passes.specialize.specializer import _Specializer

ROUNDS = 8  # in which what is known of the variables must settle
WRITTEN_OUT = 2  # trips of a loop that is always written out
EQUATIONS = 4000  # that a loop may have when it is written out
GUARDED = 1 << 13  # trips of a loop that ends where the program would fail
LARGE = 1 << 20  # bytes that a loop keeps, from which on its stacks grow if it may end earlier
repeat = Construct("repeat", {"call": "repeat"}, multiple=True, role=Role.LOOP)
acting_repeat = Construct(
    "repeat", {"call": "repeat"}, multiple=True, effect="host", role=Role.LOOP
)


class CarriedValue:
    """A loop-carried value: its values at the start and the end of a trip.

    `blank`: it holds nothing at first, every part is written before it is read.
    """

    __slots__ = ("after", "before", "blank")

    def __init__(self, before: Value, after: Value, blank: bool = False):
        self.before, self.after, self.blank = before, after, blank


class LoopEquation:
    """The body of a loop; the parameter `body` of the equation.

    The equation's inputs are those of `static`, then the starts of the carried values; its
    outputs are these at the end.  `flag`: the carried truth value that says if there is another
    trip, None if there are exactly `loop.trips`.
    """

    __slots__ = ("carried", "flag", "loop", "static")

    def __init__(
        self,
        static: BodyProgram,
        loop: LoopIndex,
        carried: list[CarriedValue],
        flag: CarriedValue | None,
    ):
        self.static, self.loop, self.carried, self.flag = static, loop, carried, flag


def add_repeat(
    outer: StaticProgram, body: LoopEquation, starts: list[Value], node: Node
) -> tuple[Value, ...]:
    """Append the equation of a loop to a program and return its results."""
    inner = body.static
    add_regions(inner, exact=False)
    inputs = [inner.twins[x] for x in inner.inputs]
    kind = acting_repeat if acts(inner) else repeat
    equation = Equation(kind, [*inputs, *starts], {"body": body}, node)  # type: ignore[arg-type]
    equation.outputs = tuple([Value(c.before.dims, c.before.dtype) for c in body.carried])
    for value in equation.outputs:
        value.maker = equation
    outer.made += equation.outputs
    outer.equations.append(equation)
    return equation.outputs


class Unknown:
    """The result of a step that cannot be specialized yet, as its operands are unknown."""

    values: dict = {}


UNKNOWN: Any = Unknown()


def _try_steps(part: Any) -> None:
    """Run the steps of a body, as far as that is possible."""
    values = part.values
    for step in part.program.steps:
        needed = (*step.inputs, *[before for _, before, _ in step.states])
        if not any(values.get(slot) is UNKNOWN for slot in needed):
            try:
                part.step(step)
                continue
            except SpecializationError:
                pass
        values[step.out] = UNKNOWN if not step.prim.multiple else (UNKNOWN,) * 1000
        values.update({after: UNKNOWN for _, before, after in step.states if after != before})


def body_values(
    maker: _Specializer,
    static: StaticProgram,
    program: Program,
    operands: list,
    states: dict,
    tolerant: bool = False,
) -> tuple[list, dict]:
    """Inline a body's program at the end of `static`; its results, and variables after it.

    `tolerant`: what cannot be specialized yet is UNKNOWN.
    """
    part = type(maker)(static, program)
    part.values.update(zip(program.inputs, operands))
    part.values.update({slot: states[v] for v, slot in program.starts.items()})
    if tolerant:
        _try_steps(part)
    else:
        part.run()
    slots = [*program.outputs, *program.writes.values()]
    results = leaving(part, [part.values[slot] for slot in slots])
    count = len(program.outputs)
    return results[:count], dict(zip(program.writes, results[count:]))


def join(t: Lists, known: History | Value | Stack | None, after: object) -> Any:
    """Return the join of two abstract values of a variable: `known` before a trip, `after` it."""
    after = t.densify(after)
    if type(after) is List:
        after = as_stack(t, after)
        after.loose = known is None
    if known is None or after is None:
        return template(after) if known is None else known
    if type(known) is Stack and type(after) is Stack:
        size, loose = max(known.size, after.size), known.loose or after.loose
        growing = not loose and (known.growing or after.growing or known.size != after.size)
        length = known.length if after.length is None else after.length
        if known.rows is None or after.rows is None:
            rows = after.rows if known.rows is None else known.rows
            return template(Stack(size, rows, loose, growing and length is None, length))
        rows = _join_rows(t, known.rows, after.rows, size)
        return Stack(size, rows, loose, growing and length is None, length)
    if type(known) is History and type(after) is History:
        nodes = dict.fromkeys((*known.values, *after.values))
        trips = known.trips if known.trips == after.trips else max(known.trips, after.trips)
        parts = {n: join(t, known.values.get(n), after.values.get(n)) for n in nodes}
        return History(trips, parts)
    if type(known) is not Value or type(after) is not Value:
        raise SpecializationError(Reason.LOOP_KIND)
    if known.dims != after.dims or known.dtype is not after.dtype:
        raise SpecializationError(Reason.LOOP_SHAPE)
    return known


def _join_rows(t: Lists, known: object, after: object, size: int) -> Any:
    """Return the rows of two stacks as one form, of `size` rows."""
    first, second = [template(Stack(size, rows)).rows for rows in (known, after)]
    if form(first) != form(second):
        raise SpecializationError(Reason.LIST_DIFFERS)
    return first


def coerce_tree(t: Lists, tree: List | Value | Stack | None, wanted: Value | Stack) -> Any:
    """Convert a tree to a given form, with its arrays in that order and zeros for absent ones."""
    found = arrange_like(_coerce(t, tree, wanted), wanted)
    if wanted is not None and _kinds(found) != _kinds(wanted):
        raise SpecializationError(Reason.LOOP_KIND)
    return found


def _kinds(tree: Value | Stack) -> list:
    """Return shapes and dtypes of the arrays of a tree."""
    values = arrays_of(tree)
    return [(value.dims, value.dtype) for value in values]


def _coerce(t: Lists, tree: Any, wanted: Any) -> Any:
    if wanted is None or form(tree) == form(wanted):
        return tree
    if tree is None:
        return map_tree(t.zero_like, wanted)
    if type(wanted) is Stack and wanted.length is not None:
        return _endless(t, tree, wanted)
    tree = t.densify(tree, getattr(wanted, "size", None))
    if type(wanted) is Stack:
        stack = as_stack(t, tree) if type(tree) is List else tree
        if stack.rows is None:
            return map_tree(t.zero_like, wanted)
        longer = t.resize(stack, wanted.size)
        rows = map_tree(lambda leaf: t.whole(leaf, wanted.size), longer.rows, True)
        return wanted.having(rows)
    if type(wanted) is History:
        parts = {n: coerce_tree(t, tree.values.get(n), part) for n, part in wanted.values.items()}
        return History(wanted.trips, parts)
    raise SpecializationError(Reason.LOOP_KIND)


def _endless(t: Lists, tree: Any, wanted: Stack) -> Stack:
    """Return a list as a stack of dynamic length."""
    if type(tree) is List:
        tree = as_stack(t, tree)
    if tree.rows is None:
        found = map_tree(t.zero_like, wanted)
    else:
        found = wanted.having(t.resize(tree, wanted.size).rows)
    found.length = constant(np.int32(tree.size)) if tree.length is None else tree.length
    return found
