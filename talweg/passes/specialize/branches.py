"""Specialization of branches: one equation `choose`, with a program for each body.

A branch whose number is known is put in place.  Of small ones without effects all bodies are put in
place, and their results selected.  The history of a branch is a result of that body alone; no other
body reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import bool_, int64
from talweg.core.primitive import REGISTRY
from talweg.core.roles import Role, Trait
from talweg.kernels.variants import History, List
from talweg.passes.fallback.regions import add_regions
from talweg.passes.functionalize import program_of
from talweg.passes.specialize.body_programs import BodyProgram, acts
from talweg.passes.specialize.lists import Lists, as_stack
from talweg.passes.specialize.loop_equation import body_values, coerce_tree, join
from talweg.passes.specialize.program import Equation, StaticProgram, Value, constant
from talweg.passes.specialize.stack_primitives import (
    Construct,
    by_element,
    is_endless,
    is_zero,
    with_row,
)
from talweg.passes.specialize.trees import array_of, leaves, map_tree, map_values
from talweg.prims import arithmetic, reduce

if TYPE_CHECKING:
    from talweg.graph.node import Node
    from talweg.graph.subgraph import Body
    from talweg.passes.functionalize import Step
    from talweg.passes.specialize.trees import Stack

SMALL = 24  # equations of a body that is run whether it is chosen or not
LARGEST = 1 << 14  # elements that it may compute

choose = Construct("choose", {"call": "choose"}, multiple=True, role=Role.BRANCH)
acting_choose = Construct(
    "choose", {"call": "choose"}, multiple=True, effect="host", role=Role.BRANCH
)


class BranchEquation:
    """The bodies of a branch; the parameter `body` of the equation.

    The equation's inputs are the number of the body, then those of all bodies, one after the other.
    `results` are, for each output, the value in each body, None where it has none.
    """

    __slots__ = ("bodies", "results")

    def __init__(self, bodies: list[BodyProgram], results: list[list[Value | None]]):
        self.bodies, self.results = bodies, results


def add_choice(
    outer: StaticProgram, index: Value, body: BranchEquation, node: Node
) -> tuple[Value, ...]:
    """Append the equation of a branch to a program and return its results."""
    for inner in body.bodies:
        add_regions(inner, exact=False)
    inputs = [inner.twins[x] for inner in body.bodies for x in inner.inputs]
    kind = acting_choose if any(map(acts, body.bodies)) else choose
    equation = Equation(kind, [index, *inputs], {"body": body}, node)  # type: ignore[arg-type]
    firsts = [next(x for x in row if x is not None) for row in body.results]
    equation.outputs = tuple([Value(x.dims, x.dtype) for x in firsts])
    for value in equation.outputs:
        value.maker = equation
    outer.made += equation.outputs
    outer.equations.append(equation)
    return equation.outputs


def branch(maker: object, step: Step, params: dict) -> tuple:
    """Specialize a branch: its results, residuals last."""
    return BranchMaker(maker, step, params).make()


class BranchBody:
    """The results of one body: results, residuals, variables after it."""

    def __init__(self, parent: BranchMaker, body: Any, static: StaticProgram):
        self.static, self.apart = static, static is not parent.outer
        self.lists = Lists(static, parent.node)
        self.kept_nodes = parent.find_residuals(body)
        program = program_of(body, self.kept_nodes, parent.step.everything)
        operands = [self._here(tree) for tree in parent.operands]
        states = {v: self._here(tree) for v, tree in parent.states.items()}
        found, written = body_values(parent.maker, static, program, operands, states)
        count = len(body.outputs)
        self.results, self.kept = found[:count], found[count:]
        self.results += [written.get(v, states[v]) for v in parent.written]

    def _here(self, tree: History | Value | Stack) -> Any:
        return map_values(self.static.bring_in, tree) if self.apart else tree


class BranchMaker:
    """The specializer of one branch to a static program."""

    def __init__(self, maker: Any, step: Any, params: dict):
        self.maker, self.outer, self.node, self.step = maker, maker.static, step.node, step
        self.index, *operands = [maker.values.get(slot) for slot in step.inputs]
        self.lists = Lists(self.outer, self.node)
        self.operands = [self.lists.densify(x) for x in operands]
        self.bodies = params["bodies"]
        self.states = {v: maker.values[before] for v, before, _ in step.states}
        self.after = {v: after for v, before, after in step.states if after != before}
        self.written = list(self.after)

    def find_residuals(self, body: Any) -> tuple:
        """Return the inner nodes of a body that are residuals."""
        if self.step.everything:
            return body.everything()
        return body.find_requested() if self.step.remembers else ()

    def make(self) -> tuple:
        """Emit the branch and return its results."""
        number = self.lists.number(self.index)
        if number is not None:
            number = number if 0 <= number < len(self.bodies) else -1
            return self.in_place(self.bodies[number])
        self._unite()
        if len(self.bodies) == 1:
            return self.in_place(self.bodies[0])
        bodies = [BranchBody(self, body, BodyProgram(self.outer)) for body in self.bodies]
        if all(map(_is_small, bodies)):
            return self.emit_selected()
        return self.emit_choice(bodies)

    def _unite(self) -> None:
        """Merge equal bodies, with one set of residuals."""
        once = list(dict.fromkeys(self.bodies))
        if len(once) == len(self.bodies):
            return
        places = [constant(np.int32(once.index(body))) for body in self.bodies]
        self.index, self.bodies = self._select(places), once

    def in_place(self, body: Body) -> tuple:
        """Inline the one body that runs and return its results."""
        found = BranchBody(self, body, self.outer)
        return self._finish(found.results, dict(zip(found.kept_nodes, found.kept)))

    def _finish(self, results: list, kept: dict) -> tuple:
        count = len(results) - len(self.written)
        for variable, value in zip(self.written, results[count:]):
            self.maker.values[self.after[variable]] = value
        return (*results[:count], History(1, kept))

    def _forms(self, bodies: list[BranchBody]) -> list:
        """Return the form of each result, which is the same for all bodies."""
        found = []
        for trees in zip(*[body.results for body in bodies]):
            known = None
            for body, tree in zip(bodies, trees):
                if type(tree) is List:
                    tree = as_stack(body.lists, tree)
                known = join(body.lists, known, tree)
            found.append(known)
        return found

    def emit_selected(self) -> tuple:
        """Return selected results of all bodies, which all run (if-conversion)."""
        bodies = [BranchBody(self, body, self.outer) for body in self.bodies]
        results = []
        for number, wanted in enumerate(self._forms(bodies)):
            trees = [coerce_tree(self.lists, body.results[number], wanted) for body in bodies]
            columns = zip(*[leaves(tree) for tree in trees])
            made = iter([self._select([_plain(x) for x in column]) for column in columns])
            results.append(map_tree(lambda _, made=made: next(made), wanted))
        kept: dict = {}
        for body in bodies:
            kept.update(zip(body.kept_nodes, body.kept))
        return self._finish(results, kept)

    def _select(self, values: list[Value]) -> Value:
        """Select the value of the chosen body."""
        found = values[-1]
        for number, value in reversed(list(enumerate(values[:-1]))):
            if value is not found:
                found = self._one(self._holds(number), value, found)
        return found

    def _holds(self, number: int) -> Value:
        """Return whether the body of this number runs."""
        apply, index = self.lists.apply, self.index
        maker = index.maker
        if maker is not None and maker.prim is arithmetic.cast and number in (0, 1):
            (truth,) = maker.inputs
            if truth.dtype is bool_:
                return truth if number else self._not(truth)
        return apply(arithmetic.equal, index, constant(np.asarray(number, index.dtype.numpy_dtype)))

    def _not(self, truth: Value) -> Value:
        maker = truth.maker
        if maker is not None and maker.prim is arithmetic.logical_not:
            return maker.inputs[0]
        return self.lists.apply(arithmetic.logical_not, truth)

    def _one(self, holds: Value, x: Value, y: Value) -> Value:
        apply = self.lists.apply
        if x.dtype is bool_ and x.dims == y.dims == ():
            if y.content is not None:
                name = "logical_or" if y.content.reshape(-1)[0] else "logical_and"
                holds = self._not(holds) if name == "logical_or" else holds
                return apply(REGISTRY[name], holds, x)
            if x.content is not None:
                name = "logical_or" if x.content.reshape(-1)[0] else "logical_and"
                holds = holds if name == "logical_or" else self._not(holds)
                return apply(REGISTRY[name], holds, y)
        changed = _rows_changed(x, y)
        if changed is None:
            return apply(arithmetic.select, holds, x, y)
        rows, index, first, second = changed
        first = self.lists.row(rows, index) if first is None else first
        second = self.lists.row(rows, index) if second is None else second
        return apply(with_row, rows, index, apply(arithmetic.select, holds, first, second))

    def emit_choice(self, bodies: list[BranchBody]) -> tuple:
        """Return the results of a `choose` equation, of which one body runs."""
        inners = [body.static for body in bodies]
        rows: list[list] = []
        places = []
        for number, wanted in enumerate(self._forms(bodies)):
            trees = [coerce_tree(body.lists, body.results[number], wanted) for body in bodies]
            column = [[_plain(x) for x in leaves(tree)] for tree in trees]
            start, changed = len(rows), []
            for values in zip(*column):
                choices = _find_row_change(inners, values) if is_endless(values[0]) else None
                rows += [list(values)] if choices is None else choices[1:]
                changed.append(None if choices is None else choices[0])
            places.append((wanted, start, changed))
        residual_trees = []
        for number, body in enumerate(bodies):
            for node, tree in zip(body.kept_nodes, body.kept):
                tree = body.lists.densify(tree)
                columns = [_find_outside(body.static, _plain(leaf)) for leaf in leaves(tree)]
                start = len(rows)
                for leaf, known in zip(leaves(tree), columns):
                    if known is None:
                        row: list = [_absent(_plain(leaf))] * len(bodies)
                        row[number] = _plain(leaf)
                        rows.append(row)
                residual_trees.append((node, tree, start, columns))
        guard = self._guards(inners, rows)
        choice = BranchEquation(inners, rows)  # type: ignore[arg-type]
        choices = add_choice(self.outer, self.index, choice, self.node)
        self._note_limits(inners, rows, choices)
        if guard is not None:
            self.outer.guards.append(choices[guard])
        results = [self._results(choices, *at) for at in places]
        history = {node: _fill_tree(tree, choices, *rest) for node, tree, *rest in residual_trees}
        return self._finish(results, history)

    def _results(
        self, found: tuple, tree: History | Value | Stack, start: int, changed: list
    ) -> Any:
        """Return a tree of results from number `start`; of stacks only a row that may change."""
        values = iter(found[start:])
        made = [
            next(values)
            if stack is None
            else self.lists.apply(with_row, stack, next(values), next(values))
            for stack in changed
        ]
        return _fill_tree(tree, tuple(made), 0)

    def _note_limits(self, inners: list, rows: list, found: tuple) -> None:
        """Record the range of integer results over all bodies."""
        for values, result in zip(rows, found):
            if result.dtype.is_integer:
                known = [i.limits(x) for i, x in zip(inners, values) if x is not None]
                if None not in known:
                    lows, highs = zip(*known)
                    self.outer.bounds[result] = min(lows), max(highs)

    def _guards(self, inners: list, rows: list) -> int | None:
        """Add the guards of the bodies as one more result; returns its position."""
        if not any(inner.guards for inner in inners):
            return None
        column = []
        for inner in inners:
            total = constant(np.True_)
            for guard in inner.guards:
                axes = tuple(range(len(guard.dims)))
                if axes:
                    params = {"axes": axes, "keepdims": False}
                    guard = inner.apply(reduce.reduce_all, [guard], params)
                total = inner.apply(arithmetic.logical_and, [total, guard], {})
            inner.guards = []
            column.append(total)
        rows.append(column)
        return len(rows) - 1


def _find_row_change(inners: list, values: tuple) -> tuple | None:
    """Return (stack, positions, rows) where each body changes at most one row, or None.

    The place of a body that changes none is below zero.
    """
    stack, places, rows = None, [], []
    for inner, value in zip(inners, values):
        maker, row, row_ = value.maker, None, None
        if maker is not None and maker.prim is with_row:
            value, row, row_ = maker.inputs
        own = _find_outside(inner, value)
        if own is None or (stack is not None and not _is_same(stack, own)):
            return None
        stack = own
        row = constant(np.int32(-1)) if row is None else row
        places.append(inner.apply(arithmetic.cast, [row], {"dtype": int64}))
        rows.append(row_)
    kind = values[0].dtype
    blank = Value(values[0].dims[1:], kind, np.zeros((), kind.numpy_dtype))
    return stack, places, [blank if x is None else x for x in rows]


def _is_same(x: Value, y: Value) -> bool:
    return x is y or (is_zero(x) and is_zero(y))


def _find_outside(inner: Any, value: Value) -> Value | None:
    """Return the outer value that a body's value equals, if it is one."""
    return value if value.content is not None else inner.twins.get(value)


def _fill_tree(tree: History | Value | Stack, found: tuple, start: int, known: Any = None) -> Any:
    """Return a tree of results from number `start`, as arrays, except those that are known."""
    values, others = iter(found[start:]), iter(known or ())

    def fill(_: Value) -> Any:
        value = None if known is None else next(others)
        return next(values) if value is None else value

    return map_values(fill, tree)


def _absent(value: Value) -> Value | None:
    """Return the placeholder in one body of another's residuals: empty lists, no arrays.

    Whoever takes all that was kept to the interpreter would make lists of any length.
    """
    if not value.dtype.is_integer or is_endless(value):
        return None
    return Value(value.dims, value.dtype, np.zeros((), value.dtype.numpy_dtype))


def _plain(leaf: Value) -> Value:
    return array_of(leaf)


def _is_small(body: BranchBody) -> bool:
    """Return whether a body is so cheap that it may run speculatively."""
    static = body.static
    if static.guards or static.hosts or len(static.equations) > SMALL:
        return False
    total = 0
    for equation in static.equations:
        prim = equation.prim
        if prim.effect is not None or prim.multiple:
            return False
        if not by_element(prim) and Trait.REINDEXES not in prim.traits and prim is not with_row:
            return False
        if prim is not with_row:
            total += equation.output.size
    return total <= LARGEST


def _rows_changed(x: Value, y: Value) -> tuple | None:
    """Return (rows, index, row of x, row of y) where two arrays differ from a third in one row.

    A row is None where it is not changed.
    """

    def parts(value: Value) -> tuple:
        maker = value.maker
        if maker is None or maker.prim is not with_row:
            return value, None, None
        return maker.inputs

    (a, i, first), (b, j, second) = parts(x), parts(y)
    if not _is_same(a, b) or (i is None and j is None):
        return None
    if i is not None and j is not None and i is not j:
        return None
    return a, j if i is None else i, first, second
