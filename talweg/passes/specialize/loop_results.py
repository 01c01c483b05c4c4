"""The results of a specialized loop: carried values, results and residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import bool_, int32, int64
from talweg.kernels.variants import History, List
from talweg.passes.reasons import Reason
from talweg.passes.specialize.lists import Lists
from talweg.passes.specialize.loop_equation import (
    CarriedValue,
    LoopEquation,
    add_repeat,
    coerce_tree,
)
from talweg.passes.specialize.program import SpecializationError, Value, constant
from talweg.passes.specialize.stack_primitives import ENDLESS, append, is_endless, with_row
from talweg.passes.specialize.trees import (
    ListSegment,
    SegmentedList,
    Stack,
    UniformList,
    array_of,
    leaves,
    map_tree,
)
from talweg.prims import arithmetic, reduce

if TYPE_CHECKING:
    from talweg.passes.specialize.loops import LoopMaker, Trial


class Finish:
    """The builder of a loop's equation from the trial that matched its assumptions."""

    def __init__(self, parent: LoopMaker, trial: Trial):
        self.parent, self.trial, self.inner = parent, trial, trial.inner
        self.outer_lists = Lists(parent.outer, parent.node)
        self.carried: list[CarriedValue] = []
        self.starts: list[Value] = []
        self.limits: dict[int, tuple] = {}  # of results that are integers
        self.ends: dict[Value, tuple] = {}  # length of a stack -> where its rows go; see Runs
        self.trips: Any = None  # how many there were

    def carry(self, before: Any, after: Any, start: Value | None) -> int:
        """Add a carried value and return its position among the results."""
        blank = start is None
        if start is None:
            start = Value(before.dims, before.dtype, np.zeros((), before.dtype.numpy_dtype))
        self.carried.append(CarriedValue(before, after, blank))
        self.starts.append(start)
        return len(self.carried) - 1

    def results(self) -> tuple:
        """Return the results of the loop."""
        parent, trial, inner = self.parent, self.trial, self.inner
        ends = [self._end(number) for number in range(len(parent.forms))]
        self._check_guards()
        flag = self._flag()
        trips = None if trial.exact else self._count_trips()
        residual_trees = [self._history(tree) for tree in trial.kept]
        body = LoopEquation(inner, trial.loop, self.carried, flag)
        repeated = add_repeat(parent.outer, body, self.starts, parent.node)
        if self.guard is not None:
            parent.outer.guards.append(repeated[self.guard])
        if parent.assumed:
            assert flag is not None
            left = repeated[self.carried.index(flag)]
            parent.outer.guards.append(self.outer_lists.apply(arithmetic.logical_not, left))
        parent.outer.bounds.update({repeated[i]: limits for i, limits in self.limits.items()})
        number: Any = trial.loop.trips if trips is None else repeated[trips]
        self.trips = number
        if trips is not None:
            parent.outer.bounds[number] = (0, trial.loop.trips)
        final_values = [self._emit_end(end, repeated, number) for end in ends]
        for (_, _, after), value in zip(parent.written, final_values[parent.count :]):
            parent.maker.values[after] = value
        values = {
            node: self._stacks(tree, repeated) for node, tree in zip(parent.kept, residual_trees)
        }
        return (*final_values[: parent.count], History(number, values))

    def _end(self, number: int) -> Any:
        """Return the final value of a variable: positions among the results, or constants."""
        parent, trial = self.parent, self.trial
        if number in parent.fixed:
            return ("fixed", parent.starts[number])
        if number in parent.places:
            return ("numbers", parent.places[number], parent.starts[number].dtype)
        if number in parent.lines:
            return ("line", parent.starts[number], parent.lines[number])
        wanted = parent.forms[number]
        start = coerce_tree(self.outer_lists, parent.starts[number], wanted)
        after = coerce_tree(trial.lists, trial.afters[number], wanted)
        rows = zip(leaves(trial.befores[number]), leaves(after), leaves(start))
        places = iter([self.carry(before, _whole(x), _whole(s)) for before, x, s in rows])
        return ("tree", map_tree(lambda _: _ResultSlot(next(places)), wanted))

    def _emit_end(self, end: tuple, found: tuple, trips: Any) -> Any:
        kind, what, *rest = end
        if kind == "fixed":
            return what
        if kind == "line":
            return self._extrapolate(what, trips, *rest)
        if kind == "numbers":
            if type(trips) is int:
                return constant(what[trips])
            return self.outer_lists.row(constant(np.asarray(what, rest[0].numpy_dtype)), trips)
        return _grow_list(map_tree(lambda place: found[place.number], what), type(trips) is int)

    def _extrapolate(self, start: Value, trips: Any, step: int) -> Value:
        """Return the final value of an induction variable that grows by `step` in each trip."""
        apply, dtype = self.outer_lists.apply, start.dtype
        each = constant(np.asarray(abs(step), dtype.numpy_dtype))
        if type(trips) is int:
            passed = constant(np.asarray(trips).astype(dtype.numpy_dtype))
        else:
            passed = apply(arithmetic.cast, trips, dtype=dtype)
        passed = passed if abs(step) == 1 else apply(arithmetic.mul, passed, each)
        return apply(arithmetic.add if step > 0 else arithmetic.sub, start, passed)

    def _check_guards(self) -> None:
        """Require the guards of the body, over all trips."""
        inner, outer = self.inner, self.parent.outer
        changing = []
        for guard in inner.guards:
            if inner.changes(guard):
                changing.append(guard)
            elif guard.content is None or not np.all(guard.content):
                twin = inner.twin(guard)
                if twin not in outer.guards:
                    outer.guards.append(twin)  # type: ignore[arg-type]
        inner.guards = []
        self.guard = None
        if not changing:
            return
        before = total = Value((), bool_)
        for guard in changing:
            axes = tuple(range(len(guard.dims)))
            if axes:
                params = {"axes": axes, "keepdims": False}
                guard = inner.apply(reduce.reduce_all, [guard], params)
            total = inner.apply(arithmetic.logical_and, [total, guard], {})
        self.guard = self.carry(before, total, constant(np.True_))

    def _flag(self) -> CarriedValue | None:
        """Return the truth value that decides on another trip."""
        parent, trial = self.parent, self.trial
        if trial.exact:
            return None
        start = parent.going if parent.going is not None else parent.evaluate_condition()[0]
        going = trial.going
        if self.guard is not None:
            holds = self.carried[self.guard].after
            going = self.inner.apply(arithmetic.logical_and, [going, holds], {})
        return self.carried[self.carry(Value((), bool_), going, start)]

    def _count_trips(self) -> int:
        before = Value((), int32)
        after = self.inner.apply(arithmetic.add, [before, constant(np.int32(1))], {})
        return self.carry(before, after, constant(np.int32(0)))

    # -- history

    def _history(self, tree: object) -> Any:
        """Return the residuals of an inner node: the tree of its stacks."""
        lists = self.trial.lists
        return self._keep_tree(_with_whole_rows(lists, lists.densify(tree)))

    def _keep_tree(self, tree: Any) -> Any:
        """Return the tree of stacks that hold the residual arrays of a tree."""
        if type(tree) in (List, History):
            return tree.map_parts(self._keep_tree)
        if type(tree) is not Stack:
            return map_tree(self._keep, tree)
        found = tree.having(
            map_tree(lambda rows: self._keep_rows(rows, tree.length), tree.rows, True)
        )
        found.length = None if tree.length is None else self._keep(tree.length)
        return found

    def _keep_rows(self, rows: Any, length: Any) -> Any:
        """Return the stack that holds the rows of a stack, concatenated if of unknown length."""
        inner = self.inner
        if type(rows) is SegmentedList:
            own_rows = self._keep_rows(rows.rows, length if rows.count is None else rows.count)
            starts = None if rows.starts is None else self._keep_rows(rows.starts, length)
            count = None if rows.count is None else self._keep(rows.count)
            return SegmentedList(own_rows, starts, rows.step, count, rows.depth + 1)
        if length is None or type(rows) is ListSegment:
            return map_tree(self._keep, rows)
        if type(rows) is UniformList:
            return SegmentedList(self._keep(rows), None, 0)
        assert is_endless(rows)
        if length not in self.ends:
            start = Value((), int64)
            count = inner.apply(arithmetic.cast, [length], {"dtype": int64})
            after = inner.apply(arithmetic.add, [start, count], {})
            end = self.carry(start, after, constant(np.int64(0)))
            self.ends[length] = start, self._keep(start), _ResultSlot(end)
        start, starts, count = self.ends[length]
        before = Value(rows.dims, rows.dtype)
        after = inner.apply(append, [before, start, rows, length], {})
        return SegmentedList(_ResultSlot(self.carry(before, after, None)), starts, 1, count)

    def _keep(self, leaf: Any) -> Any:
        inner, trips = self.inner, self.trial.loop.trips
        value = array_of(leaf)
        if not inner.changes(value):
            return UniformList(inner.twin(value))
        numbers = inner.numbers(value)
        if numbers is not None and numbers.ndim == 1:
            return constant(np.asarray(numbers, value.dtype.numpy_dtype))
        if is_endless(value):
            raise SpecializationError(Reason.HISTORY_ENDLESS_WITHIN)
        if trips == ENDLESS and not inner.endless:
            raise SpecializationError(Reason.HISTORY_ENDLESS)
        before = Value((trips, *value.dims), value.dtype)
        after = inner.apply(with_row, [before, inner.round(0, 1, int32), value], {})
        carried = self.carry(before, after, None)
        limits = inner.limits(value) if value.dtype.is_integer else None
        if limits is not None:
            self.limits[carried] = limits
        return _ResultSlot(carried)

    def _stacks(self, tree: object, found: tuple) -> Any:
        """Return the values of an inner node in all trips, as a list."""

        def end(leaf: _ResultSlot | Value | UniformList) -> Any:
            return found[leaf.number] if type(leaf) is _ResultSlot else leaf

        size = self.trial.loop.trips
        return Stack(size, map_tree(end, tree), length=self.trips if size == ENDLESS else None)


def _with_whole_rows(t: Lists, tree: object) -> Any:
    """Return a tree in which each row has its own array, none shared."""
    if type(tree) is Stack and tree.rows is not None:
        if tree.length is not None:
            return tree

        def whole(rows: Any) -> Any:
            return rows if type(rows) is SegmentedList else t.whole(rows, tree.size)

        return tree.having(map_tree(whole, tree.rows, True))
    if type(tree) is History:
        return tree.map_parts(lambda part: _with_whole_rows(t, part))
    return tree


class _ResultSlot:
    """A leaf of a tree: a result of the loop's equation, by number."""

    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number


def _whole(leaf: Value) -> Value:
    if type(leaf) is UniformList:
        raise SpecializationError(Reason.LOOP_ROWS_SAME)
    return leaf


def _grow_list(tree: Value | Stack, exact: bool) -> Any:
    """Return a list as the loop has lengthened it."""
    if type(tree) is Stack and tree.growing:
        if not exact:
            raise SpecializationError(Reason.LIST_GROWS_BY_VALUE)
        return Stack(tree.size, tree.rows, tree.loose)
    return tree
