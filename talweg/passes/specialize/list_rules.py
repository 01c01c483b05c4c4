"""Specialization rules of the primitives of lists and residuals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import int32, variant
from talweg.kernels.variants import History, List
from talweg.passes.reasons import Reason
from talweg.passes.specialize.lists import Lists, as_stack
from talweg.passes.specialize.program import Expansion, SpecializationError, Value, constant
from talweg.passes.specialize.stack_primitives import ENDLESS, head, is_endless
from talweg.passes.specialize.trees import Sparse, Stack
from talweg.prims import layout

if TYPE_CHECKING:
    from talweg.core.dtypes import DType
    from talweg.passes.functionalize import Step
    from talweg.passes.specialize.specializer import _Specializer


def _absent(t: Lists, inputs: list, like: int, params: dict) -> Any:
    """Return the placeholder of an element that is absent: zeros, None for a list."""
    if params["dtype"] is variant:
        return None
    if len(inputs) > like:
        return t.zero(inputs[like].dims, params["dtype"])
    return t.zero(params["dims"], params["dtype"])


# -- the primitives of prims/lists/elements.py, prims/lists/parts.py and prims/control.py


def _list_new(t: Lists, inputs: list, params: dict) -> Any:
    size = t.number(inputs[0])
    if size is not None and size >= 0:
        return List.absent(size)
    if size is not None or not t.static.endless:
        raise SpecializationError(Reason.LIST_LENGTH_OF_VALUE)
    own = Expansion(t.static, t.node)
    own.require(own.greater_equal(inputs[0], 0))
    return Stack(ENDLESS, None, length=own.cast(inputs[0], dtype=int32))


def _list_size(t: Lists, inputs: list, params: dict) -> Value:
    (values,) = inputs
    if type(values) is Stack and values.length is not None:
        return values.length
    if type(values) not in (List, Stack) or getattr(values, "growing", False):
        raise SpecializationError(Reason.LIST_LENGTH)
    return constant(np.int32(len(values) if type(values) is List else values.size))


def _list_get(t: Lists, inputs: list, params: dict) -> Any:
    values, index = inputs
    if type(values) in (List, Stack):
        index = t.within(values, index)
    return t.get(values, index, lambda: _absent(t, inputs, 2, params))


def _list_take(t: Lists, inputs: list, params: dict) -> Any:
    values = t.make_room(inputs[0], inputs[1])
    return t.get(values, inputs[1], lambda: _absent(t, inputs, 2, params))


def _list_set(t: Lists, inputs: list, params: dict) -> Any:
    values, index, x = inputs
    if params["limited"]:
        index = t.within(values, index)
    number = t.number(index)
    if number is not None and number < 0:
        raise SpecializationError(Reason.LIST_OUTSIDE)
    return t.put(values, index, x, params["limited"])


def _list_clear(t: Lists, inputs: list, params: dict) -> Any:
    values, index = inputs
    if index.dims == ():
        return t.clear(values, index)
    for place in _find_known_places(index):
        values = t.clear(values, constant(np.int32(place)))
    return values


def _find_known_places(indices: Value) -> list:
    if indices.content is None:
        raise SpecializationError(Reason.LIST_PLACES)
    return np.broadcast_to(indices.content, indices.dims).reshape(-1).tolist()


def _list_stack(t: Lists, inputs: list, params: dict) -> Value:
    return t.array(inputs[0], params["dims"], params["dtype"])


def _rows_stack(t: Lists, inputs: list, params: dict) -> Value:
    if inputs[0] is None:
        raise SpecializationError(Reason.LIST_UNWRITTEN)
    return _list_stack(t, inputs, params)


def stack_of_unknown(maker: _Specializer, step: Step) -> Value:
    """Return a stack of all elements of a list of dynamic length."""
    lists = Lists(maker.static, step.node)
    return _list_stack(lists, [maker.values.get(step.inputs[0])], step.params)


def _list_stack_like(t: Lists, inputs: list, params: dict) -> Value:
    values, x = inputs
    size = x.dims[0]
    if type(values) is Sparse:
        values = t.densify(values, size)
    values = as_stack(t, List.of([])) if values is None else as_stack(t, values)
    if values.rows is None:
        return t.zero(x.dims, x.dtype)
    if type(values.rows) is Value and is_endless(values.rows):
        empty = values.rows.content is not None
        return t.zero(x.dims, x.dtype) if empty else t.apply(head, values.rows, size=size)
    stacked = t.array(Stack(values.size, values.rows), x.dims[1:], x.dtype)
    if values.size > size:
        ends = {"end": (size, *x.dims[1:]), "strides": (1,) * len(x.dims)}
        return t.apply(layout.strided_slice, stacked, begin=(0,) * len(x.dims), **ends)
    return stacked if values.size == size else t.resize(Stack(values.size, stacked), size).rows


def _list_from(t: Lists, inputs: list, params: dict) -> Stack:
    (x,) = inputs
    return Stack(x.dims[0], x)


def _slice(t: Lists, x: Value, begin: int, end: int) -> Value:
    rest = x.dims[1:]
    bounds = {"begin": (begin, *[0] * len(rest)), "end": (end, *rest)}
    return t.apply(layout.strided_slice, x, **bounds, strides=(1,) * len(x.dims))


def _list_scatter(t: Lists, inputs: list, params: dict) -> Any:
    values, indices, x = inputs
    for number, place in enumerate(_find_known_places(indices)):
        own = t.row(x, constant(np.int32(number)))
        values = _list_set(t, [values, constant(np.int32(place)), own], params)
    return values


def _list_gather_like(t: Lists, inputs: list, params: dict) -> Value:
    values, indices, x = inputs
    places = _find_known_places(indices)
    last = {place: number for number, place in enumerate(places)}
    zero = t.zero(x.dims[1:], x.dtype)
    found = [
        t.get(values, constant(np.int32(place)), lambda: zero) if last[place] == number else zero
        for number, place in enumerate(places)
    ]
    return t.whole(t.stack_arrays(found), len(found)) if found else t.zero(x.dims, x.dtype)


def _parts_of(t: Lists, values: Any, dims: Any, dtype: DType) -> list:
    """Return the elements of a list, each an array."""
    if type(values) is Stack:
        if values.growing or values.rows is None:
            raise SpecializationError(Reason.LIST_ELEMENTS)
        return [t.row(values.rows, constant(np.int32(i))) for i in range(values.size)]
    return [t.zero(dims, dtype) if x is None else x for x in values.values()]


def _list_lengths(t: Lists, inputs: list, params: dict) -> Value:
    (values,) = inputs
    if type(values) is Stack and type(values.rows) is Value:
        return constant(np.full(values.size, values.rows.dims[1], np.int64))
    if type(values) is not List:
        raise SpecializationError(Reason.LIST_ELEMENTS)
    return constant(np.array([0 if x is None else x.dims[0] for x in values.values()], np.int64))


def _list_concat(t: Lists, inputs: list, params: dict) -> Value:
    (values,) = inputs
    if type(values) is Stack and type(values.rows) is Value and not values.growing:
        rows = values.rows
        if len(rows.dims) < 2:
            raise SpecializationError(Reason.LIST_SCALARS)
        shape = (rows.dims[0] * rows.dims[1], *rows.dims[2:])
        return t.apply(layout.reshape, rows, shape=shape)
    parts = _parts_of(t, values, params["dims"], params["dtype"])
    if not parts or len({x.dims[1:] for x in parts}) > 1 or not all(x.dims for x in parts):
        raise SpecializationError(Reason.LIST_DIFFERS)
    return t.apply(layout.concat, *parts, axis=0)


def _list_split(t: Lists, inputs: list, params: dict) -> List:
    x, lengths = inputs
    sizes = _find_known_places(lengths)
    if sum(sizes) != x.dims[0]:
        raise SpecializationError(Reason.LIST_LENGTHS)
    ends = np.cumsum(sizes).tolist()
    return List.of([_slice(t, x, end - size, end) for end, size in zip(ends, sizes)])


def _list_concat_like(t: Lists, inputs: list, params: dict) -> Value:
    values, lengths, x = inputs
    parts = []
    for number, size in enumerate(_find_known_places(lengths)):
        zero = t.zero((size, *x.dims[1:]), x.dtype)
        parts.append(t.get(values, constant(np.int32(number)), lambda zero=zero: zero))
    return t.apply(layout.concat, *parts, axis=0)


def _variant_zero(t: Lists, inputs: list, params: dict) -> Any:
    return None


def _variant_sum(t: Lists, inputs: list, params: dict) -> Any:
    return t.total(*inputs)


def _history_part(t: Lists, inputs: list, params: dict) -> Any:
    found = None if inputs[0] is None else inputs[0].values.get(params["inner"])
    return _absent(t, inputs, 1, params) if found is None else found


def _history_map(t: Lists, inputs: list, params: dict) -> Any:
    (history,) = inputs
    if history is None:
        return None
    own = history.values
    values = {node: own[part] for node, part in params["tangents"].pairs if part in own}
    return History(history.trips, values)


def _history_unmap(t: Lists, inputs: list, params: dict) -> Any:
    (history,) = inputs
    if history is None:
        return None
    values: dict = {}
    for node, part in params["tangents"].pairs:
        if node in history.values:
            values[part] = t.total(values.get(part), history.values[node])
    return History(history.trips, values)


def _trips(t: Lists, inputs: list, params: dict) -> Value:
    if inputs[0] is None:
        raise SpecializationError(Reason.LOOP_COUNT_NOT_KEPT)
    trips = inputs[0].trips
    return trips if type(trips) is Value else constant(int32.numpy_dtype.type(trips))


LISTS: dict[str, Callable[[Lists, list, dict], Any]] = {
    "list_new": _list_new,
    "list_size": _list_size,
    "list_get": _list_get,
    "list_take": _list_take,
    "list_set": _list_set,
    "list_clear": _list_clear,
    "list_stack": _list_stack,
    "list_stack_like": _list_stack_like,
    "rows_stack": _rows_stack,
    "list_from": _list_from,
    "list_scatter": _list_scatter,
    "list_gather_like": _list_gather_like,
    "list_lengths": _list_lengths,
    "list_concat": _list_concat,
    "list_split": _list_split,
    "list_concat_like": _list_concat_like,
    "variant_zero": _variant_zero,
    "variant_sum": _variant_sum,
    "history_part": _history_part,
    "history_map": _history_map,
    "history_unmap": _history_unmap,
    "trips": _trips,
}
