"""Fusion groups: stored values gathered into loop nests, each one pass over memory.

A `Nest` runs over a space of places, in row-major order.  Its members are stored values of which
each place holds one element, reductions of them, and values with one element a row.  There are

* map: all members have the size of the space;
* rows: the space is [rows, columns]; reductions along columns.  It works row by row, in stages: a
  member that needs a reduction of its row belongs to a later stage, the row being in cache then;
* columns: [outer, rows, columns], reductions along rows, in one stage.

A value joins an earlier nest if it reads that nest's members at its own place only, reads nothing
that is made later than that nest runs, and has something to do with it.  Otherwise there is a
reason, which can be printed.
"""

from __future__ import annotations

import math
from typing import Any

from talweg.core.dtypes import DType
from talweg.lower.fusion.inline import Inliner, UnloweredError
from talweg.lower.fusion.materialize import Storage, is_fold
from talweg.lower.fusion.views import base_of, operands_of
from talweg.lower.ir.index import Axis, Index, flat, unflatten
from talweg.lower.ir.loops import Expr
from talweg.passes.specialize.program import Equation, Value
from talweg.prims import arithmetic

CANDIDATES = 8  # nests looked at for each value
MOST_MEMBERS = 24
FINISHING = frozenset(("matmul", "convolution", "pooling", "max_pool_scatter"))
MOST_STEPS = 400  # expressions of a nest


class RefusedError(Exception):
    """A refusal: the reason for which a value does not join a nest."""


class Fold:
    """A reduction by a declaration's `fold` rule: op, start, and the axes as a pattern of sizes."""

    __slots__ = ("equation", "op", "pattern", "start")

    def __init__(self, equation: Equation):
        self.equation = equation
        x = equation.inputs[0]
        self.op, start = equation.prim.lowering["fold"]
        self.start: Any = start(x.dtype) if callable(start) else start
        axes = equation.params["axes"]
        self.pattern = pattern_of(x.dims, range(len(x.dims)) if axes is None else axes)


def pattern_of(dims: tuple, axes: Any) -> list[tuple[bool, int]]:
    """Merge neighbouring axes: (whether reduced, size), without sizes of 1."""
    pattern: list[tuple[bool, int]] = []
    for axis, size in enumerate(dims):
        if size == 1:
            continue
        reduced = axis in axes
        if pattern and pattern[-1][0] == reduced:
            pattern[-1] = (reduced, pattern[-1][1] * size)
        else:
            pattern.append((reduced, size))
    return pattern


def space_of(pattern: list) -> tuple | None:
    """Return ("rows", rows, columns), ("columns", outer, rows, columns), or None."""
    flags = [reduced for reduced, _ in pattern]
    sizes = [size for _, size in pattern]
    if flags == [True]:
        return ("rows", 1, sizes[0])
    if flags == [False, True]:
        return ("rows", *sizes)
    if flags == [True, False]:
        return ("columns", 1, *sizes)
    if flags == [False, True, False]:
        return ("columns", *sizes)
    return None


class Nest:
    """A fused loop nest: its iteration space, and the values computed there."""

    __slots__ = (
        "axes",
        "elsewhere",
        "final",
        "guarded_loads",
        "levels",
        "loads",
        "members",
        "number",
        "own_loads",
        "shapes",
        "space",
        "steps",
        "targets",
    )

    def __init__(self, number: int, space: tuple, final: bool = False):
        self.number, self.space, self.final = number, space, final
        self.members: list[Value] = []
        self.levels: dict[Value, int] = {}
        self.loads: set[Value] = set()
        self.own_loads: dict[Value, set[Value]] = {}  # by member
        self.guarded_loads: dict[Value, set[Value]] = {}  # those read where a condition holds
        self.elsewhere: set[Value] = set()  # loads at other places than the nest's own
        self.targets: list[tuple[Value, Any]] = []  # of final nests: value, buffer it goes to
        self.shapes: list[tuple] = []  # of the members, for the axes of the loops
        self.axes: tuple = ()
        self.steps = 0

    @property
    def total(self) -> int:
        """The number of points of the iteration space."""
        return math.prod(self.space[1:])

    def set_axes(self) -> None:
        """Make axes for each part of the space, as fine as the members' dimensions."""
        parts, position = [], 0
        shapes = [dims for dims in self.shapes if math.prod(dims) == self.total]
        dims = max(shapes, key=len, default=(self.total,))
        for part, size in enumerate(self.space[1:]):
            own = []
            while position < len(dims) and math.prod(own) * dims[position] <= size:
                own.append(dims[position])
                position += 1
                if math.prod(own) == size and (part + 2 < len(self.space)):
                    break
            if math.prod(own) != size:  # a part that ends inside a dimension
                parts = [(total,) for total in self.space[1:]]
                break
            parts.append(tuple(own))
        letters = {1: "i", 2: "oi", 3: "ori"}[len(parts)]
        self.axes = tuple(
            [
                tuple([Axis(f"{letters[p]}{k}", n) for k, n in enumerate(own)])
                for p, own in enumerate(parts)
            ]
        )

    def place(self, value: Value, fold: bool) -> Index | None:
        """Return the index in `value` of a point's element: by all axes, or by the rows alone."""
        if fold:
            kept = [self.axes[0]] if self.space[0] == "rows" else [self.axes[0], self.axes[2]]
        elif value.size == self.total:
            kept = list(self.axes)
        elif self.space[0] == "rows" and value.size == self.space[1]:
            kept = [self.axes[0]]
        else:
            return None
        axes = [axis for part in kept for axis in part]
        return flat(tuple(map(Index.of, axes)), tuple([axis.extent for axis in axes]))

    def full(self) -> Index:
        """Return the point in the space."""
        axes = [axis for part in self.axes for axis in part]
        return flat(tuple(map(Index.of, axes)), tuple([axis.extent for axis in axes]))


class Block(Nest):
    """An equation with a lowering of its own: a product, a convolution, a host call.

    Elementwise values may join it where its `call` is one of FINISHING: they are computed from each
    element of its result when that is final, while it is in registers or cache.
    """

    __slots__ = ("equation",)

    def __init__(self, number: int, equation: Equation):
        first = equation.outputs[:1]  # what only acts on the world gives nothing
        super().__init__(number, ("map", *[value.size for value in first]))
        self.equation = equation
        self.shapes += [value.dims for value in first]
        for output in equation.outputs:
            self.members.append(output)
            self.levels[output] = 0

    @property
    def finishes(self) -> bool:
        """Whether the block's epilogue can compute other values from its result."""
        return self.equation.prim.lowering.get("call") in FINISHING


class FusionPlan:
    """The fusion plan of a program: its units, nests and blocks, in order of execution."""

    def __init__(self, storage: Storage):
        self.storage = storage
        self.static = storage.static
        self.units: list = []
        self.unit_of: dict[Value, int] = {}
        self.reasons: list[tuple[Value, str]] = []  # why a value began a nest of its own
        self.given = {*self.static.inputs, *[b for _, b, _ in self.static.states]}
        for equation in storage.live:
            if storage.kind[equation] == "block":
                self._block(equation)
                continue
            value = equation.output
            if value in storage.stored and base_of(value) is value and value.content is None:
                self.add(value)

    def _block(self, equation: Equation) -> None:
        storage = self.storage
        apart = [
            x
            for x in operands_of(equation)
            if x in storage.updates and base_of(x) not in storage.stored
        ]
        loads = [part for x in apart for part in storage.parts(x)]
        for x in (*[x for x in operands_of(equation) if x not in apart], *loads):
            self.ensure(x)
        unit = Block(len(self.units), equation)
        unit.loads.update(loads)
        self.units.append(unit)
        for value in equation.outputs:
            self.unit_of[value] = unit.number

    def ensure(self, value: Value) -> None:
        """Ensure that a value is stored, if it is no constant."""
        base = base_of(value)
        if base.content is None and base not in self.unit_of and base not in self.given:
            self.storage.stored.add(base)
            self.add(base)

    def add_copy(self, value: Value) -> Value:
        """Return a stored copy of an input of the program, which a nest of its own makes.

        That is moved before all others: a nest with members that read others' results cannot be.
        """
        equation = Equation(arithmetic.identity, [value], {})
        copy = Value(value.dims, value.dtype)
        equation.outputs, copy.maker = (copy,), equation
        self.storage.kind[equation] = "inliner"
        self.storage.stored.add(copy)
        self.add(copy, apart=True)
        return copy

    def add(
        self, value: Value, final: bool = False, target: Any = None, apart: bool = False
    ) -> Nest:
        """Find or make the nest of a stored value; final nests join those of equal `final`.

        apart: make one in any case.
        """
        if not final and value in self.unit_of:
            return self.units[self.unit_of[value]]
        equation = value.maker
        fold = Fold(equation) if equation is not None and is_fold(equation) and not final else None
        space = ("map", value.size) if fold is None else space_of(fold.pattern)
        if space is None:
            space = ("general", value.size)
        reason = "it is the first"
        if space[0] != "general" and value.size and not apart:
            for nest in self._candidates(final):
                try:
                    self.join(nest, value, space, fold is not None, target)
                    return nest
                except (RefusedError, UnloweredError) as error:
                    reason = f"{nest.number}: {error}"
        nest = Nest(len(self.units), space, final)
        self.units.append(nest)
        self.reasons.append((value, reason))
        if space[0] == "general":
            nest.members.append(value)
            self.unit_of[value] = nest.number
        else:
            self.join(nest, value, space, fold is not None, target, alone=True)
        return nest

    def _candidates(self, final: bool) -> list[Nest]:
        found = [
            u
            for u in self.units[-CANDIDATES * 2 :]
            if u.space[0] != "general" and u.final == final and (type(u) is Nest or u.finishes)
        ]
        return found[::-1][:CANDIDATES]

    def join(
        self,
        nest: Nest,
        value: Value,
        space: tuple,
        fold: bool,
        target: object,
        alone: bool = False,
    ) -> None:
        """Make `value` a member of `nest`; RefusedError if it cannot be."""
        before = nest.space
        if fold and type(nest) is Block:
            raise RefusedError("a reduction of a block's result")
        nest.space = merge_spaces(before, space, value, fold)
        shape = value.maker.inputs[0].dims if fold else value.dims
        nest.shapes.append(shape)
        try:
            nest.set_axes()
            trial = _Trial(self, nest)
            steps = trial.expression(value, fold)
            if not alone:
                self._check(nest, trial, steps)
        except (RefusedError, UnloweredError):
            nest.space = before
            nest.shapes.pop()
            raise
        if value not in nest.levels:
            nest.members.append(value)
        nest.levels[value] = trial.level
        nest.loads |= trial.loads
        nest.own_loads[value] = trial.loads.union(
            *[nest.own_loads.get(x, set()) for x in trial.reads]
        )
        nest.guarded_loads[value] = trial.guarded.union(
            *[nest.guarded_loads.get(x, set()) for x in trial.reads]
        )
        nest.elsewhere |= trial.elsewhere
        nest.steps += steps
        if target is None:
            self.unit_of[value] = nest.number
        else:
            nest.targets.append((value, target))

    def _check(self, nest: Nest, trial: _Trial, steps: int) -> None:
        if not (trial.reads or (trial.loads & nest.loads and type(nest) is Nest)):
            raise RefusedError("nothing in common")
        if len(nest.members) >= MOST_MEMBERS or nest.steps + steps > MOST_STEPS:
            raise RefusedError("the nest is full")
        if nest.space[0] in ("map", "columns") and trial.level:
            raise RefusedError("it needs a whole reduction")


def merge_spaces(own: tuple, other: tuple, value: Value, fold: bool) -> tuple:
    """Return the space of a nest after a member with another space joins it."""
    if own == other:
        return own
    if not fold:
        total = math.prod(own[1:])
        if value.size == total or (own[0] == "rows" and value.size == own[1]):
            return own
        raise RefusedError("another number of elements")
    if own[0] == "map" and math.prod(other[1:]) == own[1]:
        return other
    raise RefusedError("loops over another space")


class _Trial:
    """A trial expansion of a member's expression that finds its reads."""

    def __init__(self, grouping: FusionPlan, nest: Nest):
        self.grouping, self.nest = grouping, nest
        self.loads: set[Value] = set()
        self.reads: set[Value] = set()
        self.elsewhere: set[Value] = set()
        self.guarded: set[Value] = set()
        self.level = 0
        self.steps = 0

    def expression(self, value: Value, fold: bool) -> int:
        """Inline the element of a point and count its parts."""
        nest = self.nest
        inliner = Inliner(self._resolve)
        if fold:
            x = value.maker.inputs[0]  # type: ignore[union-attr]
            inliner.at(x, unflatten(nest.full(), x.dims))
            return len(inliner.made)
        flat_index = nest.place(value, False)
        if flat_index is None:
            raise RefusedError("another number of elements")
        index = unflatten(flat_index, value.dims)
        if value.maker is None or value in self.grouping.unit_of:
            inliner.at(value, index)
        else:
            inliner.of_equation(value.maker, index)
        return len(inliner.made)

    def _resolve(self, value: Value, index: tuple, guard: Expr | None) -> Expr | None:
        grouping, nest = self.grouping, self.nest
        base = base_of(value)
        offset = flat(index, value.dims)
        if guard is not None and base not in nest.levels:
            self.guarded.add(base)
        if base in nest.levels:
            fold = is_fold_value(base) and not nest.final
            if offset != nest.place(base, fold):
                raise RefusedError(f"{base} is read at other places than its own")
            self.reads.add(base)
            self.level = max(self.level, nest.levels[base] + fold)
            return probe(base.dtype)
        unit = grouping.unit_of.get(base)
        if unit is None:
            if base in grouping.given or base.content is not None:
                self.loads.add(base)
                if offset != nest.full():
                    self.elsewhere.add(base)
                return probe(base.dtype)
            if base in grouping.storage.stored:
                raise RefusedError(f"{base} is not made yet")
            return None
        if unit >= nest.number:
            raise RefusedError(f"{base} is made later")
        self.loads.add(base)
        return probe(base.dtype)


def is_fold_value(value: Value) -> bool:
    """Return whether a value is the result of a reduction."""
    return value.maker is not None and is_fold(value.maker)


def probe(dtype: DType) -> Expr:
    """Return a placeholder expression."""
    return Expr("probe", (), dtype)
