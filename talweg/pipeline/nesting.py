"""Stages of several datasets: zip, flat_map, interleave, window, group_by_window, choosing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import int64
from talweg.core.errors import InvalidArgumentError, compose, type_error, value_error
from talweg.core.spec import TensorSpec
from talweg.pipeline import element
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.function import DataFunction
from talweg.pipeline.run import Bound, End, IterationRun, Next, bind
from talweg.pipeline.stage import INFINITE, UNKNOWN, Rows, Stage, counting, smallest, start_rows

if TYPE_CHECKING:
    pass


class Zip(Stage):
    """Elements of several datasets together, until the first ends."""

    name = "_ZipDataset"

    def __init__(self, nest: object):
        sources = [dataset.stage for dataset in element.flatten(nest)]
        spec = element.pack(nest, [source.layout.spec for source in sources])
        super().__init__(ElementLayout(spec), *sources)

    def size(self, run: IterationRun) -> int:
        """Return the smallest."""
        return smallest([source.size(run) for source in self.inputs])

    def rows(self, run: IterationRun) -> Rows | None:
        """Return rows with equal numbers, where all are in their own order."""
        given = [source.rows(run) for source in self.inputs]
        found = [rows for rows in given if rows is not None and rows.length is not None]
        if len(found) < len(given) or not given:
            return None
        size = min([rows.length for rows in found if rows.length is not None])
        takes, ones = [rows.take for rows in found], [rows.one for rows in found]
        return Rows(
            lambda numbers: [array for take in takes for array in take(numbers)],
            lambda number: tuple([item for one in ones for item in one(number)]),
            counting(0, size),
            size,
            any([rows.computed for rows in found]),
        )

    def start(self, run: IterationRun) -> Next:
        """Start the inputs; a step takes one element of each."""
        rows = self.rows(run)
        if rows is not None:
            return start_rows(rows)
        steps = [source.start(run) for source in self.inputs]
        if len(steps) == 2:
            first, second = steps
            return lambda: first() + second()

        def step() -> tuple:
            flat: tuple = ()
            for source in steps:
                flat += source()
            return flat

        return step


def find_nested_layout(function: DataFunction, what: str) -> ElementLayout:
    """Return the layout of the datasets that a function gives; TypeError if it gives none."""
    spec = function.layout.spec
    if not hasattr(spec, "dataset_layout"):
        raise type_error(
            "TW104",
            f"Invalid `map_func`: {what} expects a function that returns a "
            f"`tf.data.Dataset`, but it returns {spec!r}",
        )
    return spec.dataset_layout


class FlatMap(Stage):
    """The elements of the datasets that a function makes of elements, one after the other."""

    name = "_FlatMapDataset"

    def __init__(self, source: Any, function: Callable[..., Any]):
        self.function = DataFunction(function, [source.layout], "Dataset.flat_map()")
        super().__init__(find_nested_layout(self.function, "flat_map"), source)

    def leaves(self) -> list:
        """Return the tensors that the function captured."""
        return self.function.leaves()

    def start(self, run: IterationRun) -> Next:
        """Iterate over dataset after dataset."""
        source, call = self.inputs[0].start(run), self.function.run_with(run)
        inner: Any = None

        def step() -> tuple:
            nonlocal inner
            while True:
                if inner is None:
                    (bound,) = call(source())
                    inner = bound.start(run)
                try:
                    return inner()
                except End:
                    inner = None

        return step


class Interleave(Stage):
    """The elements of several datasets at a time, some of each in turn."""

    name = "_InterleaveDataset"

    def __init__(self, source: Any, function: Callable[..., Any], cycle: int, block: int):
        self.function = DataFunction(function, [source.layout], "Dataset.interleave()")
        super().__init__(find_nested_layout(self.function, "interleave"), source)
        self.cycle, self.block = cycle, block

    def leaves(self) -> list:
        """Return the lengths, and the tensors that the function captured."""
        return [self.cycle, self.block, *self.function.leaves()]

    def start(self, run: IterationRun) -> Next:
        """Iterate in cycles:
        an ended dataset's place is taken by the next one when its turn comes.
        """
        source, call = self.inputs[0].start(run), self.function.run_with(run)
        cycle, block = run.number(self.cycle), run.number(self.block)
        if cycle < 1 or block < 1:
            raise InvalidArgumentError(
                None,
                None,
                compose("TW207", "cycle_length and block_length must be greater than zero."),
            )

        def open_next() -> Next:
            (bound,) = call(source())
            return bound.start(run)

        return interleave(open_next, cycle, block)


def interleave(open_next: Callable[[], Next], cycle: int, block: int) -> Next:
    """Return `block` elements of each of `cycle` sources in turn.

    `open_next` opens one more, or raises End; it takes the place of an ended one when the turn of
    that comes.
    """
    places: list = [None] * cycle
    here = given = open_places = 0
    ended = False

    def step() -> tuple:
        nonlocal here, given, open_places, ended
        while not ended or open_places:
            if places[here] is None:
                if ended:
                    here, given = (here + 1) % cycle, 0
                    continue
                try:
                    places[here] = open_next()
                except End:
                    ended = True
                    continue
                open_places += 1
            try:
                flat = places[here]()
            except End:
                places[here] = None
                open_places -= 1
                here, given = (here + 1) % cycle, 0
                continue
            given += 1
            if given == block:
                here, given = (here + 1) % cycle, 0
            return flat
        raise End

    return step


class Listed(Stage):
    """Flat elements in a list: what windows consist of."""

    name = "_VariantDataset"
    moves_rows = True

    def __init__(self, layout: ElementLayout, found: list):
        super().__init__(layout)
        self.found = found

    def size(self, run: IterationRun) -> int:
        """Return the number of elements."""
        return len(self.found)

    def start(self, run: IterationRun) -> Next:
        """Return one after the other."""
        remaining = iter(self.found)

        def step() -> tuple:
            for flat in remaining:
                return flat
            raise End

        return step


class Window(Stage):
    """Windows over the elements, each a dataset for each leaf."""

    name = "_WindowDataset"

    def __init__(self, source: Any, numbers: tuple, drop_remainder: bool, spec: Any):
        super().__init__(ElementLayout(spec), source)
        self.numbers, self.drop_remainder = numbers, drop_remainder
        self.leaf_layouts = [ElementLayout(leaf) for leaf in source.layout.flat]

    def leaves(self) -> list:
        """Return size, shift and stride."""
        return list(self.numbers)

    def size(self, run: IterationRun) -> int:
        """Return the number of windows."""
        count = self.inputs[0].size(run)
        size, shift, stride = [run.number(number) for number in self.numbers]
        if count < 0:
            return count
        if self.drop_remainder:
            span = (size - 1) * stride + 1
            return 0 if count < span else (count - span) // shift + 1
        return -(-count // shift)

    def start(self, run: IterationRun) -> Next:
        """Collect, give, and move on."""
        source = self.inputs[0].start(run)
        size, shift, stride = [run.number(number) for number in self.numbers]
        for name, number in (("size", size), ("shift", shift), ("stride", stride)):
            if number <= 0:
                raise InvalidArgumentError(
                    None, None, compose("TW207", f"Window {name} must be greater than zero.")
                )
        span = (size - 1) * stride + 1
        held: list = []
        ended, skipping = False, 0

        def step() -> tuple:
            nonlocal ended, skipping
            try:
                while not ended and (skipping or len(held) < span):
                    flat = source()
                    if skipping:
                        skipping -= 1
                    else:
                        held.append(flat)
            except End:
                ended = True
            window = held[::stride][:size]
            if not held or (self.drop_remainder and len(window) < size):
                raise End
            skipping = max(0, shift - len(held))
            del held[:shift]
            return self._datasets(window)

        return step

    def _datasets(self, window: list) -> tuple:
        columns = zip(*window)
        return tuple(
            [
                bind(Listed(layout, [(item,) for item in column]))
                for layout, column in zip(self.leaf_layouts, columns)
            ]
        )


class GroupByWindow(Stage):
    """Elements grouped by a key; a full group is given to a function that makes a dataset of it."""

    name = "_GroupByWindowDataset"

    def __init__(self, source: Any, key: Any, reduce: Any, size: Any, group_spec: object):
        self.key = DataFunction(key, [source.layout], "group_by_window()")
        number = ElementLayout(TensorSpec((), int64))
        self.reduce = DataFunction(reduce, [number, ElementLayout(group_spec)], "group_by_window()")
        self.group_size = DataFunction(size, [number], "group_by_window()")
        super().__init__(find_nested_layout(self.reduce, "group_by_window"), source)
        for function, what in ((self.key, "key_func"), (self.group_size, "window_size_func")):
            spec = function.layout.spec
            if not isinstance(spec, TensorSpec) or spec.dtype is not int64:
                raise value_error(
                    "TW102",
                    f"Invalid `{what}`. `{what}` must return a single `tf.int64` scalar "
                    f"tensor, but returns {spec!r}.",
                )

    def leaves(self) -> list:
        """Return the tensors that the functions captured."""
        return [*self.key.leaves(), *self.reduce.leaves(), *self.group_size.leaves()]

    def start(self, run: IterationRun) -> Next:
        """Fill groups until one is full; at the end, those that are left."""
        source, key = self.inputs[0].start(run), self.key.run_with(run)
        reduce, group_size = self.reduce.run_several(run), self.group_size.run_with(run)
        groups: dict[int, list] = {}
        sizes: dict[int, int] = {}
        inner: Any = None
        ended = False

        def emit(which: int) -> None:
            nonlocal inner
            elements = bind(Listed(self.inputs[0].layout, groups.pop(which)))
            sizes.pop(which)
            (bound,) = reduce((np.int64(which),), (elements,))
            inner = bound.start(run)

        def step() -> tuple:
            nonlocal inner, ended
            while True:
                if inner is not None:
                    try:
                        return inner()
                    except End:
                        inner = None
                if ended:
                    if not groups:
                        raise End
                    emit(min(groups))
                    continue
                try:
                    flat = source()
                except End:
                    ended = True
                    continue
                which = int(key(flat)[0])
                if which not in sizes:
                    sizes[which] = _group_size(group_size, which)
                    groups[which] = []
                groups[which].append(flat)
                if len(groups[which]) == sizes[which]:
                    emit(which)

        return step


def _group_size(function: Callable[[tuple], tuple], which: int) -> int:
    size = int(function((np.int64(which),))[0])
    if size <= 0:
        raise InvalidArgumentError(
            None, None, compose("TW207", f"Window size must be greater than zero, but got {size}.")
        )
    return size


class Choose(Stage):
    """At each step an element of the dataset that the first input chooses."""

    name = "_DirectedInterleaveDataset"

    def __init__(self, selector: object, sources: list, stop_on_empty: bool):
        spec = sources[0].layout.spec
        for other in sources[1:]:
            spec = merge_specs(spec, other.layout.spec, "Incompatible datasets: element specs")
        super().__init__(ElementLayout(spec), selector, *sources)
        self.stop_on_empty = stop_on_empty

    def size(self, run: IterationRun) -> int:
        """Return the size, known only in simple cases."""
        sizes = [source.size(run) for source in self.inputs[1:]]
        if not self.stop_on_empty and self.inputs[0].size(run) == INFINITE:
            return INFINITE if INFINITE in sizes else UNKNOWN if UNKNOWN in sizes else sum(sizes)
        return INFINITE if all([size == INFINITE for size in sizes]) else UNKNOWN

    def start(self, run: IterationRun) -> Next:
        """Pass over those that have ended, or end with the first that does."""
        choose = self.inputs[0].start(run)
        steps: list = [source.start(run) for source in self.inputs[1:]]
        left = len(steps)

        def step() -> tuple:
            nonlocal left
            while left:
                which = int(choose()[0])
                if not 0 <= which < len(steps):
                    raise InvalidArgumentError(
                        None,
                        None,
                        compose(
                            "TW206",
                            "DirectedInterleaveDataset: the selector chose dataset "
                            f"{which} of {len(steps)}",
                        ),
                    )
                if steps[which] is None:
                    continue
                try:
                    return steps[which]()
                except End:
                    if self.stop_on_empty:
                        left = 0
                        raise
                    steps[which] = None
                    left -= 1
            raise End

        return step


def merge_specs(first: object, second: object, what: str) -> Any:
    """Return the spec of elements of either dataset;
    TypeError where structures or dtypes differ.
    """
    one, other = element.flatten(first), element.flatten(second)
    same = element.text_of(element.pack(first, [0] * len(one))) == element.text_of(
        element.pack(second, [0] * len(other))
    )
    merged = []
    for left, right in zip(one, other):
        merge = left.most_specific_common_supertype([right])
        same = same and merge is not None
        merged.append(merge)
    if not same:
        raise type_error("TW208", f"{what} {first!r} and {second!r} differ")
    return element.pack(first, merged)


class Given(Stage):
    """A dataset that a tensor stands for: an argument of a function, or one of its results."""

    name = "_VariantDataset"

    def __init__(self, tensor: object, layout: ElementLayout):
        super().__init__(layout)
        self.tensor = tensor

    def leaves(self) -> list:
        """Return the tensor."""
        return [self.tensor]

    def _take_bound(self, run: IterationRun) -> Bound:
        return run.array(self.tensor)

    def size(self, run: IterationRun) -> int:
        """Return the size of the dataset."""
        return self._take_bound(run).size()

    def rows(self, run: IterationRun) -> Rows | None:
        """Return the rows of the dataset."""
        bound = self._take_bound(run)
        return bound.stage.rows(run.within(bound))

    def start(self, run: IterationRun) -> Next:
        """Start the dataset."""
        return self._take_bound(run).start(run)
