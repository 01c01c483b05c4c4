"""Abstract values of lists and residuals while a program is specialized: trees of arrays.

What a list is made of depends on how it came about:

* `kernels.variants.List`: an element by number, each a value of its own (written outside of loops);
* `Stack`: one array, of which each row is an element; `rows` is None if no element was written, and
  a row that was not written is zero;
* `Sparse`: cotangents with elements at computed places, zero elsewhere;
* None: a zero of any kind.

Elements are arrays, or lists and histories again; of those `rows` has the same form, with arrays
that have one more axis in front (`UniformList`: an array that is equal in all rows; `JoinedRows`:
stacks of lengths that only a run tells).  All are a `Tree`: functions over them map their parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from talweg.kernels.variants import History, List, Tree
from talweg.passes.reasons import Reason
from talweg.passes.specialize.program import SpecializationError, Value


class Stack(Tree):
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
        """Return a copy with other rows."""
        return Stack(self.size, rows, self.loose, self.growing, self.length)

    def map_parts(self, function: Callable[[Any], Any]) -> Stack:
        """Apply `function` to its rows and its length."""
        mapped = self.having(function(self.rows))
        mapped.length = function(self.length)
        return mapped

    def form(self, part_form: Callable[[Any], Any]) -> tuple:
        """Return the form of its rows, and what is known of the number of elements."""
        length = self.length is not None
        return ("stack", self.size, self.loose, self.growing, length, part_form(self.rows))

    def __repr__(self) -> str:
        return f"Stack({self.size}, {self.rows!r})"


class Sparse(Tree):
    """A sum of lists with one element each: (index, element) pairs."""

    __slots__ = ("entries",)

    def __init__(self, entries: list):
        self.entries = entries

    def map_parts(self, function: Callable[[Any], Any]) -> Sparse:
        """Raise SpecializationError: the arrays of a sum cannot be replaced."""
        raise SpecializationError(Reason.LIST_SUM)

    def form(self, part_form: Callable[[Any], Any]) -> tuple:
        """Return the number of entries."""
        return ("sparse", len(self.entries))


class ListRange(Tree):
    """A range of integers: `count` of them, from `start` by `step`."""

    __slots__ = ("count", "start", "step")

    def __init__(self, start: Value, step: Value, count: Value):
        self.start, self.step, self.count = start, step, count

    def map_parts(self, function: Callable[[Any], Any]) -> ListRange:
        """Apply `function` to its three numbers."""
        return ListRange(function(self.start), function(self.step), function(self.count))

    def form(self, part_form: Callable[[Any], Any]) -> tuple:
        """Return the form of the numbers."""
        return ("range", part_form(self.start))


class UniformList:
    """A list whose rows are all one array."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


class JoinedRows(Tree):
    """The rows of stacks within stacks, as parts of the rows of another array."""

    __slots__ = ("rows",)


class ListSegment(JoinedRows):
    """A segment of a stack within a stack: the rows of `rows` from number `start` on.

    `step` is 0 where all of them are row `start`.
    """

    __slots__ = ("start", "step")

    def __init__(self, rows: object, start: Value, step: int):
        self.rows, self.start, self.step = rows, start, step

    def map_parts(self, function: Callable[[Any], Any]) -> ListSegment:
        """Return the segment of another array."""
        return ListSegment(function(self.rows), function(self.start), self.step)

    def form(self, part_form: Callable[[Any], Any]) -> tuple:
        """Return the step, and the forms of its arrays."""
        return ("segment", self.step, part_form(self.rows), part_form(self.start))


class SegmentedList(JoinedRows):
    """Concatenated stacks, in `rows`; they begin at the rows that `starts` has.

    With `step` 0 each has but one row, its number.  `count` is how many rows there are in all.
    With a `depth` of 2 there is one more axis in front: these are rows of such things, and so on.
    """

    __slots__ = ("count", "depth", "starts", "step")

    def __init__(self, rows: Any, starts: object, step: int, count: object = None, depth: int = 1):
        self.rows, self.starts, self.step = rows, starts, step
        self.count, self.depth = count, depth

    def map_parts(self, function: Callable[[Any], Any], depth: int | None = None) -> SegmentedList:
        """Apply `function` to its arrays, with as many axes in front or `depth`; None stays."""
        parts = [None if x is None else function(x) for x in (self.rows, self.starts, self.count)]
        rows, starts, count = parts
        return SegmentedList(rows, starts, self.step, count, self.depth if depth is None else depth)

    def form(self, part_form: Callable[[Any], Any]) -> tuple:
        """Return the step, the axes in front, and the forms of its arrays."""
        parts = (self.rows, self.starts, self.count)
        return ("segments", self.step, self.depth, *map(part_form, parts))


def map_tree(function: Callable[[Any], Any], tree: Any, whole: bool = False) -> Any:
    """Replace each array of a tree (`Value` or `UniformList`) by `function` of it.

    `whole`: arrays are taken for rows; then `JoinedRows` are an array as well.
    """
    if isinstance(tree, Tree) and not (whole and isinstance(tree, JoinedRows)):
        return tree.map_parts(lambda part: map_tree(function, part, whole))
    return None if tree is None else function(tree)


def map_values(function: Callable[[Any], Any], tree: Any) -> Any:
    """Replace each array of a tree by `function` of it, also arrays that rows share."""
    return map_tree(partial(_map_leaf, function), tree)


def _map_leaf(function: Callable[[Any], Any], leaf: Any) -> Any:  # no closure: a cycle keeps graphs
    if type(leaf) is UniformList:
        return UniformList(_map_leaf(function, leaf.value))
    return function(leaf)


def leaves(tree: object) -> list:
    """Return the arrays of a tree, in order."""
    found: list = []
    map_tree(found.append, tree)
    return found


def array_of(leaf: Any) -> Any:
    """Return the array of a leaf, or the one that all its rows share."""
    return leaf.value if type(leaf) is UniformList else leaf


def arrays_of(tree: object) -> list:
    """Return the arrays of a tree in order, the one array for shared rows."""
    return list(map(array_of, leaves(tree)))


def form(tree: Any) -> Any:
    """Return the structure of a tree, equal for trees that differ in their arrays only."""
    if isinstance(tree, Tree):
        return tree.form(form)
    if type(tree) is UniformList:
        return ("same", form(tree.value))
    return None if tree is None else (tree.dims, tree.dtype)


def template(tree: object) -> Any:
    """Return a tree of which only the structure counts, with whole arrays as rows of stacks."""
    if type(tree) is History:
        return tree.map_parts(template)
    if type(tree) is not Stack or tree.rows is None:
        return tree
    size = tree.size

    def whole(rows: Any) -> Value:
        if isinstance(rows, JoinedRows):
            raise SpecializationError(Reason.STACK_IN_LIST)
        dims = rows.value.dims if type(rows) is UniformList else rows.dims[1:]
        return Value((size, *dims), array_of(rows).dtype)

    return tree.having(map_tree(whole, tree.rows, True))


def arrange_like(tree: object, like: object) -> Any:
    """Return a tree with the parts of its residuals in the order of `like`."""
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
