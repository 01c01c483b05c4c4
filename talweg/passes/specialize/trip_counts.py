"""Trip-count analysis: counts that follow from constants, computed before the loop runs.

The part of condition and body that integer variables with known starts are made of is run here,
trip by trip at first.  Once they are seen to grow evenly, all further trips are computed at once,
and that they do grow so is checked by the same computation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from talweg.core.errors import OpError
from talweg.passes.specialize.program import Equation, Value
from talweg.passes.specialize.stack_primitives import by_element
from talweg.prims import arithmetic

TRIED = (4, 64)  # trips run one by one before it is tried to guess the others
MOST = 1 << 22  # trips that are looked at, where they can be computed at once
SLOWEST = 20_000  # where they cannot


class TripCount:
    """The trip count `trips`, and `numbers`: the values of carried integers at each trip's start.

    `exact`: the loop runs so often; if not, perhaps less often.
    """

    __slots__ = ("exact", "numbers", "trips")

    def __init__(self, trips: int, numbers: dict[Value, NDArray], exact: bool):
        self.trips, self.numbers, self.exact = trips, numbers, exact


class _Run:
    """The slice of equations that some values depend on, evaluated on numbers."""

    def __init__(self, roots: Iterable[Value], starts: dict[Value, Any]):
        self.equations: list[Equation] = []
        self.needed: set[Value] = set()
        self.complete = True  # whether nothing else is needed
        self.starts = starts
        self.vector = True  # whether all trips can be computed at once
        done: set[Any] = set()
        stack: list = [(root, False) for root in roots]
        while stack and self.complete:
            item, ready = stack.pop()
            if ready:
                self.equations.append(item)
            elif type(item) is Value and item.content is not None:
                self.vector = self.vector and not item.dims
            elif item in starts:
                self.needed.add(item)
            elif type(item) is not Value:
                self.complete = False
            else:
                self._enter(item.maker, stack, done)

    def _enter(self, maker: Equation | None, stack: list, done: set) -> None:
        if maker in done:
            return
        if maker is None or not _is_known(maker):
            self.complete = False
            return
        self.vector = self.vector and by_element(maker.prim)
        done.add(maker)
        stack.append((maker, True))
        stack += [(x, False) for x in maker.inputs]

    def of(self, values: dict[Value, Any], wanted: Iterable[Value]) -> list:
        """Evaluate the wanted values for these numbers of the carried ones."""
        known = dict(values)

        def find(x: Value) -> Any:
            return known[x] if x.content is None else np.broadcast_to(x.content, x.dims)

        with np.errstate(all="ignore"):
            for equation in self.equations:
                inputs = [find(x) for x in equation.inputs]
                known[equation.output] = equation.prim.numpy(*inputs, **equation.params)
            return [find(x) for x in wanted]


def _is_known(maker: Equation) -> bool:
    """Return whether an equation can be computed beforehand."""
    prim = maker.prim
    if prim.effect is not None or prim.multiple or not maker.inputs or prim.memory == "host":
        return False
    return prim.numpy is not None and maker.output.size <= 64


def close_run(roots: Iterable[Value], afters: dict[Value, Value], starts: dict[Value, Any]) -> Any:
    """Return the slice that `roots` and the carried values they need depend on, or None."""
    wanted = list(roots)
    seen: set[Value] = set()
    while True:
        run = _Run(wanted, starts)
        if not run.complete:
            return None
        fresh = run.needed - seen
        if not fresh:
            return run
        seen |= fresh
        wanted += [afters[before] for before in fresh]


def count_trips(
    condition: Value, afters: dict[Value, Value], starts: dict[Value, Any], most: int = MOST
) -> TripCount | None:
    """Count the trips of a loop: while `condition`, carried value -> what comes `after` it.

    `starts` are the carried scalars that are known at the start; no more than `most` trips are
    looked at.
    """
    if condition.content is not None:
        return None if condition.content.reshape(-1)[0] else TripCount(0, {}, True)
    trips = _trips_of(condition, afters, starts, most)
    if trips is not None:
        return trips
    maker = condition.maker
    if maker is None or maker.prim is not arithmetic.logical_and:
        return None
    parts = [count_trips(part, afters, starts, most) for part in maker.inputs]
    known = [part for part in parts if part is not None]
    if not known:
        return None
    least = min(known, key=lambda part: part.trips)
    return TripCount(least.trips, least.numbers, False)


def _trips_of(condition: Value, afters: dict, starts: dict, most: int) -> TripCount | None:
    run = close_run([condition], afters, starts)
    if run is None:
        return None
    befores = list(run.needed)
    wanted = [condition, *[afters[before] for before in befores]]
    rows = [[starts[before] for before in befores]]
    question = _Run([condition], starts)
    while True:
        now = dict(zip(befores, rows[-1]))
        try:
            if not bool(np.all(question.of(now, [condition])[0])):
                break  # what the body would compute now may be an error
            rows.append(run.of(now, wanted[1:]))
        except OpError:  # of the program, which raises it when it runs
            return None
        if len(rows) in TRIED and run.vector:
            guessed = _extrapolate_count(run, befores, wanted, rows, most)
            if guessed is not None:
                return guessed or None
        if len(rows) > min(SLOWEST, most):
            return None
    columns = [np.array([row[i] for row in rows]) for i in range(len(befores))]
    numbers = {before: column for before, column in zip(befores, columns) if column.ndim == 1}
    return TripCount(len(rows) - 1, numbers, True)


def _extrapolate_count(run: _Run, befores: list, wanted: list, rows: list, most: int) -> Any:
    """Extrapolate the count from linear growth; False if there are too many, None if not."""
    first = [np.asarray(row) for row in rows[0]]
    steps = [int(b) - int(a) for a, b in zip(rows[0], rows[1])]
    length = 256
    while length <= most:
        places = np.arange(length + 1, dtype=np.int64)
        columns = [
            (int(start) + step * places).astype(start.dtype) for start, step in zip(first, steps)
        ]
        now = {before: column[:-1] for before, column in zip(befores, columns)}
        going, *afters = run.of(now, wanted)
        going = np.broadcast_to(going, length)
        trips = length if going.all() else int(np.argmin(going))
        for column, after in zip(columns, afters):
            if not np.array_equal(np.broadcast_to(after, length)[:trips], column[1 : trips + 1]):
                return None
        if trips < length:
            numbers = {b: column[: trips + 1] for b, column in zip(befores, columns)}
            return TripCount(trips, numbers, True)
        length *= 8
    return False


def extend_run(count: TripCount, afters: dict[Value, Value], starts: dict[Value, Any]) -> None:
    """Add the numbers of further carried values that are known in every trip."""
    for before in starts:
        if before in count.numbers or not count.trips:
            continue
        run = close_run([afters[before]], afters, starts)
        if run is None:
            continue
        befores = list(run.needed | {before})
        if any(np.ndim(starts[x]) for x in befores) or count.trips > SLOWEST:
            continue
        rows = [[starts[x] for x in befores]]
        wanted = [afters[x] for x in befores]
        for _ in range(count.trips):
            rows.append(run.of(dict(zip(befores, rows[-1])), wanted))
        for x, column in zip(befores, zip(*rows)):
            count.numbers.setdefault(x, np.array(column))
