"""Many elements of a list at once: scattered to places, split off a tensor, joined into one."""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, primitive
from talweg.core.dtypes import int64, variant
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient
from talweg.graph.node import GRAPH
from talweg.kernels.variants import List
from talweg.prims.lists.elements import check_place, list_clear, variant_zero
from talweg.prims.rows import UNEVEN, in_front, swap_first_axes

_LIST = Aval((), variant)


@primitive
class list_scatter:
    """y = values with the slices of x as elements at `indices`; of equal ones the last counts."""

    operands = "values indices x"
    tf_type = "TensorListScatterIntoExistingList"
    effect = GRAPH
    memory = "scatter"

    def infer(values, indices, x, *, limited):
        return _LIST

    def numpy(values: List, indices, x, *, limited):
        values = List.sparse() if values is None else values
        if len(indices) != len(x):
            raise invalid(
                "TW204", f"scatter: {len(indices)} indices and {len(x)} values", "as many"
            )
        for place, part in zip(indices.tolist(), x):
            check_place(place, len(values), limited)
            values = values.put(place, part)
        return values

    def batch(size, kinds, values, indices, x, *, limited):
        if UNEVEN in kinds or kinds[1]:
            return NotImplemented
        values, x = in_front(values, size, kinds[0]), in_front(x, size, kinds[2])
        return list_scatter(values, indices, swap_first_axes(x), limited=limited)

    def vjp(g, z, values, indices, x, *, limited):
        return [list_clear(g, indices), None, list_gather_like(g, indices, x)]

    def jvp(t: tuple, z, values, indices, x, *, limited):
        direction, _, part = t
        direction = variant_zero() if direction is None else direction
        if part is None:
            return list_clear(direction, indices)
        return list_scatter(direction, indices, part, limited=False)


@primitive
class list_gather_like:
    """y = the elements of a cotangent at `indices`, zeros for absent ones, of the shape of x.

    Of equal indices the last gets it.
    """

    operands = "values indices x"
    tf_type = "TensorListGather"
    effect = GRAPH
    memory = "gather"

    def infer(values, indices, x):
        return x

    def numpy(values, indices, x):
        if x is None:  # nobody computed it
            return None
        result = np.zeros_like(x)
        if values is not None:
            last = {place: row for row, place in enumerate(indices.tolist())}
            for place, row in last.items():
                found = values.get(place)
                if found is not None:
                    result[row] = found
        return result

    def batch(size, kinds, values, indices, x):
        if UNEVEN in kinds or kinds[1]:
            return NotImplemented
        values, x = in_front(values, size, kinds[0]), in_front(x, size, kinds[2])
        return swap_first_axes(list_gather_like(values, indices, swap_first_axes(x)))

    def vjp(g, z, values, indices, x):
        return [list_scatter(variant_zero(), indices, g, limited=False), None, None]

    def jvp(t: tuple, z, values, indices, x):
        return None if t[0] is None else list_gather_like(t[0], indices, x)


@primitive
class list_lengths:
    """y = the first dimensions of the elements; 0 for absent ones."""

    operands = "values"
    effect = GRAPH
    no_gradient = NoGradient("a length is an integer")
    batch = LOOP
    memory = "none"

    def infer(values):
        return Aval((None,), int64)

    def numpy(values):
        return np.array([0 if x is None else len(x) for x in values.values()], np.int64)


@primitive
class list_concat:
    """y = the elements joined along their first axis; `dims` are those of an element."""

    operands = "values"
    tf_type = "TensorListConcatV2"
    effect = GRAPH
    batch = LOOP
    memory = "map"

    def infer(values, *, dims, dtype):
        return Aval(None if dims is None else (None, *dims[1:]), dtype)

    def numpy(values: List, *, dims, dtype):
        parts = values.values()
        if dims is not None and None not in dims:
            parts = [np.zeros(dims, dtype.numpy_dtype) if x is None else x for x in parts]
        parts = [x for x in parts if x is not None]
        if not parts:
            rest = [size or 0 for size in (dims or ())[1:]]
            return np.zeros((0, *rest), dtype.numpy_dtype)
        if not all(np.ndim(x) for x in parts):
            raise invalid("TW203", "concat: the elements are scalars", "rank 1 or more", ".stack()")
        if len({x.shape[1:] for x in parts}) > 1:
            shapes = [x.shape for x in parts]
            raise invalid("TW204", f"concat: the elements have shapes {shapes}", "equal rows")
        return np.concatenate(parts)

    def vjp(g, z, values, *, dims, dtype):
        return [list_split(g, list_lengths(values))]

    def jvp(t, z, values, *, dims, dtype):
        return None if t is None else list_concat_like(t, list_lengths(values), z)


@primitive
class list_split:
    """y = consecutive pieces of x along its first axis, of these lengths, as a list."""

    operands = "x lengths"
    tf_type = "TensorListSplit"
    effect = GRAPH
    batch = LOOP
    memory = "view"

    def infer(x, lengths):
        return _LIST

    def numpy(x: np.ndarray, lengths):
        lengths = np.asarray(lengths)
        if lengths.ndim != 1 or np.ndim(x) == 0:
            raise invalid(
                "TW203",
                f"Expected lengths to be a vector and value to be at least a vector, received "
                f"shapes: {list(lengths.shape)} and {list(np.shape(x))}",
            )
        if lengths.sum() != len(x):
            raise invalid(
                "TW204",
                f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{lengths.sum()} and value's shape is: {list(x.shape)}",
            )
        ends = np.cumsum(lengths)
        return List.of([x[end - size : end] for end, size in zip(ends, lengths)])

    def vjp(g, z, x, lengths):
        return [list_concat_like(g, lengths, x), None]

    def jvp(t: tuple, z, x, lengths):
        return None if t[0] is None else list_split(t[0], lengths)


@primitive
class list_concat_like:
    """y = the elements of a cotangent, of these lengths, joined; zeros for absent ones; like x."""

    operands = "values lengths x"
    tf_type = "TensorListConcatV2"
    effect = GRAPH
    batch = LOOP
    memory = "map"

    def infer(values, lengths, x):
        return x

    def numpy(values, lengths, x):
        result = np.zeros_like(x)
        ends = np.cumsum(lengths)
        for place, value in () if values is None else values.present():
            result[ends[place] - lengths[place] : ends[place]] = value
        return result

    def vjp(g, z, values, lengths, x):
        return [list_split(g, lengths), None, None]

    def jvp(t: tuple, z, values, lengths, x):
        return None if t[0] is None else list_concat_like(t[0], lengths, x)
