"""Specialization of loops: one equation `repeat`, with a static program inside.

A loop is run once with unknown values in place of its variables, as often as it takes to learn what
these are: what lists among them consist of, how many trips there are (`trip_counts.py`), what does
not change.  What follows from the number of the trip is then no variable any more.

The history of a loop is a stack for each inner value asked for, with a row for each trip; in the
equation it is one more carried value, that the body changes a row of.

What cannot be done so, because shapes change from trip to trip, is written out trip by trip, if
there are few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.primitive import REGISTRY
from talweg.kernels.variants import History, List
from talweg.passes.functionalize import program_of
from talweg.passes.reasons import Reason
from talweg.passes.specialize.body_programs import BodyProgram
from talweg.passes.specialize.lists import Lists, as_stack
from talweg.passes.specialize.loop_equation import (
    EQUATIONS,
    GUARDED,
    LARGE,
    ROUNDS,
    UNKNOWN,
    WRITTEN_OUT,
    body_values,
    join,
)
from talweg.passes.specialize.loop_results import Finish
from talweg.passes.specialize.program import SpecializationError, Value, constant
from talweg.passes.specialize.stack_primitives import ENDLESS, LoopIndex
from talweg.passes.specialize.trees import (
    Sparse,
    Stack,
    array_of,
    arrays_of,
    form,
    leaves,
    map_tree,
    map_values,
    template,
)
from talweg.passes.specialize.trip_counts import MOST, TripCount, count_trips, extend_run
from talweg.prims import arithmetic

if TYPE_CHECKING:
    from talweg.passes.functionalize import Step
    from talweg.passes.specialize.loop_equation import Unknown
    from talweg.passes.specialize.specializer import _Specializer


def loop(maker: _Specializer, step: Step, params: dict) -> tuple:
    """Specialize a loop: its results, residuals last."""
    loop_maker = LoopMaker(maker, step, params)
    try:
        return loop_maker.make()
    except SpecializationError as error:
        reason = error
    try:
        unrolled = loop_maker.unroll(EQUATIONS)
    except SpecializationError:
        unrolled = None
    try:
        if unrolled is None:
            raise reason
        return unrolled
    finally:
        del reason  # it knows this frame, which would know it


class LoopMaker:
    """The specializer of one loop to a static program."""

    def __init__(self, maker: Any, step: Any, params: dict):
        self.maker, self.outer, self.node = maker, maker.static, step.node
        self.step, self.body, count = step, params["body"], params["count"]
        operands = [maker.values.get(slot) for slot in step.inputs]
        lists = Lists(self.outer, self.node)
        self.others = [lists.densify(x) for x in operands[count:]]
        inner = self.body.everything() if step.everything else self.body.find_requested()
        self.kept = inner if step.remembers or step.everything else ()
        self.condition = program_of(params["cond"])
        self.program = program_of(self.body, self.kept, step.everything)
        self.count = count
        states = step.states
        self.written = [(v, before, after) for v, before, after in states if after != before]
        self.reads = {v: maker.values[before] for v, before, after in states if after == before}
        self.starts = operands[:count] + [maker.values[before] for _, before, _ in self.written]
        self.going: Any = None  # whether there is a first trip, if asking changes variables
        if self.condition.writes:
            self.going, own = self.evaluate_condition()
            self.starts[self.count :] = own.values()
        self.forms = [self.convert_start(tree) for tree in self.starts]
        self.fixed: set[int] = set()  # variables that do not change
        self.moving: set[int] = set()  # those which seemed not to, before more was known
        self.found: TripCount | None = None
        self.places: dict[int, Any] = {}  # variables known in every trip -> their numbers
        self.lines: dict[int, int] = {}  # variables that start at some number -> how they grow
        self.falling: int | None = None  # the one that is 1 in the last trip
        self.assumed = False  # whether more trips than were found are a failure

    def evaluate_condition(self) -> tuple[Value, dict]:
        """Return whether there is a first trip, and the variables after evaluating that."""
        own = {v: self.starts[self.count + i] for i, (v, _, _) in enumerate(self.written)}
        operands = self.starts[: self.count] + self.others
        (going,), changed = body_values(
            self.maker, self.outer, self.condition, operands, {**self.reads, **own}
        )
        return going, {**own, **changed}

    def convert_start(self, tree: List | Value | Stack | None) -> Any:
        """Return a variable's initial value, with lists as stacks."""
        if type(tree) is List:
            tree = as_stack(Lists(self.outer, self.node), tree)
        if type(tree) is Sparse:
            tree = Lists(self.outer, self.node).densify(tree)
        return template(tree)

    def make(self) -> tuple:
        """Emit the loop and return its results."""
        for number in range(ROUNDS):
            trips = ENDLESS if self.found is None else self.found.trips
            trial = Trial(self, trips, tolerant=number == 0)
            settled = self._learn(trial)
            found = self.found
            if found is not None and found.exact and found.trips <= WRITTEN_OUT:
                results = self.unroll(ENDLESS)
                assert results is not None
                return results
            if settled:
                return Finish(self, trial).results()
        raise SpecializationError(Reason.LOOP_UNSETTLED)

    def _learn(self, trial: Trial) -> bool:
        """Adopt the facts of a trial; whether they match its assumptions."""
        if self.found is None:
            self.found = self._count_trips(trial)
            if self.found is not None:
                return False
        settled = not self._count_evenly(trial)
        for number, (tree, after) in enumerate(zip(self.forms, trial.afters)):
            if number in self.places or number in self.lines:
                continue
            if after is UNKNOWN:
                settled = settled and number in self.fixed
                continue
            same = _is_unchanged(trial.befores[number], after)
            same = same or _constant(self.starts[number], after)
            if same and number in self.fixed:
                continue
            if same and number not in self.moving:
                self.fixed.add(number)
                settled = False
                continue
            if number in self.fixed:  # what it depends on was thought to be zero
                self.fixed.remove(number)
                self.moving.add(number)
                settled = False
            joined = join(trial.lists, tree, after)
            if form(joined) != form(tree):
                self.forms[number] = joined
                settled = False
        return settled

    def _count_trips(self, trial: Trial) -> TripCount | None:
        """Return the trip count of the loop."""
        starts, afters, positions = {}, {}, {}
        for number, before in enumerate(trial.befores):
            start = self.starts[number]
            if type(before) is Value and type(start) is Value and start.content is not None:
                whole = before.dtype.is_integer or before.dtype.is_bool
                if whole and not before.dims and before.content is None:
                    starts[before] = start.content.reshape(())[()]
                    afters[before] = trial.afters[number]
                    positions[before] = number
        going = trial.first
        assert going is not None
        count = count_trips(going, afters, starts)
        if count is not None and not count.exact and self._bytes_kept(trial) * count.trips > LARGE:
            if not self.outer.endless:
                raise SpecializationError(Reason.LOOP_MEMORY)
            return None
        if count is None:
            count = self._count_by_forward_loop(trial, going, afters, starts, positions)
            if count is not None:
                return count
            if not any(map(_grows, trial.befores, trial.afters)):
                count = self._count_by_guards(trial, afters, starts)
        if count is not None:
            extend_run(count, afters, starts)
            self.places = {positions[before]: row for before, row in count.numbers.items()}
        return count

    def _bytes_kept(self, trial: Trial) -> int:
        """Return the bytes of residuals of each trip, as far as known."""
        total = 0
        for tree in trial.kept:
            values = [] if tree is UNKNOWN or type(tree) is Sparse else arrays_of(tree)
            total += sum([x.size * x.dtype.size for x in values if trial.inner.changes(x)])
        return total

    def _count_by_guards(self, trial: Trial, afters: dict, starts: dict) -> TripCount | None:
        """Return the trips that the guards of the body allow: an index within an array, say."""
        least = None
        pending = list(trial.inner.guards)
        while pending:
            guard = pending.pop()
            if guard.maker is not None and guard.maker.prim is arithmetic.logical_and:
                pending += guard.maker.inputs
                continue
            found = count_trips(guard, afters, starts, GUARDED)
            if found is not None and (least is None or found.trips < least.trips):
                least = found
        if least is not None:
            least.exact, self.assumed = False, True
        return least

    def _count_by_forward_loop(
        self, trial: Trial, going: Value, afters: dict, starts: dict, index_of: dict
    ) -> TripCount | None:
        """Return the trip count of a derived loop, that of its forward loop, which is bounded.

        It counts down from there to 0, or up from 0.
        """
        maker, inner = going.maker, trial.inner
        if maker is None or maker.prim not in (arithmetic.greater, arithmetic.less):
            return None
        high, low = maker.inputs if maker.prim is arithmetic.greater else maker.inputs[::-1]
        limits = inner.limits(high)
        if limits is not None and low in starts and not inner.changes(high):
            if limits[1] > MOST:
                return self._endless(index_of[low], low, afters[low])
            most = inner.apply(arithmetic.greater, [_most(limits, high), low], {})
            count = count_trips(most, afters, starts)
            if count is not None and _step(low, afters[low]) == 1:
                count.exact = False
                self.places = {index_of[low]: count.numbers[low]}
                return count
        for number, before in enumerate(trial.befores):
            start = self.starts[number]
            if before is high and type(start) is Value and low.content is not None:
                limits = self.outer.limits(start)
                down = _step(high, trial.afters[number]) == -1
                if limits is not None and not low.content and down:
                    self.lines[number], self.falling = -1, number
                    return TripCount(limits[1] if limits[1] <= MOST else ENDLESS, {}, False)
        return None

    def _count_evenly(self, trial: Trial) -> bool:
        """Find the induction variables, from any start; whether there are any."""
        known = len(self.lines)
        for number, (before, after) in enumerate(zip(trial.befores, trial.afters)):
            whole = type(before) is Value and before.dtype.is_integer and not before.dims
            step = _step(before, after) if whole and number not in self.places else None
            if step:
                self.lines.setdefault(number, step)
        return len(self.lines) > known

    def _endless(self, number: int, counter: Value, after: Value) -> TripCount | None:
        """Return the count of a loop that runs as often as one of unknown length did, upwards."""
        start = self.starts[number].content.reshape(-1)[0]
        if _step(counter, after) != 1 or start != 0:
            return None
        self.lines[number] = 1
        return TripCount(ENDLESS, {}, False)

    # -- trip by trip

    def unroll(self, most: int) -> tuple | None:
        """Unroll the loop and return its results; None where that would not end."""
        outer = self.outer
        variables = list(self.starts[: self.count])
        states = {v: self.starts[self.count + i] for i, (v, _, _) in enumerate(self.written)}
        rows: list[list] = []
        limit = len(outer.equations) + most
        going = self.going
        while True:
            known = {**self.reads, **states}
            operands = variables + self.others
            if going is None or rows:
                (going,), changed = body_values(self.maker, outer, self.condition, operands, known)
                states.update(changed)
                known.update(changed)
            if going.content is None or len(outer.equations) > limit:
                if not rows:
                    return None
                raise SpecializationError(Reason.LOOP_END)
            if not going.content.reshape(-1)[0]:
                break
            results, written = body_values(self.maker, outer, self.program, operands, known)
            states.update({v: value for v, value in written.items() if v in states})
            variables = results[: self.count]
            rows.append(results[self.count :])
        for variable, _, after in self.written:
            self.maker.values[after] = states[variable]
        values = {node: List.of([row[i] for row in rows]) for i, node in enumerate(self.kept)}
        return (*variables, History(len(rows), values))


class Trial:
    """A trial run of condition and body with unknown values in place of the variables."""

    def __init__(self, parent: LoopMaker, trips: int, tolerant: bool):
        self.loop = LoopIndex(trips)
        self.inner = inner = BodyProgram(parent.outer, self.loop)
        inner.early = tolerant
        inner.inexact = parent.found is None or not parent.found.exact
        self.lists = Lists(inner, parent.node)
        self.befores = [self._before(parent, number) for number in range(len(parent.forms))]
        self.others = [self._outside(tree) for tree in parent.others]
        self.reads = {v: self._outside(tree) for v, tree in parent.reads.items()}
        maker, count = parent.maker, parent.count
        operands = self.befores[:count] + self.others
        results, written = body_values(
            maker, inner, parent.program, operands, self._states(parent, self.befores), tolerant
        )
        self.kept = results[count:]
        befores = zip(parent.written, self.befores[count:])
        self.afters = results[:count] + [written.get(v[0], before) for v, before in befores]
        self.exact = parent.found is not None and parent.found.exact
        self.first = None
        if parent.found is None:
            self.first, _ = self._condition(parent, self.befores)
        self.going = None
        asked = not self.exact or parent.going is not None
        if asked and not any(after is UNKNOWN for after in self.afters):
            self.going, written = self._condition(parent, self.afters)
            own = self._own(parent, self.afters)
            self.afters[count:] = {**own, **written}.values()
        elif parent.going is not None:
            written = parent.condition.writes
            pairs = self._own(parent, self.afters).items()
            self.afters[count:] = [UNKNOWN if v in written else after for v, after in pairs]

    def _condition(self, parent: LoopMaker, values: list) -> tuple:
        """Evaluate the condition on these variables, and its changes to them."""
        operands, states = values[: parent.count] + self.others, self._states(parent, values)
        (going,), written = body_values(
            parent.maker, self.inner, parent.condition, operands, states
        )
        return going, written

    def _states(self, parent: LoopMaker, values: list) -> dict:
        return {**self.reads, **self._own(parent, values)}

    def _own(self, parent: LoopMaker, values: list) -> dict:
        """Return the variables that the loop changes."""
        return {v: values[parent.count + i] for i, (v, _, _) in enumerate(parent.written)}

    def _outside(self, tree: List | Value | Stack) -> Any:
        """Return a tree of outer values as values of the body."""
        return map_values(self.inner.bring_in, tree)

    def _before(self, parent: LoopMaker, number: int) -> Any:
        if number in parent.fixed:
            return self._outside(parent.starts[number])
        if number in parent.places:
            numbers = parent.places[number][: self.loop.trips]
            return self.inner.by_trip(numbers, parent.starts[number].dtype)
        if number in parent.lines:
            found = self._line(parent.starts[number], parent.lines[number])
            if number == parent.falling:
                self.inner.bounds[found] = (1, self.loop.trips)
            return found
        return map_tree(_fresh, parent.forms[number])

    def _line(self, start: Value, step: int) -> Value:
        """Return the values of an induction variable from `start` on."""
        inner = self.inner
        if start.content is not None:
            return inner.round(int(start.content.reshape(-1)[0]), step, start.dtype)
        number = inner.round(0, abs(step), start.dtype)
        name = "add" if step > 0 else "sub"
        return inner.apply(REGISTRY[name], [inner.bring_in(start), number], {})


def _most(limits: tuple, value: Value) -> Value:
    return constant(np.asarray(limits[1], value.dtype.numpy_dtype))


def _step(before: Value, after: Unknown | Value) -> int | None:
    """Return the step of an induction variable, if it is a number."""
    maker = getattr(after, "maker", None)
    if (
        maker is None
        or maker.prim not in (arithmetic.add, arithmetic.sub)
        or maker.inputs[0] is not before
    ):
        return None
    content = maker.inputs[1].content
    if content is None or content.size != 1:
        return None
    step = int(content.reshape(-1)[0])
    return step if maker.prim is arithmetic.add else -step


def _grows(before: Value | Stack | None, after: object) -> bool:
    """Return whether a variable is a list of which more is known in the next trial."""
    return after is UNKNOWN or (type(before) is Stack and form(before) != form(after))


def _fresh(leaf: Value) -> Any:
    value = array_of(leaf)
    return Value(value.dims, value.dtype)


def _is_unchanged(before: Value | Stack | None, after: Value | Sparse | Stack) -> bool:
    """Return whether a variable equals its earlier value."""
    if form(before) != form(after):
        return False
    pairs = zip(leaves(before), leaves(after))
    return all(x is y or (type(x) is type(y) and array_of(x) is array_of(y)) for x, y in pairs)


def _constant(start: Any, after: Any) -> bool:
    """Return whether a variable has one known value all the time."""
    if type(start) is not Value or type(after) is not Value or start.dims != after.dims:
        return False
    if start.content is None or after.content is None or start.dtype is not after.dtype:
        return False
    if start is after:
        return True
    first, second = [np.broadcast_to(x.content, x.dims) for x in (start, after)]
    return first.tobytes() == second.tobytes()  # -0 is another number than 0
