"""Lists of tensors as values: what `TensorArray` and the reverse of loops are made of.

A list is a scalar of dtype variant; when it runs it is a Python list of arrays, None where nothing
was written (which counts as zero in cotangents).  A kernel that changes a list changes it in place
if nobody else holds it, so a loop that writes element after element is linear.
"""

from __future__ import annotations

import sys

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, primitive
from talweg.core.dtypes import int32, variant
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient
from talweg.graph.node import GRAPH

_LIST = Aval((), variant)
INDEX = NoGradient("an index is an integer")
_OWNED = (
    3  # references to an operand that the program has let go of: arrays, parameter, getrefcount
)


def _own(values: list, references: int) -> list:
    """`values`, or a copy if anybody else holds it."""
    return values if references <= _OWNED else list(values)


@primitive
class list_new:
    """y = a list of `size` elements that were not written."""

    operands = "size"
    effect = GRAPH
    no_gradient = INDEX
    batch = LOOP
    memory = "none"

    def infer(size):
        return _LIST

    def numpy(size):
        return [None] * int(size)


@primitive
class list_size:
    """y = the number of elements."""

    operands = "values"
    effect = GRAPH
    no_gradient = INDEX
    batch = LOOP
    memory = "none"

    def infer(values):
        return Aval((), int32)

    def numpy(values):
        return np.int32(len(values))


@primitive
class list_get:
    """y = element `index`; zeros of shape `dims` if it was not written."""

    operands = "values index"
    effect = GRAPH
    batch = LOOP
    memory = "view"

    def infer(values, index, *, dims, dtype):
        return Aval(dims, dtype)

    def numpy(values, index, *, dims, dtype):
        place = _checked("read", values, index)
        found = values[place]
        return _unwritten(place, dims, dtype) if found is None else found

    def vjp(g, z, values, index, *, dims, dtype):
        return [list_set(list_new(list_size(values)), index, g, dims=dims), None]

    def jvp(t, z, values, index, *, dims, dtype):
        return None if t[0] is None else list_get(t[0], index, dims=z.aval.dims, dtype=dtype)


def _checked(what, values, index):
    place = int(index)
    if not 0 <= place < len(values):
        raise invalid(
            "TW206", f"Tried to {what} index {place} but array size is: {len(values)}",
            f"an index in [0, {len(values)})",
        )  # fmt: skip
    return place


def _unwritten(place, dims, dtype):
    if dims is None or any(type(size) is not int for size in dims):
        raise invalid("TW206", f"Could not read index {place} of the list: it was not written yet")
    return np.zeros(dims, dtype.numpy_dtype)


@primitive
class list_set:
    """y = values with x as element `index`; the list grows if need be."""

    operands = "values index x"
    effect = GRAPH
    batch = LOOP
    memory = "scatter"

    def infer(values, index, x, *, dims):
        return _LIST

    def numpy(values, index, x, *, dims):
        result = _own(values, sys.getrefcount(values))
        place = int(index)
        if place < 0:
            raise invalid("TW206", f"Tried to write to index {place}", "an index of at least 0")
        if place >= len(result):
            result.extend([None] * (place + 1 - len(result)))
        result[place] = x
        return result

    def vjp(g, z, values, index, x, *, dims):
        return [
            list_clear(g, index),
            None,
            lambda: list_take(g, index, x) if x.dtype.is_differentiable else None,
        ]

    def jvp(t, z, values, index, x, *, dims):
        direction, _, part = t
        if direction is None:
            direction = list_new(list_size(values))
        return list_set(direction, index, part, dims=dims)


@primitive
class list_clear:
    """y = values without element `index`."""

    operands = "values index"
    effect = GRAPH
    batch = LOOP
    memory = "scatter"

    def infer(values, index):
        return _LIST

    def numpy(values, index):
        result = _own(values, sys.getrefcount(values))
        if int(index) < len(result):
            result[int(index)] = None
        return result

    def vjp(g, z, values, index):
        return [list_clear(g, index), None]

    def jvp(t, z, values, index):
        return None if t[0] is None else list_clear(t[0], index)


@primitive
class list_take:
    """y = element `index` of a cotangent; zeros like x if there is none."""

    operands = "values index x"
    effect = GRAPH
    batch = LOOP
    memory = "view"

    def infer(values, index, x):
        return x

    def numpy(values, index, x):
        found = values[int(index)] if int(index) < len(values) else None
        return np.zeros_like(x) if found is None else found

    def vjp(g, z, values, index, x):
        return [list_set(list_new(list_size(values)), index, g, dims=None), None, None]

    def jvp(t, z, values, index, x):
        return None if t[0] is None else list_take(t[0], index, x)


@primitive
class list_add:
    """z = the sums of the elements of two lists."""

    operands = "x y"
    effect = GRAPH
    batch = LOOP
    memory = "map"

    def infer(x, y):
        return _LIST

    def numpy(x, y):
        size = max(len(x), len(y))
        x, y = x + [None] * (size - len(x)), y + [None] * (size - len(y))
        return [b if a is None else a if b is None else add_values(a, b) for a, b in zip(x, y)]

    def vjp(g, z, x, y):
        return [g, g]

    def jvp(t, z, x, y):
        a, b = t
        return b if a is None else a if b is None else list_add(a, b)


def add_values(a, b):
    """The sum of two cotangents, which may be lists."""
    if isinstance(a, list):
        return list_add.numpy(a, b)
    return np.add(a, b)


@primitive
class list_stack:
    """y = the elements along a new first axis; unwritten ones are zero."""

    operands = "values"
    effect = GRAPH
    batch = LOOP
    memory = "map"

    def infer(values, *, dims, dtype):
        return Aval(None if dims is None else (None, *dims), dtype)

    def numpy(values, *, dims, dtype):
        return stacked(values, dims, dtype)

    def vjp(g, z, values, *, dims, dtype):
        return [list_from(g)]

    def jvp(t, z, values, *, dims, dtype):
        return None if t is None else list_stack_like(t, z)


def stacked(values, dims, dtype):
    """The elements of a list as one array."""
    like = next((value for value in values if value is not None), None)
    if like is None:
        if dims is None or any(type(size) is not int for size in dims):
            if values:
                raise invalid("TW206", "the list has no written element and no known shape")
            dims = tuple([size if type(size) is int else 0 for size in dims or ()])
        return np.zeros((len(values), *dims), dtype.numpy_dtype)
    shapes = {value.shape for value in values if value is not None}
    if len(shapes) > 1:
        raise invalid(
            "TW204", f"the elements of the list have different shapes: {sorted(shapes)}",
            "equal shapes",
        )  # fmt: skip
    filled = [np.zeros_like(like) if value is None else value for value in values]
    return np.stack(filled) if filled else np.zeros((0, *like.shape), like.dtype)


@primitive
class list_stack_like:
    """y = the elements of a cotangent along a new first axis, of the shape of x."""

    operands = "values x"
    effect = GRAPH
    batch = LOOP
    memory = "map"

    def infer(values, x):
        return x

    def numpy(values, x):
        result = np.zeros_like(x)
        for place, value in enumerate(values):
            if value is not None:
                result[place] = value
        return result

    def vjp(g, z, values, x):
        return [list_from(g), None]

    def jvp(t, z, values, x):
        return None if t[0] is None else list_stack_like(t[0], x)


@primitive
class list_from:
    """y = the slices of x along its first axis, as a list."""

    operands = "x"
    effect = GRAPH
    batch = LOOP
    memory = "view"

    def infer(x):
        return _LIST

    def numpy(x):
        return list(x)

    def vjp(g, z, x):
        return [list_stack_like(g, x)]

    def jvp(t, z, x):
        return None if t is None else list_from(t)
