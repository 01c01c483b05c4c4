"""Loops while a program is made straight: one equation `repeat`, with a straight program inside.

A loop is run once with unknown values in place of its variables, as often as it takes to learn what
these are: what lists among them consist of, how many trips there are (`counted.py`), what does not
change.  What follows from the number of the trip is then no variable any more.

The history of a loop is a stack for each inner value asked for, with a row for each trip; in the
equation it is one more carried value, that the body changes a row of.

What cannot be done so, because shapes change from trip to trip, is written out trip by trip, if
there are few.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.core.dtypes import bool_, int32
from talweg.core.primitive import later
from talweg.graph.node import Node
from talweg.kernels.variants import History, List
from talweg.passes.counted import Count, counted, followed
from talweg.passes.functionalize import Program, program_of
from talweg.passes.inside import Inner, acts
from talweg.passes.rows import Construct, Loop, with_row
from talweg.passes.straight import Equation, NotStraightError, Straight, Value, constant
from talweg.passes.straight_lists import (
    Lists,
    Same,
    Sparse,
    Stack,
    as_stack,
    form,
    leaves,
    mapped,
    template,
)

ROUNDS = 8  # in which what is known of the variables must settle
WRITTEN_OUT = 2  # trips of a loop that is always written out
EQUATIONS = 4000  # that a loop may have when it is written out
GUARDED = 1 << 13  # trips of a loop that ends where the program would fail
ENDLESS = 1 << 40  # trips of a loop of which nothing is known

repeat = Construct("repeat", {"call": "repeat"}, multiple=True)
acting_repeat = Construct("repeat", {"call": "repeat"}, multiple=True, effect="host")


class Carried:
    """A value that a loop changes: what it is at the start and the end of a trip.

    `blank`: it holds nothing at first, every part is written before it is read.
    """

    __slots__ = ("after", "before", "blank")

    def __init__(self, before: Value, after: Value, blank: bool = False):
        self.before, self.after, self.blank = before, after, blank


class Repeat:
    """The body of a loop; the parameter `body` of the equation.

    The equation's inputs are those of `straight`, then the starts of the carried values; its
    outputs are these at the end.  `flag`: the carried truth value that says if there is another
    trip, None if there are exactly `loop.trips`.
    """

    __slots__ = ("carried", "flag", "loop", "straight")

    def __init__(self, straight: Inner, loop: Loop, carried: list[Carried], flag: Carried | None):
        self.straight, self.loop, self.carried, self.flag = straight, loop, carried, flag


def add_repeat(outer: Straight, body: Repeat, starts: list[Value], node: Any) -> tuple[Value, ...]:
    """The equation of a loop, at the end of a program; its results."""
    inner = body.straight
    inputs = [inner.twins[x] for x in inner.inputs]
    kind = acting_repeat if acts(inner) else repeat
    equation = Equation(kind, [*inputs, *starts], {"body": body}, node)  # type: ignore[arg-type]
    equation.outputs = tuple([Value(c.before.dims, c.before.dtype) for c in body.carried])
    for value in equation.outputs:
        value.maker = equation
    outer.equations.append(equation)
    return equation.outputs


class Unknown:
    """What a step gives that cannot be made straight as long as too little is known."""

    values: dict = {}


UNKNOWN: Any = Unknown()


def _try_steps(part: Any) -> None:
    """Run the steps of a body, as far as that is possible."""
    values = part.values
    for step in part.program.steps:
        if not any(values.get(slot) is UNKNOWN for slot in step.inputs):
            try:
                part.step(step)
                continue
            except NotStraightError:
                pass
        values[step.out] = UNKNOWN if not step.prim.multiple else (UNKNOWN,) * 1000
        values.update({after: UNKNOWN for _, before, after in step.states if after != before})


def body_values(
    maker: Any,
    straight: Straight,
    program: Program,
    operands: list,
    states: dict,
    tolerant: bool = False,
) -> tuple[list, dict]:
    """The results of a body's program put at the end of `straight`; variables after it.

    `tolerant`: what cannot be made straight yet is UNKNOWN.
    """
    part = type(maker)(straight, program)
    part.values.update(zip(program.inputs, operands))
    for variable, slot in program.starts.items():
        if type(variable) is not Node:
            part.values[slot] = states[variable]
    if tolerant:
        _try_steps(part)
    else:
        part.run()
    written = {v: part.values[slot] for v, slot in program.writes.items() if type(v) is not Node}
    return [part.values[slot] for slot in program.outputs], written


def loop(maker: Any, step: Any, params: dict) -> tuple:
    """A loop made straight: its results, history last."""
    maker_of_loop = LoopMaker(maker, step, params)
    try:
        return maker_of_loop.make()
    except NotStraightError:
        found = maker_of_loop.written_out(EQUATIONS)
        if found is None:
            raise
        return found


class LoopMaker:
    """Makes one loop straight."""

    def __init__(self, maker: Any, step: Any, params: dict):
        self.maker, self.outer, self.node = maker, maker.straight, step.node
        self.step, self.body, count = step, params["body"], params["count"]
        operands = [maker.values.get(slot) for slot in step.inputs]
        lists = Lists(self.outer, self.node)
        self.others = [lists.settled(x) if type(x) is Sparse else x for x in operands[count:]]
        inner = self.body.everything() if step.everything else self.body.requested()
        self.kept = inner if step.remembers or step.everything else ()
        self.condition = program_of(params["cond"])
        self.program = program_of(self.body, self.kept, step.everything)
        self.count = count
        states = [s for s in step.states if type(s[0]) is not Node]
        self.written = [(v, before, after) for v, before, after in states if after != before]
        self.reads = {v: maker.values[before] for v, before, after in states if after == before}
        self.starts = operands[:count] + [maker.values[before] for _, before, _ in self.written]
        self.forms = [self.entered(tree) for tree in self.starts]
        self.fixed: set[int] = set()  # variables that do not change
        self.found: Count | None = None
        self.places: dict[int, Any] = {}  # variables known in every trip -> their numbers
        self.lines: dict[int, int] = {}  # variables that start at some number -> how they grow
        self.assumed = False  # whether more trips than were found are a failure

    def entered(self, tree: Any) -> Any:
        """A variable's start, lists as stacks."""
        if type(tree) is List:
            tree = as_stack(Lists(self.outer, self.node), tree)
        if type(tree) is Sparse:
            tree = Lists(self.outer, self.node).settled(tree)
        return template(tree)

    def make(self) -> tuple:
        """The results."""
        for number in range(ROUNDS):
            trips = ENDLESS if self.found is None else self.found.trips
            trial = Trial(self, trips, tolerant=number == 0)
            settled = self._learn(trial)
            found = self.found
            if found is not None and found.exact and found.trips <= WRITTEN_OUT:
                results = self.written_out(ENDLESS)
                assert results is not None
                return results
            if settled:
                return Finish(self, trial).results()
        raise NotStraightError("what is known of a loop's variables does not settle")

    def _learn(self, trial: Trial) -> bool:
        """Take what a trial has shown; whether it was as expected."""
        if self.found is None:
            self.found = self._counted(trial)
            if self.found is not None:
                return False
        settled = True
        for number, (tree, after) in enumerate(zip(self.forms, trial.afters)):
            if number in self.fixed or number in self.places or number in self.lines:
                continue
            if after is UNKNOWN:
                settled = False
                continue
            if _unchanged(trial.befores[number], after) or _constant(self.starts[number], after):
                self.fixed.add(number)
                settled = False
                continue
            joined = join(trial.lists, tree, after)
            if form(joined) != form(tree):
                self.forms[number] = joined
                settled = False
        return settled

    def _counted(self, trial: Trial) -> Count | None:
        """How often the loop runs."""
        starts, afters, place = {}, {}, {}
        for number, before in enumerate(trial.befores):
            start = self.starts[number]
            if type(before) is Value and type(start) is Value and start.content is not None:
                whole = before.dtype.is_integer or before.dtype.is_bool
                if whole and not before.dims and before.content is None:
                    starts[before] = start.content.reshape(())[()]
                    afters[before] = trial.afters[number]
                    place[before] = number
        going = trial.first
        assert going is not None
        found = counted(going, afters, starts)
        if found is None:
            found = self._bounded(trial, going, afters, starts, place)
            if found is not None:
                return found
            found = self._required(trial, afters, starts)
        if found is not None:
            followed(found, afters, starts)
            self.places = {place[before]: row for before, row in found.numbers.items()}
        return found

    def _required(self, trial: Trial, afters: dict, starts: dict) -> Count | None:
        """As many trips as what the body requires allows: an index within an array, say."""
        least = None
        pending = list(trial.inner.guards)
        while pending:
            guard = pending.pop()
            if guard.maker is not None and guard.maker.prim.name == "logical_and":
                pending += guard.maker.inputs
                continue
            found = counted(guard, afters, starts, GUARDED)
            if found is not None and (least is None or found.trips < least.trips):
                least = found
        if least is not None:
            least.exact, self.assumed = False, True
        return least

    def _bounded(
        self, trial: Trial, going: Value, afters: dict, starts: dict, place: dict
    ) -> Count | None:
        """The count of a derived loop: as many trips as another one made, of which most are known.

        It counts down from there to 0, or up from 0.
        """
        maker, inner = going.maker, trial.inner
        if maker is None or maker.prim.name not in ("greater", "less"):
            return None
        high, low = maker.inputs if maker.prim.name == "greater" else maker.inputs[::-1]
        limits = inner.limits(high)
        if limits is not None and low in starts and not inner.changes(high):
            most = inner.apply(later("greater"), [_most(limits, high), low], {})
            found = counted(most, afters, starts)
            if found is not None and _step(low, afters[low]) == 1:
                found.exact = False
                self.places = {place[low]: found.numbers[low]}
                return found
        for number, before in enumerate(trial.befores):
            start = self.starts[number]
            if before is high and type(start) is Value and low.content is not None:
                limits = self.outer.limits(start)
                down = _step(high, trial.afters[number]) == -1
                if limits is not None and not low.content and down:
                    self.lines[number] = -1
                    return Count(limits[1], {}, False)
        return None

    # -- trip by trip

    def written_out(self, most: int) -> tuple | None:
        """The results of all trips, one after the other; None where that would not end."""
        outer = self.outer
        variables = list(self.starts[: self.count])
        states = {v: self.starts[self.count + i] for i, (v, _, _) in enumerate(self.written)}
        rows: list[list] = []
        limit = len(outer.equations) + most
        while True:
            known = {**self.reads, **states}
            operands = variables + self.others
            (going,), _ = body_values(self.maker, outer, self.condition, operands, known)
            if going.content is None or len(outer.equations) > limit:
                if not rows:
                    return None
                raise NotStraightError("a loop that ends depending on values")
            if not going.content.reshape(-1)[0]:
                break
            found, written = body_values(self.maker, outer, self.program, operands, known)
            states.update({v: value for v, value in written.items() if v in states})
            variables = found[: self.count]
            rows.append(found[self.count :])
        for variable, _, after in self.written:
            self.maker.values[after] = states[variable]
        values = {node: List.of([row[i] for row in rows]) for i, node in enumerate(self.kept)}
        return (*variables, History(len(rows), values))


class Trial:
    """One run of condition and body with unknown values in place of the variables."""

    def __init__(self, parent: LoopMaker, trips: int, tolerant: bool):
        self.loop = Loop(trips)
        self.inner = inner = Inner(parent.outer, self.loop)
        self.lists = Lists(inner, parent.node)
        self.befores = [self._before(parent, number) for number in range(len(parent.forms))]
        self.others = [self._outside(tree) for tree in parent.others]
        self.reads = {v: self._outside(tree) for v, tree in parent.reads.items()}
        maker, count = parent.maker, parent.count
        operands = self.befores[:count] + self.others
        found, written = body_values(
            maker, inner, parent.program, operands, self._states(parent, self.befores), tolerant
        )
        self.kept = found[count:]
        befores = zip(parent.written, self.befores[count:])
        self.afters = found[:count] + [written.get(v[0], before) for v, before in befores]
        self.exact = parent.found is not None and parent.found.exact
        self.first = self._condition(parent, self.befores) if parent.found is None else None
        self.going = None
        if not self.exact and not any(after is UNKNOWN for after in self.afters):
            self.going = self._condition(parent, self.afters)

    def _condition(self, parent: LoopMaker, values: list) -> Value:
        """Whether there is a trip with these variables."""
        operands, states = values[: parent.count] + self.others, self._states(parent, values)
        (going,), _ = body_values(parent.maker, self.inner, parent.condition, operands, states)
        return going

    def _states(self, parent: LoopMaker, values: list) -> dict:
        own = {v: values[parent.count + i] for i, (v, _, _) in enumerate(parent.written)}
        return {**self.reads, **own}

    def _outside(self, tree: Any) -> Any:
        """A tree of values outside, here."""
        inner = self.inner

        def brought(leaf: Any) -> Any:
            return Same(inner.bring_in(leaf.value)) if type(leaf) is Same else inner.bring_in(leaf)

        return mapped(brought, tree)

    def _before(self, parent: LoopMaker, number: int) -> Any:
        if number in parent.fixed:
            return self._outside(parent.starts[number])
        if number in parent.places:
            numbers = parent.places[number][: self.loop.trips]
            return self.inner.by_trip(numbers, parent.starts[number].dtype)
        if number in parent.lines:
            return self._line(parent.starts[number])
        return mapped(_fresh, parent.forms[number])

    def _line(self, start: Value) -> Value:
        """What counts down from `start`, in a trip: at least 1."""
        inner = self.inner
        number = inner.round(0, 1, start.dtype)
        found = inner.apply(later("sub"), [inner.bring_in(start), number], {})
        inner.bounds[found] = (1, self.loop.trips)
        return found


def _most(limits: tuple, value: Value) -> Value:
    return constant(np.asarray(limits[1], value.dtype.numpy_dtype))


def _step(before: Value, after: Any) -> int | None:
    """What is added to a variable in each trip, if that is a number."""
    maker = getattr(after, "maker", None)
    if maker is None or maker.prim.name not in ("add", "sub") or maker.inputs[0] is not before:
        return None
    content = maker.inputs[1].content
    if content is None or content.size != 1:
        return None
    step = int(content.reshape(-1)[0])
    return step if maker.prim.name == "add" else -step


def _fresh(leaf: Any) -> Any:
    value = leaf.value if type(leaf) is Same else leaf
    return Value(value.dims, value.dtype)


def _unchanged(before: Any, after: Any) -> bool:
    """Whether a variable is what it was."""
    if form(before) != form(after):
        return False
    pairs = zip(leaves(before), leaves(after))
    return all(x is y or (type(x) is type(y) is Same and x.value is y.value) for x, y in pairs)


def _constant(start: Any, after: Any) -> bool:
    """Whether a variable has one known value all the time."""
    if type(start) is not Value or type(after) is not Value or start.dims != after.dims:
        return False
    if start.content is None or after.content is None or start.dtype is not after.dtype:
        return False
    return start is after or np.array_equal(
        np.broadcast_to(start.content, start.dims), np.broadcast_to(after.content, after.dims)
    )


def join(t: Lists, known: Any, after: Any) -> Any:
    """What a variable is made of, which was thought to be as `known` and is `after` a trip."""
    if type(after) is Sparse:
        after = t.settled(after)
    if type(after) is List:
        after = as_stack(t, after)
        after.loose = known is None
    if known is None or after is None:
        return template(after) if known is None else known
    if type(known) is Stack and type(after) is Stack:
        size, loose = max(known.size, after.size), known.loose or after.loose
        growing = not loose and (known.growing or after.growing or known.size != after.size)
        if known.rows is None or after.rows is None:
            rows = after.rows if known.rows is None else known.rows
            return template(Stack(size, rows, loose, growing))
        return Stack(size, _joined_rows(t, known.rows, after.rows, size), loose, growing)
    if type(known) is History and type(after) is History:
        nodes = dict.fromkeys((*known.values, *after.values))
        trips = known.trips if known.trips == after.trips else max(known.trips, after.trips)
        parts = {n: join(t, known.values.get(n), after.values.get(n)) for n in nodes}
        return History(trips, parts)
    if type(known) is not Value or type(after) is not Value:
        raise NotStraightError("a loop variable that is now this, now that")
    if known.dims != after.dims or known.dtype is not after.dtype:
        raise NotStraightError("the shape of a loop variable changes")
    return known


def _joined_rows(t: Lists, known: Any, after: Any, size: int) -> Any:
    """The rows of two stacks as one form, of `size` rows."""
    first, second = [template(Stack(size, rows)).rows for rows in (known, after)]
    if form(first) != form(second):
        raise NotStraightError("the elements of a list differ")
    return first


def coerced(t: Lists, tree: Any, wanted: Any) -> Any:
    """A tree in the form that is wanted: what is absent is zero."""
    if wanted is None or form(tree) == form(wanted):
        return tree
    if tree is None:
        return mapped(t.zero_like, wanted)
    if type(tree) is Sparse:
        tree = t.settled(tree, wanted.size)
    if type(tree) is List and type(wanted) is Stack:
        tree = as_stack(t, tree)
    if type(wanted) is Stack:
        if tree.rows is None:
            return mapped(t.zero_like, wanted)
        longer = t.resized(tree, wanted.size)
        rows = mapped(lambda leaf: t.whole(leaf, wanted.size), longer.rows)
        return Stack(wanted.size, rows, wanted.loose, wanted.growing)
    if type(wanted) is History:
        parts = {n: coerced(t, tree.values.get(n), part) for n, part in wanted.values.items()}
        return History(wanted.trips, parts)
    raise NotStraightError("a loop variable that is now this, now that")


class Finish:
    """Makes the equation of a loop from the trial that went as expected."""

    def __init__(self, parent: LoopMaker, trial: Trial):
        self.parent, self.trial, self.inner = parent, trial, trial.inner
        self.outer_lists = Lists(parent.outer, parent.node)
        self.carried: list[Carried] = []
        self.starts: list[Value] = []
        self.limits: dict[int, tuple] = {}  # of results that are integers

    def carry(self, before: Value, after: Value, start: Value | None) -> int:
        """One more carried value; its place among the results."""
        blank = start is None
        if start is None:
            start = Value(before.dims, before.dtype, np.zeros((), before.dtype.numpy_dtype))
        self.carried.append(Carried(before, after, blank))
        self.starts.append(start)
        return len(self.carried) - 1

    def results(self) -> tuple:
        """The results of the loop."""
        parent, trial, inner = self.parent, self.trial, self.inner
        ends = [self._end(number) for number in range(len(parent.forms))]
        self._check_guards()
        flag = self._flag()
        trips = None if trial.exact else self._count_trips()
        kept = [self._history(tree) for tree in trial.kept]
        if inner.draws and not trial.exact:
            raise NotStraightError("random numbers are drawn in a loop of unknown length")
        inner.take_draws()
        body = Repeat(inner, trial.loop, self.carried, flag)
        found = add_repeat(parent.outer, body, self.starts, parent.node)
        if self.guard is not None:
            parent.outer.guards.append(found[self.guard])
        if parent.assumed:
            assert flag is not None
            left = found[self.carried.index(flag)]
            parent.outer.guards.append(self.outer_lists.apply(later("logical_not"), left))
        parent.outer.bounds.update({found[i]: limits for i, limits in self.limits.items()})
        number: Any = trial.loop.trips if trips is None else found[trips]
        if trips is not None and trial.loop.trips < ENDLESS:
            parent.outer.bounds[number] = (0, trial.loop.trips)
        made = [self._made(end, found, number) for end in ends]
        for (_, _, after), value in zip(parent.written, made[parent.count :]):
            parent.maker.values[after] = value
        values = {node: self._stacks(tree, found) for node, tree in zip(parent.kept, kept)}
        return (*made[: parent.count], History(number, values))

    def _end(self, number: int) -> Any:
        """What a variable is at the end: a tree of places among the results, or what is known."""
        parent, trial = self.parent, self.trial
        if number in parent.fixed:
            return ("fixed", parent.starts[number])
        if number in parent.places:
            return ("numbers", parent.places[number], parent.starts[number].dtype)
        if number in parent.lines:
            return ("line", parent.starts[number])
        wanted = parent.forms[number]
        start = coerced(self.outer_lists, parent.starts[number], wanted)
        after = coerced(trial.lists, trial.afters[number], wanted)
        rows = zip(leaves(trial.befores[number]), leaves(after), leaves(start))
        places = iter([self.carry(before, _whole(x), _whole(s)) for before, x, s in rows])
        return ("tree", mapped(lambda _: _Place(next(places)), wanted))

    def _made(self, end: tuple, found: tuple, trips: Any) -> Any:
        kind, what, *rest = end
        if kind == "fixed":
            return what
        if kind == "line":
            passed = self.outer_lists.apply(later("cast"), trips, dtype=what.dtype)
            return self.outer_lists.apply(later("sub"), what, passed)
        if kind == "numbers":
            if type(trips) is int:
                return constant(what[trips])
            return self.outer_lists.row(constant(np.asarray(what, rest[0].numpy_dtype)), trips)
        return _grown(mapped(lambda place: found[place.number], what), type(trips) is int)

    def _check_guards(self) -> None:
        """What the body requires, over all trips."""
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
                guard = inner.apply(later("reduce_all"), [guard], params)
            total = inner.apply(later("logical_and"), [total, guard], {})
        self.guard = self.carry(before, total, constant(np.True_))

    def _flag(self) -> Carried | None:
        """The truth value that says if there is another trip."""
        parent, trial = self.parent, self.trial
        if trial.exact:
            return None
        operands = parent.starts[: parent.count] + parent.others
        states = {v: parent.starts[parent.count + i] for i, (v, _, _) in enumerate(parent.written)}
        (start,), _ = body_values(
            parent.maker, parent.outer, parent.condition, operands, {**parent.reads, **states}
        )
        going = trial.going
        if self.guard is not None:
            holds = self.carried[self.guard].after
            going = self.inner.apply(later("logical_and"), [going, holds], {})
        return self.carried[self.carry(Value((), bool_), going, start)]

    def _count_trips(self) -> int:
        before = Value((), int32)
        after = self.inner.apply(later("add"), [before, constant(np.int32(1))], {})
        return self.carry(before, after, constant(np.int32(0)))

    # -- history

    def _history(self, tree: Any) -> Any:
        """Where the values of an inner node are kept."""
        lists = self.trial.lists
        if type(tree) is Sparse:
            tree = lists.settled(tree)
        return mapped(self._kept, _with_whole_rows(lists, tree))

    def _kept(self, leaf: Any) -> Any:
        inner, trips = self.inner, self.trial.loop.trips
        value = leaf.value if type(leaf) is Same else leaf
        if not inner.changes(value):
            return Same(inner.twin(value))
        numbers = inner.numbers(value)
        if numbers is not None and numbers.ndim == 1:
            return constant(np.asarray(numbers, value.dtype.numpy_dtype))
        if trips == ENDLESS:
            raise NotStraightError("the history of a loop of unknown length")
        before = Value((trips, *value.dims), value.dtype)
        after = inner.apply(with_row, [before, inner.round(0, 1, int32), value], {})
        place = self.carry(before, after, None)
        limits = inner.limits(value) if value.dtype.is_integer else None
        if limits is not None:
            self.limits[place] = limits
        return _Place(place)

    def _stacks(self, tree: Any, found: tuple) -> Any:
        """The values of an inner node in all trips, as a list."""

        def end(leaf: Any) -> Any:
            return found[leaf.number] if type(leaf) is _Place else leaf

        return Stack(self.trial.loop.trips, mapped(end, tree))


def _with_whole_rows(t: Lists, tree: Any) -> Any:
    """A tree in which no row is given once for all."""
    if type(tree) is Stack and tree.rows is not None:
        rows = mapped(lambda leaf: t.whole(leaf, tree.size), tree.rows)
        return Stack(tree.size, rows, tree.loose, tree.growing)
    if type(tree) is History:
        return History(tree.trips, {n: _with_whole_rows(t, x) for n, x in tree.values.items()})
    return tree


class _Place:
    """In a tree: a result of the loop's equation, by number."""

    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number


def _whole(leaf: Any) -> Value:
    if type(leaf) is Same:
        raise NotStraightError("the rows of a loop variable are all the same")
    return leaf


def _grown(tree: Any, exact: bool) -> Any:
    """A list after the loop that has made it longer."""
    if type(tree) is Stack and tree.growing:
        if not exact:
            raise NotStraightError("a list grows to a length that depends on values")
        return Stack(tree.size, tree.rows, tree.loose)
    return tree
