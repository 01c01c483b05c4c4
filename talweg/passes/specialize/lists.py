"""Specialization of lists and residuals, which exist only while a program is specialized.

`trees.py` says what they are made of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import int32, int64
from talweg.kernels.variants import History, List
from talweg.passes.reasons import Reason
from talweg.passes.specialize.program import (
    Expansion,
    SpecializationError,
    StaticProgram,
    Value,
    constant,
)
from talweg.passes.specialize.stack_primitives import (
    ENDLESS,
    is_endless,
    is_zero,
    row,
    widen,
    with_row,
)
from talweg.passes.specialize.trees import (
    JoinedRows,
    ListSegment,
    SegmentedList,
    Sparse,
    Stack,
    UniformList,
    array_of,
    form,
    leaves,
    map_tree,
)
from talweg.prims import arithmetic, joining, layout

if TYPE_CHECKING:
    from talweg.core.dtypes import DType


def as_stack(t: Lists, values: Any) -> Stack:
    """Convert a list of single elements to a stack."""
    if type(values) is Stack:
        return values
    parts = values.values()
    present = [part for part in parts if part is not None]
    if not present:
        return Stack(len(parts), None)
    if len({form(part) for part in present}) > 1:
        raise SpecializationError(Reason.LIST_DIFFERS)
    zero = map_tree(t.zero_like, present[0])
    columns = [leaves(zero if part is None else part) for part in parts]
    joined = iter([t.stack_arrays(list(column)) for column in zip(*columns)])
    return Stack(len(parts), map_tree(lambda _: next(joined), present[0]))


class Lists:
    """Operations on lists and residuals, for one node of a program."""

    def __init__(self, static: StaticProgram, node: object):
        self.static, self.node = static, node

    # -- arrays

    def apply(self, prim: Any, *inputs: Value, **params: object) -> Any:
        """Emit an operation on arrays."""
        return self.static.apply(prim, inputs, params, self.node)

    def zero(self, dims: Any, dtype: Any) -> Value:
        """Return zeros of an abstract value."""
        if dims is None or not all(type(size) is int for size in dims):
            raise SpecializationError(Reason.LIST_ABSENT_SHAPE)
        return Value(tuple(dims), dtype, np.zeros((), dtype.numpy_dtype))

    def zero_like(self, x: Value) -> Any:
        """Return zeros in the form of an array of a tree."""
        return (
            UniformList(self.zero_like(x.value))
            if type(x) is UniformList
            else self.zero(x.dims, x.dtype)
        )

    def stack_arrays(self, values: list) -> Any:
        """Stack arrays as the rows of one."""
        plain = list(map(array_of, values))
        if all(x is plain[0] for x in plain):
            return UniformList(plain[0])
        if any(type(x) is UniformList for x in values):
            raise SpecializationError(Reason.LIST_ROWS_SAME)
        if all(x.content is not None for x in values):
            return constant(np.stack([np.broadcast_to(x.content, x.dims) for x in values]))
        return self.apply(joining.stack, *values, axis=0)

    def whole(self, rows: Any, size: int) -> Any:
        """Return the array of all rows."""
        if isinstance(rows, JoinedRows) or (type(rows) is UniformList and size >= ENDLESS):
            raise SpecializationError(Reason.STACK_USED)
        if type(rows) is not UniformList:
            return rows
        value = rows.value
        return self.apply(layout.broadcast_to, value, shape=(size, *value.dims))

    def _one_of(self, place: Value, index: Value, new: Value, old: Value) -> Value:
        same = self.apply(arithmetic.equal, self._wide(place), self._wide(index))
        return self.apply(arithmetic.select, same, new, old)

    def _wide(self, index: Value) -> Value:
        return self.apply(arithmetic.cast, index, dtype=int64)

    def row(self, rows: Any, index: Value) -> Any:
        """Return one row."""
        if type(rows) is UniformList:
            return rows.value
        if type(rows) is SegmentedList and rows.depth > 1:
            return rows.map_parts(lambda part: self.row(part, index), rows.depth - 1)
        if type(rows) is SegmentedList:
            start = index if rows.starts is None else self.row(rows.starts, index)
            return ListSegment(rows.rows, start, rows.step)
        if type(rows) is ListSegment:
            row_index = self._wide(rows.start)
            if rows.step:
                row_index = self.apply(arithmetic.add, row_index, self._wide(index))
            return self.row(rows.rows, row_index)
        if type(rows) is not Value:
            raise SpecializationError(Reason.LIST_ROWS_APART)
        if rows.content is not None and rows.content.size == 1:
            return self.zero(rows.dims[1:], rows.dtype) if not rows.content else self._part(rows)
        while rows.maker is not None and rows.maker.prim is with_row:
            older, row_index, value = rows.maker.inputs
            if self.equal(row_index, index):
                return value
            if not self.apart(row_index, index):
                if is_endless(rows):
                    return self._one_of(row_index, index, value, self.row(older, index))
                break
            rows = older
        return self.apply(row, rows, self.clamp(index, rows))

    def _part(self, rows: Value) -> Value:
        return Value(rows.dims[1:], rows.dtype, rows.content.reshape(()))

    def put_row(self, rows: Value, size: int, index: Value, value: Value) -> Value:
        """Return an array with one row replaced."""
        value = array_of(value)
        rows = self.whole(rows, size)
        maker = rows.maker
        if maker is not None and maker.prim is with_row and self.equal(maker.inputs[1], index):
            rows = maker.inputs[0]
        return self.apply(with_row, rows, self.clamp(index, rows), value)

    def clamp(self, index: Value, rows: Value) -> Value:
        """Return an index that is within the rows even in a branch that is not taken.

        Branches may be computed both, of which the results of one are selected.
        """
        limits, most = self.limits(index), rows.dims[0] - 1
        if limits is None:
            return index
        t = Expansion(self.static, self.node)
        if limits[0] < 0:
            index = t.maximum(index, 0)
        if most < ENDLESS - 1 and limits[1] > most:
            index = t.minimum(index, most)
        return index

    def add(self, x: Any, y: Any) -> Any:
        """Add two arrays of trees."""
        if type(x) is UniformList and type(y) is UniformList:
            return UniformList(self.add(x.value, y.value))
        if type(x) is UniformList or type(y) is UniformList:
            size = (y if type(x) is UniformList else x).dims[0]
            return self._add_arrays(self.whole(x, size), self.whole(y, size))
        return self._add_arrays(x, y)

    def _add_arrays(self, x: Any, y: Any) -> Value:
        for one, other in ((x, y), (y, x)):
            if is_zero(one):
                return other
        return self.apply(arithmetic.add, x, y)

    # -- indices

    def number(self, index: Value) -> int | None:
        """Return the number of an index, if it is known."""
        content = index.content
        return None if content is None else int(content.reshape(-1)[0])

    def equal(self, i: Value, j: Value) -> bool:
        """Return whether two indices are certainly equal."""
        a, b = self.static.numbers(i), self.static.numbers(j)
        return i is j or (a is not None and b is not None and bool(np.all(a == b)))

    def apart(self, i: Value, j: Value) -> bool:
        """Return whether two indices are certainly not equal."""
        a, b = self.static.numbers(i), self.static.numbers(j)
        return a is not None and b is not None and not np.any(a == b)

    def limits(self, index: Value) -> tuple[int, int] | None:
        """Return the smallest and the largest value of an index."""
        return self.static.limits(index)

    def require(self, index: Value, size: int) -> Value:
        """Require an index to be below `size`, and return it.

        Where it is not, 0: nothing may be read or written elsewhere until the program has ended.
        """
        limits = self.limits(index)
        if limits is not None and limits[0] >= 0 and limits[1] < size:
            return index
        if limits is None or (limits[0] < size and limits[1] >= 0):
            return self.safe(index, size)
        if not (self.static.endless and self.static.within("inexact")):
            raise SpecializationError(Reason.LIST_OUTSIDE)
        self.static.guards.append(constant(np.False_))  # unless the list becomes longer
        return constant(np.zeros((), index.dtype.numpy_dtype))

    def safe(self, index: Value, size: Any) -> Value:
        """Return an index clamped to 0 outside of [0, size), where the program fails."""
        t = Expansion(self.static, self.node)
        inside = t.greater_equal(index, 0)
        if type(size) is Value:
            inside = t.logical_and(inside, t.less(self._wide(index), self._wide(size)))
        elif size <= index.dtype.max:
            inside = t.logical_and(inside, t.less(index, size))
        t.require(inside)
        return t.select(inside, index, 0)

    def within(self, values: Any, index: Value) -> Value:
        """Require that the list has an element at an index, and return that."""
        if type(values) is List:
            return self.require(index, len(values))
        limits = self.limits(index)
        if values.length is None or (limits is not None and limits == (0, values.size - 1)):
            return self.require(index, values.size)
        return self.safe(index, values.length)

    def longer(self, values: Stack, index: Value) -> Value:
        """Return the length of a list that has element `index` from now on."""
        t = Expansion(self.static, self.node)
        length = constant(np.int32(values.size)) if values.length is None else values.length
        return t.maximum(length, t.cast(t.add(index, 1), dtype=int32))

    # -- lists

    def get(self, values: Any, index: Value, zero: Callable[[], Any]) -> Any:
        """Return element `index`; `zero` makes the placeholder of one that was not written."""
        if values is None:
            return zero()
        number = self.number(index)
        if type(values) is Sparse:
            return self._get_sparse(values, index, zero)
        if type(values) is List:
            if number is not None:
                entry = values.get(number)
                return zero() if entry is None else entry
            parts = values.values()
            if parts and parts[0] is not None and all(part is parts[0] for part in parts):
                return parts[0]
            values = as_stack(self, values)
        if values.rows is None:
            return zero()
        if number is not None and number >= values.size:
            return zero()
        return map_tree(lambda rows: self.row(rows, index), values.rows, True)

    def _get_sparse(self, values: Sparse, index: Value, zero: Callable[[], Any]) -> Any:
        found = None
        for place, part in values.entries:
            if self.equal(place, index):
                found = self.total(found, part)
            elif not self.apart(place, index):
                raise SpecializationError(Reason.LIST_SUM_ELEMENT)
        return zero() if found is None else found

    def put(self, values: Any, index: Value, x: Any, limited: bool) -> Any:
        """Return the list with x as element `index`."""
        number = self.number(index)
        if type(values) is List or values is None:
            if number is not None:
                return (List.sparse() if values is None else values).put(number, x)
            if values is None:
                return Sparse([(index, x)])
            values = as_stack(self, values)
        if type(values) is Sparse:
            cleared = self.clear(values, index)
            return Sparse([*cleared.entries, (index, x)])
        return self._put_row(values, index, x, limited)

    def _put_row(self, values: Stack, index: Value, x: object, limited: bool) -> Stack:
        size, growing, length = values.size, values.growing, values.length
        if not limited:
            limits = self.limits(index)
            if limits is None and not values.loose and self.static.within("early"):
                raise SpecializationError(Reason.LIST_PLACE_UNKNOWN)
            endless = length is not None or limits is None or limits[1] >= ENDLESS - 1
            if not endless and limits is not None and limits[1] >= size:
                endless = self.static.within("inexact")
            if endless and not values.loose and not self.static.endless:
                raise SpecializationError(Reason.LIST_GROWS_BY_VALUE)
            if endless and not values.loose:
                size, growing, length = ENDLESS, False, self.longer(values, index)
                if limits is None or limits[0] < 0:
                    t = Expansion(self.static, self.node)
                    inside = t.greater_equal(index, 0)
                    t.require(inside)
                    index = t.select(inside, index, 0)
            elif limits is not None and limits[1] >= size:
                growing = growing or (not values.loose and limits[0] != limits[1])
                size = min(limits[1] + 1, ENDLESS)
        rows = self.rows_for(values, size, x)
        pairs = iter(leaves(x))
        rows = map_tree(lambda own: self.put_row(own, size, index, next(pairs)), rows, True)
        return Stack(size, rows, values.loose, growing, length)

    def rows_for(self, values: Stack, size: int, x: object) -> Any:
        """Return the rows of a list that is to have `size` elements like x."""
        if values.rows is None:
            return map_tree(lambda part: self._zero_rows(part, size), x)
        if form(map_tree(lambda rows: self._zero_row(rows), values.rows, True)) != form(x):
            raise SpecializationError(Reason.LIST_DIFFERS)
        return values.rows if size == values.size else self.resize(values, size).rows

    def _zero_rows(self, part: Value, size: int) -> Value:
        part = array_of(part)
        return self.zero((size, *part.dims), part.dtype)

    def _zero_row(self, rows: Value) -> Value:
        if type(rows) is UniformList:
            return rows.value
        if isinstance(rows, JoinedRows):
            raise SpecializationError(Reason.STACK_IN_LIST)
        return self.zero(rows.dims[1:], rows.dtype)

    def resize(self, values: Stack, size: int) -> Stack:
        """Return a stack with more elements, which are zero."""
        more = size - values.size

        def longer(rows: Value | UniformList) -> Value:
            whole = self.whole(rows, values.size)
            if is_zero(whole):
                return self.zero((size, *whole.dims[1:]), whole.dtype)
            if whole.maker is not None and whole.maker.prim is with_row:
                older, index, value = whole.maker.inputs
                return self.put_row(longer(older), size, index, value)
            if size >= ENDLESS:
                return self.apply(widen, whole)
            rest = self.zero((more, *whole.dims[1:]), whole.dtype)
            return self.apply(layout.concat, whole, rest, axis=0)

        rows = values.rows if not more else map_tree(longer, values.rows, True)
        return Stack(size, rows, values.loose, values.growing, values.length)

    def clear(self, values: object, index: Value) -> Any:
        """Return the list without element `index`."""
        if values is None:
            return None
        number = self.number(index)
        if type(values) is List and number is not None:
            return values.put(number, None) if values.get(number) is not None else values
        if type(values) is Sparse:
            other_entries = [
                (taken, x) for taken, x in values.entries if not self.equal(taken, index)
            ]
            if not all(self.apart(taken, index) for taken, _ in other_entries):
                raise SpecializationError(Reason.LIST_SUM_ELEMENT)
            return Sparse(other_entries)
        values = as_stack(self, self.make_room(values, index))
        if values.rows is None:
            return values
        rows = map_tree(lambda own: self._clear_row(own, values.size, index), values.rows, True)
        return values.having(rows)

    def _clear_row(self, rows: Value, size: int, index: Value) -> Value:
        return self.put_row(rows, size, index, self._zero_row(rows))

    # -- sums

    def total(self, a: object, b: Any) -> Any:
        """Add two trees."""
        if a is None or b is None:
            return b if a is None else a
        if type(a) is History:
            values = dict(a.values)
            for key, value in b.values.items():
                values[key] = self.total(values.get(key), value)
            return History(a.trips, values)
        if type(a) in (List, Stack, Sparse):
            return self._total_lists(a, b)
        return self.add(a, b)

    def _total_lists(self, a: Any, b: Any) -> Any:
        if type(a) is Sparse or type(b) is Sparse:
            if type(a) is type(b):
                return Sparse([*a.entries, *b.entries])
            return self._add_entries(b, a) if type(a) is Sparse else self._add_entries(a, b)
        if type(a) is List and type(b) is List:
            size = max(len(a), len(b))
            totals = [self.total(a.get(number), b.get(number)) for number in range(size)]
            return List.of(totals)
        a, b = as_stack(self, a), as_stack(self, b)
        if a.rows is None or b.rows is None:
            return b if a.rows is None else a
        size = max(a.size, b.size)
        a, b = self.resize(a, size), self.resize(b, size)
        length = b.length if a.length is None else a.length
        rows = self._total_rows(a.rows, b.rows)
        return Stack(size, rows, a.loose and b.loose, False, length)

    def _total_rows(self, a: object, b: object) -> Any:
        """Add two lists of the same size, row by row."""
        if a is None or b is None:
            return b if a is None else a
        if type(a) is History and type(b) is History:
            values = dict(a.values)
            for node, rows in b.values.items():
                values[node] = self._total_rows(values.get(node), rows)
            return History(a.trips, values)
        if type(a) is List and type(b) is List and len(a) == len(b):
            return List.of([self._total_rows(*rows) for rows in zip(a.values(), b.values())])
        if type(a) is Stack and type(b) is Stack and a.size == b.size:
            return a.having(self._total_rows(a.rows, b.rows))
        if type(a) not in (Value, UniformList) or type(b) not in (Value, UniformList):
            raise SpecializationError(Reason.LIST_SUM_DIFFERS)
        return self.add(a, b)

    def _add_entries(self, values: object, more: Sparse) -> Any:
        """Add elements to some of a list's own."""
        for index, x in more.entries:
            values = self.make_room(values, index, anew=True)
            own = self.get(values, index, lambda: None)
            values = self.put(values, index, self.total(own, x), limited=False)
        return values

    def make_room(self, values: object, index: Value, anew: bool = False) -> Any:
        """Return a cotangent with room for an element of unknown position.

        A list's elements that nobody has read have no rows yet.  anew: one that certainly gets a
        row, so that a list is a stack afterwards.
        """
        if self.number(index) is not None or type(values) not in (List, Stack):
            return values
        limits = self.limits(index)
        if limits is None and not anew:
            return values
        size = ENDLESS if limits is None else min(limits[1] + 1, ENDLESS)
        if not anew and (len(values) if type(values) is List else values.size) >= size:
            return values
        stack = as_stack(self, values)
        if not anew and stack.rows is None:
            return values
        roomy = self.resize(stack, size) if size > stack.size else stack.having(stack.rows)
        roomy.loose = True
        return roomy

    def densify(self, values: Any, size: int | None = None) -> Any:
        """Return a sum of single elements as a stack; other trees as they are."""
        if type(values) is not Sparse:
            return values
        if size is None:
            limits = [self.limits(index) for index, _ in values.entries]
            if None in limits and (self.static.within("early") or not self.static.endless):
                raise SpecializationError(Reason.LIST_GROWS_BY_VALUE)
            limits = [(0, ENDLESS - 1) if found is None else found for found in limits]
            most: Any = max([found[1] for found in limits], default=-1)
            size = min(most + 1, ENDLESS)
        return self._add_entries(Stack(size, None, loose=True), values)

    def array(self, values: Any, dims: Any, dtype: DType | None) -> Value:
        """Return all elements as one array; `dims` are an element's, as far as known."""
        if type(values) is List:
            values = as_stack(self, values)
        if values.growing:
            raise SpecializationError(Reason.STACK_GROWING)
        if values.length is not None:
            return self._all_of(values)
        if values.rows is None:
            if dims is None or not all(type(size) is int for size in dims):
                if values.size:
                    raise SpecializationError(Reason.LIST_UNWRITTEN)
                dims = [size if type(size) is int else 0 for size in dims or ()]
            return self.zero((values.size, *dims), dtype)
        if len(leaves(values.rows)) != 1 or type(values.rows) not in (Value, UniformList):
            raise SpecializationError(Reason.LIST_OF_LISTS)
        return self.whole(values.rows, values.size)

    def _all_of(self, values: Stack) -> Value:
        """Return all elements of a list of unknown length as a result of the program."""
        rows = values.rows
        if type(rows) is not Value:
            raise SpecializationError(Reason.STACK_USED)
        self.static.lengths[rows] = values.length
        return rows
