"""Materialization: the choice which values of a static program are stored, which inlined.

Stored are the results of reductions and of blocks (products, convolutions, host calls), what blocks
read, what the program gives back, and what would cost more to compute again at every use than to
store once: cost by cost, use by use, in units of one multiplication an element.
"""

from __future__ import annotations

import math

from talweg.core.roles import Role, Trait
from talweg.lower.fusion.inline import Inliner, can_inline, is_plain, loops_cost, scalar_cost
from talweg.lower.fusion.views import base_of, operands_of
from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import Expr
from talweg.passes.specialize.program import Equation, StaticProgram, Value

STORE_COST = 6.0  # writing and reading an element
LONGEST = 120.0  # cost of an expression beyond which its parts are stored
LIGHT = 16.0  # cost of updates that are computed as they are put where they belong


def is_fold(equation: Equation) -> bool:
    """Return whether an equation reduces along axes by a `fold` rule."""
    return "fold" in equation.prim.lowering and _foldable(equation)


def _foldable(equation: Equation) -> bool:
    dtypes = [x.dtype for x in (*equation.inputs, *equation.outputs)]
    return all(map(is_plain, dtypes))


def own_cost(equation: Equation) -> float:
    """Return the cost of one element of an inlined result, operands apart."""
    if Trait.SAME_MEMORY in equation.prim.traits:
        return 0.0
    if "scalar" in equation.prim.lowering:
        return scalar_cost(equation) or 0.0
    if "cost" in equation.prim.lowering:
        return loops_cost(equation) or 0.0
    return max(1.0, 2.0 * len(equation.inputs) - 1)  # each operand has its places, or a choice


class Storage:
    """The result of the choice; `stored`: the values with memory, in order of execution."""

    def __init__(self, static: StaticProgram):
        self.static = static
        self.kind: dict[Equation, str] = {}  # pull, fold or block
        self.live = _live(static)
        self.uses: dict[Value, list[Equation]] = {}
        for equation in self.live:
            self.kind[equation] = _kind(equation)
            for x in set(equation.inputs):
                self.uses.setdefault(x, []).append(equation)
        self.wanted = {base_of(v) for v in static.outputs if v.content is None}
        self.stored: set[Value] = set(static.inputs)
        self.stored.update([before for _, before, _ in static.states])
        self.reads: dict[Equation, dict[Value, set]] = {}  # the places that a rule reads
        self.updates = {x for equation in self.live for x in self._updates(equation)}
        self._must()
        self._should()

    def _must(self) -> None:
        for equation in self.live:
            kind = self.kind[equation]
            if kind != "inliner":
                self.stored.update(equation.outputs)
            if kind == "block":
                operands = [x for x in operands_of(equation) if x not in self.updates]
                self.stored.update([base_of(x) for x in operands if x.content is None])
        self.stored |= self.wanted

    def _updates(self, equation: Equation) -> list[Value]:
        """Return the updates of scatters that have no other use.

        Where a variable is written in place they may be computed from what is overwritten.
        """
        prim = equation.prim
        if prim.lowering.get("call") != "scatter" or prim.role is Role.WRITE:
            return []
        return [
            x
            for x in equation.inputs
            if x.dtype.is_floating
            and x.content is None
            and self.uses[x] == [equation]
            and equation.inputs.count(x) == 1
            and base_of(x) not in self.wanted
            and x.maker is not None
            and self.kind.get(x.maker) == "inliner"
        ]

    def parts(self, value: Value) -> list[Value]:
        """Return the stored values that an inlined value is computed from."""
        found: dict[Value, None] = {}
        pending = [value]
        while pending:
            base = base_of(pending.pop())
            if base in self.stored or base.maker is None:
                found[base] = None
            elif base.content is None:
                pending += base.maker.inputs
        return list(found)

    def _should(self) -> None:
        """Decide whether a value is cheaper to store than to compute at every use."""
        cost: dict[Value, float] = {}
        for equation in self.live:
            if self.kind[equation] != "inliner":
                continue
            value = equation.output
            parts = [cost.get(x, 0.0) for x in set(equation.inputs)]
            total = own_cost(equation) + sum(parts)
            if value in self.stored:
                total = 0.0
            elif value in self.updates:
                if total > LIGHT:
                    self.stored.add(base_of(value))
            elif total > LONGEST or self._is_profitable(value, total):
                self.stored.add(base_of(value))
                total = 0.0
            cost[value] = total

    def _is_profitable(self, value: Value, total: float) -> bool:
        if total == 0.0 or not value.size:
            return False
        demand = 0
        for user in self.uses.get(value, ()):
            if self.kind[user] == "fold":
                demand += value.size
            else:
                reads = self._count_reads(user, value)
                demand += max([reads * times(value, x) for x in user.outputs])
        again = demand - value.size
        return total * again > STORE_COST * value.size + 32

    def _count_reads(self, user: Equation, value: Value) -> int:
        """Count the elements of `value` that each element of a result is made of (3 of a blur's).

        Of those that are read where a condition holds, one is.
        """
        rule = user.prim.lowering.get("loops")
        if self.kind[user] != "inliner" or not callable(rule) or 0 in user.output.dims:
            return 1
        if Trait.REINDEXES in user.prim.traits:
            return 1
        if user not in self.reads:
            self.reads[user] = reads = {x: set() for x in user.inputs}

            def note(x: Value, index: tuple, guard: Expr | None) -> Expr:
                if guard is None:
                    reads[x].add(index)
                return Expr("probe", (), x.dtype)

            axes = [Axis(f"i{k}", size) for k, size in enumerate(user.output.dims)]
            Inliner(note).of_equation(user, tuple(map(Index.of, axes)))
        return max(1, len(self.reads[user][value]))


def times(value: Value, result: Value) -> int:
    """Count the evaluations of an element of `value` where one is inlined into each of `result`.

    Once for each element of the result; but once for a row, if it is the same for the whole row.
    """
    dims = result.dims
    if dims and (value.dims == dims[:-1] or (value.dims and value.dims[-1] == 1)):
        return math.prod(dims[:-1])
    return result.size


def _kind(equation: Equation) -> str:
    if is_fold(equation):
        return "fold"
    return "inliner" if can_inline(equation) else "block"


def _live(static: StaticProgram) -> list[Equation]:
    """Return the live equations: needed ones, and those with effects."""
    needed: set[Value] = {*static.outputs, *[after for _, _, after in static.states]}
    needed.update(static.guards)
    kept = []
    for equation in reversed(static.equations):
        acts = equation.prim.effect in ("host", "random", "graph")
        if acts or any(value in needed for value in equation.outputs):
            kept.append(equation)
            needed.update(equation.inputs)
    return kept[::-1]
