"""The lists of tensors among tf.raw_ops; `table.txt` calls them `lists.*`.

A TensorList is a value: every change gives a new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.gathering import gather
from talweg.api.array.shapes import ensure_shape
from talweg.api.export import look_up
from talweg.api.host import call_on_contents
from talweg.api.tensors import cast
from talweg.core.dtypes import int32, int64, variant
from talweg.core.errors import invalid
from talweg.eager.tensor import EagerTensor
from talweg.graph.symbol import Symbol, constant_of
from talweg.kernels.variants import List
from talweg.prims.bundle import list_resize
from talweg.prims.lists import elements, parts
from talweg.raw.operands import (
    of_array,
    sizes_of,
)

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike
    from talweg.core.value import Tensor


def _dims(shape: Any) -> tuple | None:
    """Return the element's shape that a tensor of sizes says, as far as it is known."""
    if type(shape) is Symbol:
        content = constant_of(shape.node)
        array = None if content is None else content.array
    else:
        array = shape._array if isinstance(shape, EagerTensor) else None
    if array is None or array.ndim != 1:
        return None
    return tuple([int(size) if size >= 0 else None for size in array])


def _whole_dims(shape: Any) -> tuple | None:
    """Return the element's shape if all of it is known."""
    dims = _dims(shape)
    return None if dims is None or None in dims else dims


# -- TensorLists


def reserve(element_shape: ShapeLike, num_elements: Any, element_dtype: DTypeLike) -> Any:
    """Return a list of elements that are not there yet."""
    return elements.list_new(num_elements, dims=_whole_dims(element_shape))


def empty(element_shape: ShapeLike, max_num_elements: Any, element_dtype: DTypeLike) -> Any:
    """Return a list without elements."""
    return elements.list_new(of_array(0, int32), dims=_whole_dims(element_shape))


def from_tensor(tensor: Tensor, element_shape: ShapeLike) -> Any:
    """Return the rows of a tensor."""
    return elements.list_from(tensor)


def item(input_handle: Any, index: Any, element_shape: ShapeLike, element_dtype: DTypeLike) -> Any:
    """Return one element."""
    return elements.list_get(input_handle, index, dims=_dims(element_shape), dtype=element_dtype)


def with_item(
    input_handle: Any, index: Any, item: object, resize_if_index_out_of_bounds: bool
) -> Any:
    """Return the list with another element."""
    limited = not resize_if_index_out_of_bounds
    return elements.list_set(input_handle, index, item, limited=limited)


def stack(
    input_handle: Any, element_shape: ShapeLike, element_dtype: DTypeLike, num_elements: int
) -> Any:
    """Return the elements along a new axis."""
    size = num_elements if num_elements >= 0 else None
    dims = _dims(element_shape)
    return elements.list_stack(input_handle, dims=dims, dtype=element_dtype, size=size)


def gather_elements(
    input_handle: Any, indices: Tensor, element_shape: ShapeLike, element_dtype: DTypeLike
) -> Any:
    """Gather some elements along a new axis."""
    return gather(stack(input_handle, element_shape, element_dtype, -1), indices)


def length(input_handle: Any) -> Any:
    """Return the number of elements."""
    return elements.list_size(input_handle)


def push(input_handle: Any, tensor: Tensor) -> Any:
    """Return the list with an element more."""
    place = elements.list_size(input_handle)
    return elements.list_set(input_handle, place, tensor, limited=False)


def push_to_each(input_handles: Any, tensor: Tensor) -> Any:
    """Push a row of a tensor to each of several lists."""
    return _each_list(_push_rows, input_handles, tensor)


def _push_rows(handles: np.ndarray, rows: np.ndarray) -> np.ndarray:
    if handles.shape != rows.shape[: handles.ndim]:
        raise invalid("TW204", f"{handles.shape} lists, and rows in a tensor of shape {rows.shape}")
    pushed = handles.reshape(-1).copy()
    values = rows.reshape(len(pushed), *rows.shape[handles.ndim :])
    for place, old in enumerate(pushed["variant"]):
        pushed["variant"][place] = old.put(len(old), values[place])
    return pushed.reshape(handles.shape)


def _join_pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if first.shape != second.shape:
        raise invalid("TW204", f"lists of shape {first.shape} beside those of {second.shape}")
    joined = first.reshape(-1).copy()
    pairs = zip(joined["variant"].tolist(), second["variant"].reshape(-1).tolist())
    for place, (one, other) in enumerate(pairs):
        joined["variant"][place] = List.of(one.values() + other.values())
        joined["variant"][place].dims = one.dims
    return joined.reshape(first.shape)


def _each_list(function: Any, handles: Any, other: Any) -> Any:
    """Return the lists that a function makes of arrays of lists and another operand."""
    joined = call_on_contents(function, [handles, other], variant)
    return ensure_shape(joined, handles.shape)


def pop(input_handle: Any, element_shape: ShapeLike, element_dtype: DTypeLike) -> tuple:
    """Pop an element: (the list without its last element, that)."""
    last = elements.list_size(input_handle) - 1
    dims = _dims(element_shape)
    x = elements.list_get(input_handle, last, dims=dims, dtype=element_dtype)
    return list_resize(input_handle, last), x


def resize(input_handle: Any, size: Any) -> Any:
    """Return the list cut or grown to a size."""
    return list_resize(input_handle, size)


def scatter(
    tensor: Tensor, indices: Tensor, element_shape: ShapeLike, num_elements: Any = None
) -> Any:
    """Return a list with the rows of a tensor at given places."""
    count = of_array(0, int32) if num_elements is None else num_elements
    count = look_up("math.maximum")(count, of_array(0, int32))
    return parts.list_scatter(elements.list_new(count), indices, tensor, limited=False)


def scatter_into(input_handle: Any, tensor: Tensor, indices: Tensor) -> Any:
    """Return a list with rows of a tensor in place of some elements."""
    return parts.list_scatter(input_handle, indices, tensor, limited=False)


def concat_elements(
    input_handle: Any, element_shape: ShapeLike, element_dtype: DTypeLike, leading_dims: Any = None
) -> tuple:
    """Join all elements: (them one after the other, their lengths)."""
    dims = sizes_of(element_shape) if hasattr(element_shape, "rank") else _dims(element_shape)
    dims = None if dims is None else (None, *dims[1:])
    lengths = cast(parts.list_lengths(input_handle), int64)
    return parts.list_concat(input_handle, dims=dims, dtype=element_dtype), lengths


def join_lists(input_a: Any, input_b: Any, element_dtype: DTypeLike) -> Any:
    """Return the elements of two lists, one after the other; of each pair of two arrays of them."""
    if input_a.shape.rank != 0 or input_b.shape.rank != 0:
        return _each_list(_join_pairs, input_a, input_b)
    start = elements.list_size(input_a)
    rows = elements.list_stack(input_b, dims=None, dtype=element_dtype, size=None)
    places = look_up("range")(elements.list_size(input_b)) + start
    return parts.list_scatter(input_a, places, rows, limited=False)


def split_tensor(tensor: Tensor, element_shape: ShapeLike, lengths: Any) -> Any:
    """Return the parts of a tensor as a list."""
    return parts.list_split(tensor, lengths)


def element_shape(input_handle: Any, shape_type: Any) -> Any:
    """Return the known shape of the elements: -1, none is known."""
    return of_array(-1, shape_type)
