"""Lists of tensors as values: what `TensorArray` and the reverse of loops are made of.

A list is a scalar of dtype variant; when it runs it is a `kernels.variants.List`.  Writing an
element costs the same however long the list is.  Elements that were not written count as zero in
cotangents and tangents, and `variant_zero` is a list (or history) with nothing in it, whatever its
length.  Lists are changed as wholes in `parts.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, primitive
from talweg.core.dtypes import int32, variant
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient
from talweg.graph.node import GRAPH
from talweg.kernels.variants import List, total
from talweg.prims.control import zero, zero_like, zeros_if_absent
from talweg.prims.rows import (
    EVEN,
    UNEVEN,
    Kinds,
    element_dims,
    in_front,
    more_dims,
    swap_first_axes,
)

if TYPE_CHECKING:
    from talweg.core.dtypes import DType

_LIST = Aval((), variant)
INDEX = NoGradient("an index is an integer")


@primitive
class variant_zero:
    """y = a zero that stands for any list or history."""

    operands = ""
    tf_type = "EmptyTensorList"
    effect = GRAPH
    no_gradient = NoGradient("it depends on nothing")
    batch = LOOP
    memory = "none"

    def infer():
        return _LIST

    def numpy():
        return None


@primitive
class variant_sum:
    """z = x + y: sums of the elements of two lists, of the values of two histories."""

    operands = "x y"
    tf_type = "AddV2"
    effect = GRAPH
    memory = "map"

    def infer(x, y):
        return _LIST

    def numpy(x, y):
        return total(x, y)

    def batch(size, kinds, x, y):
        if UNEVEN in kinds:
            return NotImplemented
        return variant_sum(in_front(x, size, kinds[0]), in_front(y, size, kinds[1]))

    def vjp(g, z, x, y):
        return [g, g]

    def jvp(t: tuple, z, x, y):
        a, b = t
        return b if a is None else a if b is None else variant_sum(a, b)


@primitive
class list_new:
    """y = a list of `size` elements that were not written."""

    operands = "size"
    tf_type = "TensorListReserve"
    effect = GRAPH
    no_gradient = INDEX
    batch = LOOP
    memory = "none"

    def infer(size, *, dims=None):
        return _LIST

    def numpy(size: np.ndarray, *, dims=None):
        if int(size) < 0:
            raise invalid("TW205", f"The num_elements to reserve is {int(size)}", "at least 0")
        return List.absent(int(size), dims)


@primitive
class list_size:
    """y = the number of elements."""

    operands = "values"
    tf_type = "TensorListLength"
    effect = GRAPH
    no_gradient = INDEX
    memory = "none"

    def infer(values):
        return Aval((), int32)

    def numpy(values: List):
        return np.int32(len(values))

    def batch(size, kinds, values):
        return NotImplemented if UNEVEN in kinds else Kinds(list_size(values), (0,))


@primitive
class list_get:
    """y = element `index`; zeros of shape `dims` if it was not written."""

    operands = "values index"
    tf_type = "TensorListGetItem"
    effect = GRAPH
    memory = "view"

    def infer(values, index, *, dims, dtype):
        return Aval(dims, dtype)

    def numpy(values, index, *, dims, dtype):
        place = _check("read", values, index)
        found = values.get(place)
        return _unwritten(place, dims, dtype) if found is None and dtype is not variant else found

    def batch(size, kinds, values, index, *, dims, dtype):
        if kinds != (EVEN, 0):
            return NotImplemented
        return list_get(values, index, dims=element_dims(size, dims, dtype), dtype=dtype)

    def vjp(g, z, values, index, *, dims, dtype):
        return [list_set(variant_zero(), index, g, limited=False), None]

    def jvp(t: tuple, z, values, index, *, dims, dtype):
        return None if t[0] is None else list_take(t[0], index, *zero_like(z), **zero(z))


def _check(what: object, values, index):
    place = int(index)
    if not 0 <= place < len(values):
        raise invalid(
            "TW206",
            f"Tried to {what} index {place} but array size is: {len(values)}",
            f"an index in [0, {len(values)})",
        )
    return place


def _unwritten(place: object, dims: tuple, dtype: DType):
    if dims is None or any(type(size) is not int for size in dims):
        raise invalid("TW206", f"Could not read index {place} of the list: it was not written yet")
    return np.zeros(dims, dtype.numpy_dtype)


@primitive
class list_set:
    """y = values with x as element `index`; the list grows if need be, unless it is `limited`."""

    operands = "values index x"
    tf_type = "TensorListSetItem"
    effect = GRAPH
    memory = "scatter"

    def infer(values, index, x, *, limited):
        return _LIST

    def numpy(values: List, index, x, *, limited):
        values = List.sparse() if values is None else values
        place = int(index)
        check_place(place, len(values), limited)
        return values.put(place, x)

    def batch(size, kinds, values, index, x, *, limited):
        if UNEVEN in kinds or kinds[1]:
            return NotImplemented
        values, x = in_front(values, size, kinds[0]), in_front(x, size, kinds[2])
        return list_set(values, index, x, limited=limited)

    def vjp(g, z, values, index, x, *, limited):
        return [
            list_clear(g, index),
            None,
            lambda: list_take(g, index, *zero_like(x), **zero(x)),
        ]

    def jvp(t: tuple, z, values, index, x, *, limited):
        direction, _, part = t
        direction = variant_zero() if direction is None else direction
        if part is None:
            return list_clear(direction, index)
        return list_set(direction, index, part, limited=False)


def check_place(place: int, size: int, limited: bool):
    """Raise InvalidArgumentError unless element `place` of a list may be written."""
    if place < 0 or (limited and place >= size):
        raise invalid(
            "TW206",
            f"Tried to write to index {place} but array is not resizeable and size is: {size}",
            f"an index in [0, {size})" if limited else "an index of at least 0",
            "" if place < 0 else "TensorArray(..., dynamic_size=True)",
        )


@primitive
class list_clear:
    """y = values without the elements at `index`, a scalar or vector."""

    operands = "values index"
    tf_type = "TensorListSetItem"
    effect = GRAPH
    memory = "scatter"

    def infer(values, index):
        return _LIST

    def numpy(values, index):
        if values is None:
            return None
        for place in np.ravel(index).tolist():
            if values.get(place) is not None:
                values = values.put(place, None)
        return values

    def batch(size, kinds, values, index):
        return list_clear(values, index) if kinds == (EVEN, 0) else NotImplemented

    def vjp(g, z, values, index):
        return [list_clear(g, index), None]

    def jvp(t: tuple, z, values, index):
        return None if t[0] is None else list_clear(t[0], index)


@primitive
class list_take:
    """y = element `index` of a cotangent or tangent.

    Zeros like the last operand, or of shape `dims`, if there is none.
    """

    operands = "values index *like"
    tf_type = "TensorListGetItem"
    effect = GRAPH
    memory = "view"

    def infer(values, index, *like, dims, dtype):
        return like[0] if like else Aval(dims, dtype)

    def numpy(values, index, *like, dims, dtype):
        found = None if values is None else values.get(int(index))
        return zeros_if_absent(found, like, dims, dtype)

    def batch(size, kinds, values, index, *like, dims, dtype):
        if UNEVEN in kinds or kinds[1]:
            return NotImplemented
        values = in_front(values, size, kinds[0])
        like = [in_front(x, size, kind) for x, kind in zip(like, kinds[2:])]
        dims = element_dims(size, dims, dtype)
        return list_take(values, index, *like, dims=dims, dtype=dtype)

    def vjp(g, z, values, index, *like, dims, dtype):
        zeros = [None] * len(like)
        return [list_set(variant_zero(), index, g, limited=False), None, *zeros]

    def jvp(t: tuple, z, values, index, *like, dims, dtype):
        if t[0] is None:
            return None
        if like:
            return list_take(t[0], index, *like, dims=dims, dtype=dtype)
        return list_take(t[0], index, *zero_like(z), **zero(z))


@primitive
class list_stack:
    """y = the elements along a new first axis; unwritten ones are zero.

    `dims` and `dtype` are those of an element, as far as they are known.
    """

    operands = "values"
    tf_type = "TensorListStack"
    effect = GRAPH
    memory = "map"

    def infer(values, *, dims, dtype, size=None):
        return Aval(None if dims is None else (size, *dims), dtype)

    def numpy(values, *, dims, dtype, size=None):
        return stack_elements(values.values(), values.dims if dims is None else dims, dtype)

    def batch(count, kinds, values, *, dims, dtype, size=None):
        if UNEVEN in kinds:
            return NotImplemented
        return swap_first_axes(
            list_stack(values, dims=more_dims(count, dims), dtype=dtype, size=size)
        )

    def vjp(g, z, values, *, dims, dtype, size=None):
        return [list_from(g)]

    def jvp(t, z, values, *, dims, dtype, size=None):
        return None if t is None else list_stack_like(t, z)


def stack_elements(values: list, dims: tuple | None, dtype: DType):
    """Return the elements of a list as one array."""
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
            "TW204",
            f"the elements of the list have different shapes: {sorted(shapes)}",
            "equal shapes",
        )
    return np.stack([np.zeros_like(like) if value is None else value for value in values])


@primitive
class list_stack_like:
    """y = the elements of a cotangent along a new first axis, of the shape of x."""

    operands = "values x"
    tf_type = "TensorListStack"
    effect = GRAPH
    memory = "map"

    def infer(values, x):
        return x

    def numpy(values, x):
        if x is None:  # nobody computed it
            return None
        result = np.zeros_like(x)
        for place, value in () if values is None else values.present():
            result[place] = value
        return result

    def batch(size, kinds, values, x):
        if UNEVEN in kinds:
            return NotImplemented
        values, x = in_front(values, size, kinds[0]), in_front(x, size, kinds[1])
        return swap_first_axes(list_stack_like(values, swap_first_axes(x)))

    def vjp(g, z, values, x):
        return [list_from(g), None]

    def jvp(t: tuple, z, values, x):
        return None if t[0] is None else list_stack_like(t[0], x)


@primitive
class list_from:
    """y = the slices of x along its first axis, as a list."""

    operands = "x"
    tf_type = "TensorListFromTensor"
    effect = GRAPH
    memory = "view"

    def infer(x):
        return _LIST

    def numpy(x: np.ndarray):
        return None if x is None else List.of(list(x))

    def batch(size, kinds, x):
        return list_from(swap_first_axes(x))

    def vjp(g, z, x):
        return [list_stack_like(g, x)]

    def jvp(t, z, x):
        return None if t is None else list_from(t)
