"""Stages that apply functions to elements: map, filter, take_while, scan, enumerate, unique, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import bool_, int64
from talweg.core.errors import FailedPreconditionError, OpError, compose, type_error, value_error
from talweg.core.spec import TensorSpec
from talweg.pipeline import element
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.function import DataFunction
from talweg.pipeline.parallel import in_parallel
from talweg.pipeline.run import End, IterationRun, Next
from talweg.pipeline.stage import Rows, Stage, as_numbers, start_rows

if TYPE_CHECKING:
    pass


class Map(Stage):
    """A function of each element."""

    name = "_MapDataset"

    def __init__(self, source: Any, function: Callable[..., Any], parallel: int | None = None):
        self.function = DataFunction(function, [source.layout], "Dataset.map()")
        super().__init__(self.function.layout, source)
        self.parallel, self.waits = parallel, self.function.waits
        if parallel is not None:
            self.name = "_ParallelMapDataset"

    def leaves(self) -> list:
        """Return the tensors that the function captured."""
        return self.function.leaves()

    def size(self, run: IterationRun) -> int:
        """Return the size of its input."""
        return self.inputs[0].size(run)

    def rows(self, run: IterationRun) -> Rows | None:
        """Return the function of rows, many at a time."""
        many = self.function.vectorized
        rows = None if many is None else self.inputs[0].rows(run)
        if rows is None or many is None:
            return None
        take, one, call = rows.take, rows.one, self.function.run_with(run)
        return Rows(
            lambda numbers: many(take(numbers)),
            lambda number: call(one(number)),
            rows.order,
            rows.length,
            True,
            rows.begin,
        )

    def start(self, run: IterationRun) -> Next:
        """Call the function; in threads where this is asked for and pays."""
        rows = self.rows(run)
        if rows is not None:
            return start_rows(rows)
        step, call = self.inputs[0].start(run), self.function.run_with(run)
        if self.parallel is not None and self.waits:
            return in_parallel(step, call, run.number(self.parallel))
        return lambda: call(step())


class Filter(Stage):
    """The elements for which a function is true."""

    name = "_FilterDataset"

    def __init__(self, source: Any, predicate: Callable[..., Any]):
        super().__init__(source.layout, source)
        self.function = _predicate(predicate, source.layout, "filter")

    def leaves(self) -> list:
        """Return the tensors that the predicate captured."""
        return self.function.leaves()

    def rows(self, run: IterationRun) -> Rows | None:
        """Return the rows for which it is true, if that can be asked of many at a time."""
        many = self.function.vectorized
        rows = None if many is None else self.inputs[0].rows(run)
        if rows is None or many is None or rows.computed:
            return None
        take, one, order, call = rows.take, rows.one, rows.order, self.function.run_with(run)

        def keep_rows(count: int) -> Any:
            parts: list = []
            missing = count
            while missing > 0:
                numbers_of_rows = order(max(missing, 64))
                if not len(numbers_of_rows):
                    break
                numbers = as_numbers(numbers_of_rows)
                try:
                    truths = many(take(numbers_of_rows))[0]
                except Exception:  # raised by the row it belongs to
                    truths = np.array([bool(call(one(n))[0]) for n in numbers.tolist()])
                parts.append(numbers[truths])
                missing -= len(parts[-1])
            return np.concatenate(parts) if parts else range(0)

        return rows.reorder(_cut(keep_rows))

    def start(self, run: IterationRun) -> Next:
        """Pass over those for which it is false."""
        rows = self.rows(run)
        if rows is not None:
            return start_rows(rows)
        source = self.inputs[0].start(run)
        call = self.function.run_with(run)

        def step() -> tuple:
            while True:
                flat = source()
                if call(flat)[0]:
                    return flat

        return step


def _cut(order: Callable[[int], Any]) -> Callable[[int], Any]:
    """Return the numbers that `order` gives, never more than asked for."""
    waiting: Any = range(0)

    def cut(count: int) -> Any:
        nonlocal waiting
        if len(waiting) < count:
            more = order(count - len(waiting))
            if len(more):
                waiting = np.concatenate([as_numbers(waiting), more]) if len(waiting) else more
        found, waiting = waiting[:count], waiting[count:]
        return found

    return cut


def _predicate(predicate: Callable[..., Any], layout: ElementLayout, what: str) -> DataFunction:
    """Return a traced function that gives one truth value; ValueError if it does not."""
    found = DataFunction(predicate, [layout], f"Dataset.{what}()")
    spec = found.layout.spec
    scalar = isinstance(spec, TensorSpec) and spec.dtype is bool_ and spec.shape.rank in (0, None)
    if not scalar:
        raise value_error(
            "TW104",
            f"Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its "
            f"return type is {spec!r}.",
        )
    return found


class TakeWhile(Filter):
    """The elements before the first for which a function is false."""

    name = "_TakeWhileDataset"

    def rows(self, run: IterationRun) -> Rows | None:
        """Return None: the end is found element by element."""
        return None

    def start(self, run: IterationRun) -> Next:
        """End there."""
        source = self.inputs[0].start(run)
        call, ended = self.function.run_with(run), False

        def step() -> tuple:
            nonlocal ended
            if ended:
                raise End
            flat = source()
            if not call(flat)[0]:
                ended = True
                raise End
            return flat

        return step


class Enumerate(Stage):
    """Elements with their numbers."""

    name = "_ZipDataset"

    def __init__(self, source: Any, start: int):
        super().__init__(ElementLayout((TensorSpec((), int64), source.layout.spec)), source)
        self.first = int(start)

    def size(self, run: IterationRun) -> int:
        """Return the size of its input."""
        return self.inputs[0].size(run)

    def rows(self, run: IterationRun) -> Rows | None:
        """Return rows in their own order, with their numbers."""
        rows = self.inputs[0].rows(run)
        if rows is None or rows.length is None:
            return None
        take, one, first = rows.take, rows.one, self.first

        def number_rows(numbers: np.ndarray) -> list:
            return [as_numbers(numbers).astype(np.int64) + first, *take(numbers)]

        return Rows(
            number_rows,
            lambda number: (np.int64(number + first), *one(number)),
            rows.order,
            rows.length,
            rows.computed,
        )

    def start(self, run: IterationRun) -> Next:
        """Return count."""
        rows = self.rows(run)
        if rows is not None:
            return start_rows(rows)
        source, place, number = self.inputs[0].start(run), self.first - 1, np.int64

        def step() -> tuple:
            nonlocal place
            flat = source()
            place += 1
            return (number(place), *flat)

        return step


class Scan(Stage):
    """A function of a state and each element, which gives a new state and an element."""

    name = "_ScanDataset"

    def __init__(self, source: Any, initial: Any, function: Callable[..., Any]):
        self.initial, self.function = trace_reduction(
            initial, function, source.layout, "Dataset.scan()", gives_element=True
        )
        super().__init__(ElementLayout(self.function.layout.spec[1]), source)

    def leaves(self) -> list:
        """Return the tensors of the first state, and those that the function captured."""
        return [*element.flatten(self.initial), *self.function.leaves()]

    def size(self, run: IterationRun) -> int:
        """Return the size of its input."""
        return self.inputs[0].size(run)

    def start(self, run: IterationRun) -> Next:
        """Carry the state."""
        source, call = self.inputs[0].start(run), self.function.run_several(run)
        state = tuple([run.array(leaf) for leaf in element.flatten(self.initial)])
        count = len(state)

        def step() -> tuple:
            nonlocal state
            found = call(state, source())
            state = found[:count]
            return found[count:]

        return step


def trace_reduction(
    initial: object,
    function: Callable[..., Any],
    layout: ElementLayout,
    what: str,
    gives_element: bool,
) -> tuple[Any, DataFunction]:
    """Return the initial state as tensors, and the traced function of state and element.

    Shapes of the state that the function does not keep become unknown.  TypeError where it changes
    structure or dtypes.
    """
    initial = element.convert_element(initial)
    spec = element.specs_of(initial)
    while True:
        state = ElementLayout(spec)
        made = DataFunction(function, [state, layout], what)
        after = made.layout.spec
        if gives_element:
            if not isinstance(after, tuple) or len(after) != 2:
                raise type_error(
                    "TW208",
                    f"{what}: the function must return a pair of state and element, but "
                    f"returns {after!r}",
                )
            after = after[0]
        loosened = _relax_spec(spec, after, what)
        if loosened == spec:
            return initial, made
        spec = loosened


def _relax_spec(before: TensorSpec, after: object, what: str) -> Any:
    """Return the spec that both have; TypeError where structures or dtypes differ."""
    one, other = element.flatten(before), element.flatten(after)
    same = element.text_of(element.pack(before, [0] * len(one))) == element.text_of(
        element.pack(after, [0] * len(other))
    )
    if not same:
        raise type_error(
            "TW208",
            f"The element structure for the new state must match the initial state: "
            f"{what} expected {before!r}, got {after!r}",
        )
    merged_leaves = []
    for first, second in zip(one, other):
        merged = first.most_specific_common_supertype([second])
        if merged is None:
            raise type_error(
                "TW102",
                f"The element types for the new state must match the initial state. "
                f"{what} expected {first!r}; got {second!r}.",
            )
        merged_leaves.append(merged)
    return element.pack(before, merged_leaves)


class UniqueElements(Stage):
    """Each value once, in the order of first appearance."""

    name = "_UniqueDataset"

    def __init__(self, source: Any):
        super().__init__(source.layout, source)

    def start(self, run: IterationRun) -> Next:
        """Return a step that gives each different element once; it remembers the earlier ones."""
        source = self.inputs[0].start(run)
        seen: set = set()

        def step() -> tuple:
            while True:
                flat = source()
                array = np.asarray(flat[0])
                key = (
                    tuple(array.reshape(-1).tolist()) if array.dtype == object else array.tobytes()
                )
                if (array.shape, key) not in seen:
                    seen.add((array.shape, key))
                    return flat

        return step


class IgnoreErrors(Stage):
    """The elements that can be computed."""

    name = "_IgnoreErrorsDataset"

    def __init__(self, source: Any, report: Callable[[str], None] | None):
        super().__init__(source.layout, source)
        self.report = report

    def start(self, run: IterationRun) -> Next:
        """Pass over errors."""
        source, report = self.inputs[0].start(run), self.report

        def step() -> tuple:
            while True:
                try:
                    return source()
                except OpError as error:
                    if report is not None:
                        report(str(error))

        return step


class AssertCardinality(Stage):
    """The elements of a dataset whose number is known to the user."""

    name = "_AssertCardinalityDataset"

    def __init__(self, source: Any, expected: int):
        super().__init__(source.layout, source)
        self.expected = expected

    def size(self, run: IterationRun) -> int:
        """Return the number that the user stated."""
        return self.expected

    def start(self, run: IterationRun) -> Next:
        """Return count; FailedPreconditionError where it is wrong."""
        source, count, expected = self.inputs[0].start(run), 0, self.expected

        def step() -> tuple:
            nonlocal count
            try:
                flat = source()
            except End:
                if 0 <= expected != count:
                    raise _wrong(expected, count) from None
                raise
            count += 1
            if 0 <= expected < count:
                raise _wrong(expected, count)
            return flat

        return step


def _wrong(expected: int, count: int) -> OpError:
    text = f"Input dataset was expected to contain {expected} elements but contained "
    return FailedPreconditionError(None, None, compose("TW207", text + f"{count} elements."))
