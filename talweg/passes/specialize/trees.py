"""Abstract values of lists and residuals, while a program is specialized: trees of arrays.

What a list is made of depends on how it came about:

* `kernels.variants.List`: an element by number, each a value of its own (written outside of loops);
* `Stack`: one array, of which each row is an element; `rows` is None if no element was written, and
  a row that was not written is zero;
* `Sparse`: cotangents with elements at computed places, zero elsewhere;
* None: a zero of any kind.

Elements are arrays, or lists and histories again; of those `rows` has the same form, with arrays
that have one more axis in front (`Same`: an array that is equal in all rows; `Runs`: stacks of
lengths that only a run tells).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.kernels.variants import History, List
from talweg.passes.reasons import Reason
from talweg.passes.specialize.program import SpecializationError, Value


class Stack:
    """A list whose elements are the rows of arrays.

    `loose`: it has as many elements as somebody asks for, all others zero (a cotangent).
    `growing`: a loop that is being run makes it longer, up to `size`.
    `length`: how many elements there are, if only a run tells; `size` is ENDLESS then.
    """

    __slots__ = ("growing", "length", "loose", "rows", "size")

    def __init__(
        self, size: int, rows: Any, loose: bool = False, growing: bool = False, length: Any = None
    ):
        self.size, self.rows, self.loose, self.growing = size, rows, loose, growing
        self.length = length

    def having(self, rows: object) -> Stack:
        """The same with other rows."""
        return Stack(self.size, rows, self.loose, self.growing, self.length)

    def __repr__(self) -> str:
        return f"Stack({self.size}, {self.rows!r})"


class Sparse:
    """A sum of lists with one element each: (index, element) pairs."""

    __slots__ = ("entries",)

    def __init__(self, entries: list):
        self.entries = entries


class UniformList:
    """An array that is the same in all rows."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


class ListSegment:
    """The rows of a stack within a stack: those of `rows` from number `start` on.

    `step` is 0 where all of them are row `start`.
    """

    __slots__ = ("rows", "start", "step")

    def __init__(self, rows: object, start: Value, step: int):
        self.rows, self.start, self.step = rows, start, step

    def parts(self) -> tuple:
        """The arrays it has."""
        return self.rows, self.start

    def of(self, rows: Value | ListSegment, start: Value) -> ListSegment:
        """The same with other arrays."""
        return ListSegment(rows, start, self.step)


class SegmentedList:
    """Stacks, one after the other in `rows`; they begin at the rows that `starts` has.

    With `step` 0 each has but one row, its number.  `count` is how many rows there are in all.
    With a `depth` of 2 there is one more axis in front: these are rows of such things, and so on.
    """

    __slots__ = ("count", "depth", "rows", "starts", "step")

    def __init__(self, rows: Any, starts: object, step: int, count: object = None, depth: int = 1):
        self.rows, self.starts, self.step = rows, starts, step
        self.count, self.depth = count, depth

    def parts(self) -> tuple:
        """The arrays it has."""
        return self.rows, self.starts, self.count

    def of(self, rows: Any, starts: Any, count: Any, depth: int | None = None) -> SegmentedList:
        """The same with other arrays."""
        return SegmentedList(rows, starts, self.step, count, self.depth if depth is None else depth)


class ListRange:
    """Integers that are counted: `count` of them, `start` and so on by `step`."""

    __slots__ = ("count", "start", "step")

    def __init__(self, start: Value, step: Value, count: Value):
        self.start, self.step, self.count = start, step, count


def map_tree(function: Callable[[Any], Any], tree: Any, whole: bool = False) -> Any:
    """A tree with `function` of each array (`Value` or `Same`) in its place.

    `whole`: arrays are taken for rows; then a `Run` or `Runs` is an array as well.
    """
    if tree is None:
        return None
    if type(tree) is Stack:
        mapped_tree = tree.having(map_tree(function, tree.rows, whole))
        mapped_tree.length = map_tree(function, tree.length, whole)
        return mapped_tree
    if type(tree) in (ListSegment, SegmentedList) and not whole:
        return tree.of(*[map_tree(function, part) for part in tree.parts()])
    if type(tree) is History:
        values = {node: map_tree(function, part, whole) for node, part in tree.values.items()}
        trips = tree.trips if type(tree.trips) is int else map_tree(function, tree.trips, whole)
        return History(trips, values)
    if type(tree) is List:
        return List.of([map_tree(function, part, whole) for part in tree.values()])
    if type(tree) is ListRange:
        return ListRange(function(tree.start), function(tree.step), function(tree.count))
    if type(tree) is Sparse:
        raise SpecializationError(Reason.LIST_SUM)
    return function(tree)


def leaves(tree: object) -> list:
    """The arrays of a tree, in order."""
    found: list = []
    map_tree(found.append, tree)
    return found


def form(tree: Any) -> Any:
    """The form of a tree, equal for trees that differ in their arrays only."""
    if tree is None:
        return None
    if type(tree) is Stack:
        length = tree.length is not None
        return ("stack", tree.size, tree.loose, tree.growing, length, form(tree.rows))
    if type(tree) is History:
        trips = tree.trips if type(tree.trips) is int else form(tree.trips)
        return ("history", trips, *[(node, form(part)) for node, part in tree.values.items()])
    if type(tree) is List:
        return ("list", *map(form, tree.values()))
    if type(tree) is UniformList:
        return ("same", form(tree.value))
    if type(tree) is Sparse:
        return ("sparse", len(tree.entries))
    if type(tree) is ListRange:
        return ("range", form(tree.start))
    if type(tree) in (ListSegment, SegmentedList):
        depth = tree.depth if type(tree) is SegmentedList else 0
        return (type(tree), tree.step, depth, *map(form, tree.parts()))
    return (tree.dims, tree.dtype)


def template(tree: object) -> Any:
    """A tree of which only the form counts, with whole arrays as the rows of stacks."""
    if type(tree) is History:
        return History(tree.trips, {node: template(x) for node, x in tree.values.items()})
    if type(tree) is not Stack or tree.rows is None:
        return tree
    size = tree.size

    def whole(rows: Any) -> Value:
        if type(rows) in (ListSegment, SegmentedList):
            raise SpecializationError(Reason.STACK_IN_LIST)
        value = rows.value if type(rows) is UniformList else rows
        dims = value.dims if type(rows) is UniformList else value.dims[1:]
        return Value((size, *dims), value.dtype)

    return tree.having(map_tree(whole, tree.rows, True))


def arrange_like(tree: object, like: object) -> Any:
    """A tree with the parts of histories in the order they have in `like`."""
    if type(tree) is History and type(like) is History:
        if set(tree.values) != set(like.values):
            raise SpecializationError(Reason.HISTORY_OTHERS)
        values = {node: arrange_like(tree.values[node], part) for node, part in like.values.items()}
        return History(tree.trips, values)
    if type(tree) is Stack and type(like) is Stack:
        return tree.having(arrange_like(tree.rows, like.rows))
    if type(tree) is List and type(like) is List and len(tree) == len(like):
        return List.of([arrange_like(*parts) for parts in zip(tree.values(), like.values())])
    return tree
