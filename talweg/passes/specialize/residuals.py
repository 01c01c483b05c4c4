"""Residuals and lists that compiled programs pass to each other, as arrays.

A result that is a tree (`trees.py`) becomes one array for each array of the tree; rows of
stacks of unknown length as many as there are.  What they stand for is a `Form`: a program that is
given them makes the same tree of its own values (`take_tree`).  So the forward run of a function
and its reverse, which are two programs under a tape, share what loops have kept, and neither makes
a list of a stack.  The interpreter's form is made when anybody else looks (`kernels/variants.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.kernels.variants import History, List, ResidualArrays, Tree
from talweg.passes.reasons import Reason
from talweg.passes.specialize.program import (
    Equation,
    SpecializationError,
    StaticProgram,
    Value,
    constant,
)
from talweg.passes.specialize.side_outputs import SideOutputs, export, exports_of, numbers_of
from talweg.passes.specialize.stack_primitives import Construct, is_endless
from talweg.passes.specialize.trees import (
    ListRange,
    ListSegment,
    SegmentedList,
    Stack,
    UniformList,
    array_of,
    arrays_of,
    form,
    leaves,
    map_tree,
    map_values,
)

fetch: Any = Construct("fetch", {"call": "fetch"}, multiple=True, effect="host")


class ResidualSpec:
    """The structure (treedef) of residuals that one program passes to another.

    `own` are these values, in the order of the arrays.  Those that are known are in the tree, and
    no arrays.  `limits`: between what numbers those are that are integers.
    """

    __slots__ = ("key", "limits", "own", "tree")

    def __init__(self, tree: History, limits: Callable[[Value], tuple | None]):
        made: dict[Value, Value] = {}

        def own(leaf: Any) -> Any:
            if leaf.content is not None:
                return constant(np.broadcast_to(leaf.content, leaf.dims))
            return made.setdefault(leaf, Value(leaf.dims, leaf.dtype))

        self.tree = map_values(own, tree)
        self.own = list(made.values())
        self.limits = [limits(value) if value.dtype.is_integer else None for value in made]
        places = {value: number for number, value in enumerate(self.own)}
        same = [_bytes_of(leaf, places) for leaf in leaves(self.tree)]
        self.key = (form(self.tree), *same, *self.limits)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is ResidualSpec and self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def rebuild(self, arrays: list) -> Any:
        """Return the list or residuals that these arrays represent."""
        known = dict(zip(self.own, arrays))

        def array(leaf: Value) -> Any:
            return known[leaf] if leaf.content is None else leaf.content

        return _unpack_tree(map_values(array, self.tree))

    def make_lazily(self, arrays: list) -> Any:
        """Return the list or residuals, built on first use; a single array at once."""
        tree, residuals = self.tree, ResidualArrays(self, arrays)
        if type(tree) is ListRange:
            return self.rebuild(arrays)
        size = tree.trips if type(tree) is History else len(tree) if type(tree) is List else None
        if size is None:
            size = tree.size if tree.length is None else tree.length
        if type(size) is Value:
            size = int(arrays[self.own.index(size)] if size.content is None else size.content)
        kind: Any = History if type(tree) is History else List
        return kind(size, None, residuals)


def _bytes_of(leaf: Any, places: dict) -> Any:
    """Return the key of an array in a form: its numbers, if they are known."""
    value = array_of(leaf)
    return places.get(value) if value.content is None else value.content.tobytes()


# -- the interpreter's form


def _unpack_tree(tree: Any) -> Any:
    """Return a tree of arrays in the interpreter's form."""
    if type(tree) is UniformList:
        return tree.value
    if type(tree) is Stack:
        size = int(tree.size if tree.length is None else tree.length)
        if tree.rows is None:
            return List.absent(size)
        return List.of([_unpack_tree(_row(tree.rows, row)) for row in range(size)])
    if type(tree) is ListRange:
        return numbers_of(tree.start, tree.step, tree.count)
    if not isinstance(tree, Tree):
        return tree
    unpacked = tree.map_parts(_unpack_tree)
    if type(unpacked) is History:
        unpacked.trips = int(unpacked.trips)
    return unpacked


def _row(rows: object, number: int) -> Any:
    """Return the tree of one row of each array."""
    if type(rows) is UniformList:
        return rows.value
    if type(rows) is ListSegment:
        first: Any = rows.start
        return _row(rows.rows, int(first) + rows.step * number)
    if type(rows) is SegmentedList and rows.depth == 1:
        start: Any = number if rows.starts is None else _row(rows.starts, number)
        return ListSegment(rows.rows, start, rows.step)
    if type(rows) is SegmentedList:
        return rows.map_parts(lambda part: _row(part, number), rows.depth - 1)
    if isinstance(rows, np.ndarray):
        return rows[number]
    return map_tree(lambda part: _row(part, number), rows, True)


# -- results


class ResidualOutput:
    """A result that is a list or residuals; `sources`: the origin of its arrays.

    A number is a place among the further results, anything else a key of what is kept aside.
    """

    __slots__ = ("form", "sources")

    def __init__(self, form: ResidualSpec, sources: list):
        self.form, self.sources = form, sources


def hand_out(static: StaticProgram, trees: list[tuple[int, Any]]) -> None:
    """Make a program return results that are no arrays: (position among the results, tree)."""
    exports = exports_of(static)
    exports.plain = len(static.outputs)
    numbering: dict[Value, Any] = {}
    for slot, tree in trees:
        if tree is None:
            exports.places.append((slot, None))
            continue
        lengths: dict[Value, Value] = {}
        _note_lengths(tree, None, lengths)
        output_values = ResidualSpec(tree, static.limits)
        own = arrays_of(tree)
        sources = [
            _source(static, exports, value, lengths, numbering)
            for value in dict.fromkeys(own)
            if value.content is None
        ]
        exports.places.append((slot, ResidualOutput(output_values, sources)))


def _source(
    static: StaticProgram, exports: SideOutputs, value: Value, lengths: dict, numbering: dict
) -> Any:
    """Return the position of a result's array after a run."""
    if value in numbering:
        return numbering[value]
    if not is_endless(value):
        numbering[value] = len(static.outputs) - exports.plain
        static.outputs.append(value)
        return numbering[value]
    if value not in lengths or not value.size:
        raise SpecializationError(Reason.STACK_USED)
    key = numbering[value] = ("rows", len(numbering))
    equation = Equation(export, [value, lengths[value]], {"exports": exports, "place": key})
    static.equations.append(equation)
    return key


def _note_lengths(tree: Any, length: object, length_of: dict) -> None:
    """Find the number of rows of a tree's arrays; `length`: that of the list of these rows."""
    if type(tree) is Stack:
        if tree.growing:
            raise SpecializationError(Reason.STACK_GROWING)
        own_length = tree.length
        if length is not None and type(own_length) is Value:
            length_of[own_length] = length
        _note_lengths(tree.rows, own_length if length is None else length, length_of)
    elif type(tree) is SegmentedList:
        _note_rows(tree, length, length_of)
    elif type(tree) is ListSegment:
        raise SpecializationError(Reason.STACK_PART)
    elif type(tree) in (List, History):
        tree.map_parts(lambda part: _note_lengths(part, length, length_of))
    elif type(tree) is Value and length is not None:
        length_of[tree] = length


def _note_rows(rows: SegmentedList, length: object, found: dict) -> None:
    """Record the row numbers of stacks that are concatenated."""
    one_by_one = rows.count is None or type(rows.rows) is SegmentedList
    _note_lengths(rows.rows, length if one_by_one else rows.count, found)
    if rows.starts is not None:
        _note_lengths(rows.starts, length, found)
    if type(rows.count) is Value and is_endless(rows.count):
        found[rows.count] = length


# -- arguments


def take_tree(static: StaticProgram, given: ResidualSpec, position: int) -> Any:
    """Make the inputs of an argument of residuals and return their tree."""
    exports = exports_of(static)
    input_of: dict[Value, Value] = {}
    for number, (value, limits) in enumerate(zip(given.own, given.limits)):
        own = input_of[value] = Value(value.dims, value.dtype)
        if limits is not None:
            static.bounds[own] = limits
        if not is_endless(value):
            static.inputs.append(own)
            continue
        params = {"exports": exports, "place": ("given", position, number)}
        equation = own.maker = Equation(fetch, (), params)
        equation.outputs = (own,)
        static.made.append(own)
        static.equations.append(equation)

    def inside(leaf: Value) -> Any:
        return leaf if leaf.content is not None else input_of[leaf]

    return map_values(inside, given.tree)


def pass_arrays(given: ResidualSpec, place: int, arrays: list, kept: dict) -> list:
    """Return the arrays of a residual argument that are inputs."""
    for number, (value, array) in enumerate(zip(given.own, arrays)):
        if is_endless(value):
            kept["given", place, number] = array
    return [array for value, array in zip(given.own, arrays) if not is_endless(value)]
