"""Batches of variants and of tensors of unknown rank: the primitives of the batch rules of lists,
branches and loops (`trace/batch_rules.py`).  What they stand for is told in `kernels/rows.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, primitive
from talweg.core.dtypes import variant
from talweg.core.errors import invalid
from talweg.core.primitive import later
from talweg.graph.node import GRAPH
from talweg.kernels.rows import Rows, add_slices, join_slices, row_of
from talweg.kernels.rows import repeat_value as repeated_values
from talweg.kernels.variants import History, List, total
from talweg.prims.layout import broadcast_to, transpose

if TYPE_CHECKING:
    from talweg.core.dims import Size
    from talweg.core.dtypes import DType

EVEN, UNEVEN = 1, 2  # kinds of operands and results, see `transform/batch.py`

_LIST = Aval((), variant)


class Kinds(NamedTuple):
    """The result of a batch rule that also names the kind of each result."""

    results: Any
    kinds: tuple


def more_dims(size: Size, dims: tuple | None):
    """Return dimensions with the batch axis in front; None stays None."""
    return None if dims is None else (size, *dims)


def element_dims(size: Size, dims: tuple | None, dtype: DType):
    """Return the dimensions of an element of a list or history
    for all slices: a variant has none.
    """
    return dims if dtype is variant else more_dims(size, dims)


def find_dims(x):
    """Return the dimensions of a tensor; None if its rank is not known."""
    aval = getattr(x, "aval", None)
    return x.dims if aval is None else aval.dims


def repeat_rows(x, size: object):
    """Return `size` times x, along a new first axis."""
    if x.dtype is variant or find_dims(x) is None:
        return rows_repeat(x, size=size)
    return broadcast_to(x, shape=(size, *x.dims))


def in_front(x: object, size: Size, kind: int):
    """Return x with the batch axis in front: its own, or `size` times x."""
    return x if kind else repeat_rows(x, size)


def swap_first_axes(x: object):
    """Return x with its first two axes exchanged."""
    dims = find_dims(x)
    if dims is None:
        return rows_turn(x)
    return transpose(x, perm=(1, 0, *range(2, len(dims))))


def _dims_of_slice(aval: Aval) -> tuple | None:
    return None if aval.dims is None else aval.dims[1:]


@primitive
class rows_repeat:
    """y = `size` times x, along a new first axis."""

    operands = "x"
    effect = GRAPH
    batch = LOOP
    memory = "view"

    def infer(x, *, size):
        if x.dtype is variant:
            return x
        return Aval(None if x.dims is None else (size, *x.dims), x.dtype)

    def numpy(x, *, size):
        return repeated_values(x, size)

    def vjp(g, z, x, *, size):
        return [rows_sum(g, size=size)]

    def jvp(t, z, x, *, size):
        return None if t is None else rows_repeat(t, size=size)


@primitive
class rows_sum:
    """y = the sum of the `size` slices of x."""

    operands = "x"
    effect = GRAPH
    batch = LOOP
    memory = "none"

    def infer(x: Aval, *, size):
        return x if x.dtype is variant else Aval(_dims_of_slice(x), x.dtype)

    def numpy(x, *, size):
        return add_slices(x)

    def vjp(g, z, x, *, size):
        return [rows_repeat(g, size=size)]

    def jvp(t, z, x, *, size):
        return None if t is None else rows_sum(t, size=size)


@primitive
class rows_list:
    """y = the list of the `size` slices of a batch of variants."""

    operands = "x"
    effect = GRAPH
    batch = LOOP
    memory = "view"

    def infer(x, *, size):
        return _LIST

    def numpy(x, *, size):
        return List.of([row_of(x, place) for place in range(int(size))])

    def vjp(g, z, x, *, size):
        return [rows_joined(g, size=size)]

    def jvp(t, z, x, *, size):
        return None if t is None else rows_list(t, size=size)


@primitive
class rows_joined:
    """y = the batch of cotangents whose slices are the first `size` elements of a list."""

    operands = "values"
    effect = GRAPH
    batch = LOOP
    memory = "view"

    def infer(values, *, size):
        return _LIST

    def numpy(values, *, size):
        if values is None:
            return None
        return join_slices([values.get(place) for place in range(int(size))])

    def vjp(g, z, values, *, size):
        return [rows_list(g, size=size)]

    def jvp(t, z, values, *, size):
        return None if t is None else rows_joined(t, size=size)


@primitive
class rows_of:
    """y = the batch of variants whose slices are the first `size` elements of a list."""

    operands = "values"
    effect = GRAPH
    batch = LOOP
    memory = "view"

    def infer(values, *, size):
        return _LIST

    def numpy(values, *, size):
        if values is None:
            return None
        return Rows([values.get(place) for place in range(int(size))])

    def vjp(g, z, values, *, size):
        return [rows_list(g, size=size)]

    def jvp(t, z, values, *, size):
        return None if t is None else rows_of(t, size=size)


@primitive
class rows_stack:
    """y = the first `size` elements of a list along a new first axis; absent if all of them are."""

    operands = "values"
    effect = GRAPH
    memory = "map"

    def infer(values, *, size, dims, dtype):
        return Aval(more_dims(size, dims), dtype)

    def numpy(values, *, size, dims, dtype):
        rows = [None if values is None else values.get(place) for place in range(int(size))]
        found = join_slices(rows)
        if type(found) is Rows:
            shapes = sorted({row.shape for row in rows if row is not None})
            raise invalid("TW204", f"slices of a batch have different shapes: {shapes}", "one")
        if found is None and dims is not None and (None not in dims or not rows):
            dims = [0 if size is None else size for size in dims]
            return np.zeros((len(rows), *dims), dtype.numpy_dtype)
        return found

    def batch(count, kinds, values, *, size, dims, dtype):
        if UNEVEN in kinds:
            return NotImplemented
        return swap_first_axes(
            rows_stack(values, size=size, dims=more_dims(count, dims), dtype=dtype)
        )

    def vjp(g, z, values, *, size, dims, dtype):
        return [later("list_from")(g)]

    def jvp(t, z, values, *, size, dims, dtype):
        return None if t is None else later("list_stack_like")(t, z)


@primitive
class rows_turn:
    """y = x with its first two axes exchanged."""

    operands = "x"
    effect = GRAPH
    batch = LOOP
    memory = "view"

    def infer(x):
        dims = x.dims
        return Aval(None if dims is None else (dims[1], dims[0], *dims[2:]), x.dtype)

    def numpy(x: np.ndarray):
        return np.swapaxes(x, 0, 1)

    def vjp(g, z, x):
        return [rows_turn(g)]

    def jvp(t, z, x):
        return None if t is None else rows_turn(t)


@primitive
class history_rows:
    """h = the history of a batch of what ran, by the nodes of the body that runs for one slice.

    `nodes` (a `BatchedNodes`) says which node of the operand's body has the values of which.
    """

    operands = "history"
    effect = GRAPH
    batch = LOOP
    memory = "view"

    def infer(history, *, nodes, size):
        return _LIST

    def numpy(history, *, nodes, size):
        if history is None:
            return None
        own = history.values
        values = {
            node: own[part] if kind else repeated_values(own[part], size)
            for node, part, kind in nodes.rows
            if part in own
        }
        return History(history.trips, values)

    def vjp(g, z, history, *, nodes, size):
        return [history_unrows(g, nodes=nodes, size=size)]

    def jvp(t, z, history, *, nodes, size):
        return None if t is None else history_rows(t, nodes=nodes, size=size)


@primitive
class history_unrows:
    """h = the transpose of `history_rows`."""

    operands = "history"
    effect = GRAPH
    batch = LOOP
    memory = "view"

    def infer(history, *, nodes, size):
        return _LIST

    def numpy(history, *, nodes, size):
        if history is None:
            return None
        values: dict = {}
        for node, part, kind in nodes.rows:
            if node in history.values:
                value = history.values[node]
                values[part] = total(values.get(part), value if kind else add_slices(value))
        return History(history.trips, values)

    def vjp(g, z, history, *, nodes, size):
        return [history_rows(g, nodes=nodes, size=size)]

    def jvp(t, z, history, *, nodes, size):
        return None if t is None else history_unrows(t, nodes=nodes, size=size)
