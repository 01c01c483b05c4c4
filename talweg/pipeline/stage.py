"""Stages: what pipelines are made of.

A stage knows its inputs, the `Layout` of its elements and their number, and how to start:
`start(run)` gives a function of no arguments that returns the next element (a flat tuple, see
`element.py`) or raises `End`.  After any other error it can be called again, and goes on with the
element after the one that failed.  Nothing runs before the first call.

Where the elements are rows of arrays in some order, `rows(run)` gives them by number, so that
shuffling moves integers and a batch is taken from the arrays as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core import dispatch
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.run import End, IterationRun, Next

INFINITE, UNKNOWN = -1, -2
CHUNK = 512  # rows whose numbers are asked for at once
LARGE = 1 << 20  # bytes of rows that are computed at once

# The numbers of up to n next rows, a range or array; fewer, where what follows has to begin; none
# at the end.
Order = Callable[[int], Any]


class Stage:
    """One step of a pipeline."""

    name = "Dataset"
    moves_rows = False  # whether `rows` may give something
    waits = False  # whether it calls Python functions or the like, which may wait for the world
    remembers = False  # whether an iterator may find what an earlier one has left

    def __init__(self, layout: ElementLayout, *inputs: object):
        self.layout = layout
        self.inputs: tuple = inputs
        self.kept: dict = {}
        self.in_graph = dispatch.context.base is not None  # made anew whenever that runs

    def leaves(self) -> list:
        """Return tensors, variables and datasets that it uses beside its inputs."""
        return []

    def size(self, run: IterationRun) -> int:
        """Return the number of elements, INFINITE or UNKNOWN."""
        return UNKNOWN

    def rows(self, run: IterationRun) -> Rows | None:
        """Return the elements as rows of arrays, if they are."""
        return None

    def start(self, run: IterationRun) -> Next:
        """Return a function that gives the next element, or raises End."""
        rows = self.rows(run)
        if rows is None:
            raise NotImplementedError(type(self).__name__)
        return start_rows(rows)

    def options(self) -> Any:
        """Return the options in force, those of inputs included; None if nothing was set."""
        return None


def nothing_to_begin() -> None:
    """Do nothing when an iterator is made, as most rows need."""


class Rows:
    """Elements that are rows of something, in some order."""

    __slots__ = ("begin", "computed", "length", "one", "order", "take")

    def __init__(
        self,
        take: Callable[[Any], list],
        one: Callable[[int], tuple],
        order: Order,
        length: int | None = None,
        computed: bool = False,
        begin: Callable[[], None] = nothing_to_begin,
    ):
        self.take, self.one = take, one  # arrays of many rows, the element of one
        self.order = order
        self.length = length  # that of all rows in their own order; None for another order
        self.computed = computed  # whether it pays to take many
        self.begin = begin  # called when an iterator is made, before the first `order`

    def reorder(self, order: Order, begin: Callable[[], None] | None = None) -> Rows:
        """Return the same rows in another order."""
        begin = self.begin if begin is None else begin
        return Rows(self.take, self.one, order, None, self.computed, begin)


def start_rows(rows: Rows) -> Next:
    """Return element after element of some rows."""
    rows.begin()
    one, order = rows.one, rows.order
    if rows.computed:
        return _start_computation(rows)
    numbers: Any = iter(())

    def step() -> tuple:
        nonlocal numbers
        for number in numbers:
            return one(number)
        chunk = order(CHUNK)
        if not len(chunk):
            raise End
        numbers = iter(chunk if type(chunk) is range else chunk.tolist())
        return one(next(numbers))

    return step


def _start_computation(rows: Rows) -> Next:
    """Return element after element of rows that are computed many at a time.

    Where many cannot be computed, because one of them fails, they are one by one.
    """
    one, order, take = rows.one, rows.order, rows.take
    ready: Any = iter(())
    numbers: Any = iter(())
    size = 1

    def step() -> tuple:
        nonlocal ready, numbers, size
        while True:
            for flat in ready:
                return flat
            for number in numbers:
                return one(number)
            chunk = order(size)
            if not len(chunk):
                raise End
            try:
                arrays = take(chunk)
            except Exception:  # raised by the row it belongs to
                numbers = iter(as_numbers(chunk).tolist())
                continue
            ready = zip(*[items_of(array) for array in arrays])
            if size < CHUNK:
                used = sum([array.nbytes for array in arrays])
                size = min(CHUNK, max(1, LARGE * len(chunk) // max(1, used)), 2 * size)

    return step


def item_of(array: np.ndarray, number: int) -> Any:
    """Return array[number]; a string as an array without dimensions, not as bytes."""
    return array[number : number + 1].reshape(array.shape[1:])


def items_of(array: np.ndarray) -> Any:
    """Return the rows of an array."""
    if array.dtype == object and array.ndim == 1:
        return [item_of(array, number) for number in range(len(array))]
    return array


def rows_of_arrays(arrays: list) -> tuple[Callable[[Any], list], Callable[[int], tuple]]:
    """Make rows of arrays with equal first dimensions."""

    def take(numbers: np.ndarray | range) -> list:
        if type(numbers) is range and numbers.step == 1:
            return [array[numbers.start : numbers.stop] for array in arrays]
        return [array.take(numbers, axis=0) for array in arrays]

    if any([array.dtype == object and array.ndim == 1 for array in arrays]):
        return take, lambda number: tuple([item_of(array, number) for array in arrays])
    if len(arrays) == 1:
        (only,) = arrays
        return take, lambda number: (only[number],)
    if len(arrays) == 2:
        first, second = arrays
        return take, lambda number: (first[number], second[number])
    return take, lambda number: tuple([array[number] for array in arrays])


def counting(start: int, stop: int) -> Order:
    """Return all rows, in their own order."""
    place = start

    def order(count: int) -> range:
        nonlocal place
        begin, place = place, min(stop, place + count)
        return range(begin, place)

    return order


def as_numbers(numbers: np.ndarray | range) -> np.ndarray:
    """Return numbers of rows as an array."""
    return (
        np.arange(numbers.start, numbers.stop, numbers.step) if type(numbers) is range else numbers
    )


def whole(order: Order, count: int) -> Any:
    """Return the numbers of the next `count` rows, fewer only at the end."""
    found = order(count)
    while 0 < len(found) < count:
        more = order(count - len(found))
        if not len(more):
            break
        found = np.concatenate([as_numbers(found), as_numbers(more)])
    return found


def times(size: int, count: int) -> int:
    """Return the size of `count` repetitions; both may be INFINITE or UNKNOWN."""
    if size == 0 or count == 0:
        return 0
    if count < 0:
        return INFINITE if size != UNKNOWN or count == INFINITE else UNKNOWN
    return size if size < 0 else size * count


def smallest(sizes: list[int]) -> int:
    """Return the size of a stage that ends with the first of several inputs."""
    finite = [size for size in sizes if size >= 0]
    if UNKNOWN in sizes:
        return 0 if 0 in finite else UNKNOWN
    return min(finite) if finite else INFINITE


def total(sizes: list[int]) -> int:
    """Return the size of several, one after the other."""
    if INFINITE in sizes:
        return INFINITE
    return UNKNOWN if UNKNOWN in sizes else sum(sizes)


class PassOn(Stage):
    """A stage that gives the elements of its only input, and has their number."""

    moves_rows = True

    def __init__(self, source: Any):
        super().__init__(source.layout, source)

    def size(self, run: IterationRun) -> int:
        """Return the size of its input."""
        return self.inputs[0].size(run)

    def rows(self, run: IterationRun) -> Rows | None:
        """Return the rows of the input."""
        return self.inputs[0].rows(run)

    def start(self, run: IterationRun) -> Next:
        """Start the input."""
        return self.inputs[0].start(run)
