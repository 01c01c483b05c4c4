"""The lists, arrays, stacks and maps of tensors among tf.raw_ops; `table.txt` calls them `lists.*`.

A TensorList is a value: every change gives a new one.  A TensorArray, a stack and what its handle
stands for change in place, so in graphs (where the flow says in which order) they are left to the
rules of `interop/graph_def`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.api.array.gathering import gather
from talweg.api.array.joining import concat, split, stack
from talweg.api.export import look_up
from talweg.api.raw.operands import (
    handle_of,
    integers_of,
    numbers_of,
    of_array,
    scalar_of,
    thing_of,
)
from talweg.api.tensors import cast
from talweg.core.dtypes import float32, int32, int64
from talweg.core.errors import InvalidArgumentError, compose, invalid
from talweg.core.shapes import as_shape
from talweg.eager.tensor import EagerTensor
from talweg.graph.symbol import Symbol, constant_of
from talweg.prims.bundle import list_resize
from talweg.prims.lists import elements, parts


def _fixed(shape: Any) -> tuple | None:
    return None if shape.rank is None else tuple(shape.as_list())


def _dims(shape: Any) -> tuple | None:
    """The element's shape that a tensor of sizes says, as far as it is known."""
    if type(shape) is Symbol:
        content = constant_of(shape.node)
        array = None if content is None else content.array
    else:
        array = shape._array if isinstance(shape, EagerTensor) else None
    if array is None or array.ndim != 1:
        return None
    return tuple([int(size) if size >= 0 else None for size in array])


# -- TensorLists


def reserve(element_shape: Any, num_elements: Any, element_dtype: Any) -> Any:
    """A list of elements that are not there yet."""
    return elements.list_new(num_elements)


def empty(element_shape: Any, max_num_elements: Any, element_dtype: Any) -> Any:
    """A list without elements."""
    return elements.list_new(of_array(0, int32))


def from_tensor(tensor: Any, element_shape: Any) -> Any:
    """The rows of a tensor."""
    return elements.list_from(tensor)


def item(input_handle: Any, index: Any, element_shape: Any, element_dtype: Any) -> Any:
    """One element."""
    return elements.list_get(input_handle, index, dims=_dims(element_shape), dtype=element_dtype)


def with_item(input_handle: Any, index: Any, item: Any, resize_if_index_out_of_bounds: bool) -> Any:
    """The list with another element."""
    limited = not resize_if_index_out_of_bounds
    return elements.list_set(input_handle, index, item, limited=limited)


def stacked(input_handle: Any, element_shape: Any, element_dtype: Any, num_elements: int) -> Any:
    """The elements along a new axis."""
    size = num_elements if num_elements >= 0 else None
    dims = _dims(element_shape)
    return elements.list_stack(input_handle, dims=dims, dtype=element_dtype, size=size)


def chosen(input_handle: Any, indices: Any, element_shape: Any, element_dtype: Any) -> Any:
    """Some elements along a new axis."""
    return gather(stacked(input_handle, element_shape, element_dtype, -1), indices)


def length(input_handle: Any) -> Any:
    """The number of elements."""
    return elements.list_size(input_handle)


def pushed(input_handle: Any, tensor: Any) -> Any:
    """The list with an element more."""
    place = elements.list_size(input_handle)
    return elements.list_set(input_handle, place, tensor, limited=False)


def pushed_to_each(input_handles: Any, tensor: Any) -> Any:
    """Several lists, each with a row of a tensor more."""
    handles = list(numbers_of(input_handles).reshape(-1))
    found = np.empty(len(handles), object)
    for place, handle in enumerate(handles):
        found[place] = pushed(handle_of(handle), tensor[place])._array
    return of_array(found)


def popped(input_handle: Any, element_shape: Any, element_dtype: Any) -> tuple:
    """(the list without its last element, that)."""
    last = elements.list_size(input_handle) - 1
    dims = _dims(element_shape)
    x = elements.list_get(input_handle, last, dims=dims, dtype=element_dtype)
    return list_resize(input_handle, last), x


def resized(input_handle: Any, size: Any) -> Any:
    """The list cut or grown to a size."""
    return list_resize(input_handle, size)


def scattered(tensor: Any, indices: Any, element_shape: Any, num_elements: Any = None) -> Any:
    """A list with the rows of a tensor at given places."""
    count = of_array(0, int32) if num_elements is None else num_elements
    count = look_up("math.maximum")(count, of_array(0, int32))
    return parts.list_scatter(elements.list_new(count), indices, tensor, limited=False)


def scattered_into(input_handle: Any, tensor: Any, indices: Any) -> Any:
    """A list with rows of a tensor in place of some elements."""
    return parts.list_scatter(input_handle, indices, tensor, limited=False)


def joined(
    input_handle: Any, element_shape: Any, element_dtype: Any, leading_dims: Any = None
) -> tuple:
    """(all elements one after the other, their lengths)."""
    dims = _fixed(element_shape) if hasattr(element_shape, "rank") else _dims(element_shape)
    dims = None if dims is None else (None, *dims[1:])
    lengths = cast(parts.list_lengths(input_handle), int64)
    return parts.list_concat(input_handle, dims=dims, dtype=element_dtype), lengths


def joined_lists(input_a: Any, input_b: Any, element_dtype: Any) -> Any:
    """The elements of two lists, one after the other."""
    start = elements.list_size(input_a)
    rows = elements.list_stack(input_b, dims=None, dtype=element_dtype, size=None)
    places = look_up("range")(elements.list_size(input_b)) + start
    return parts.list_scatter(input_a, places, rows, limited=False)


def parted(tensor: Any, element_shape: Any, lengths: Any) -> Any:
    """The parts of a tensor as a list."""
    return parts.list_split(tensor, lengths)


def element_shape(input_handle: Any, shape_type: Any) -> Any:
    """What is known of the shape of the elements: -1, nothing."""
    return of_array(-1, shape_type)


# -- TensorArrays


class ArrayCell:
    """The elements of a TensorArray; those that were not written are None."""

    def __init__(self, size: int, dtype: Any, dims: Any, dynamic: bool, clear: bool):
        self.values: list = [None] * size
        self.dtype, self.dims, self.dynamic, self.clear = dtype, dims, dynamic, clear
        self.gradients: dict[str, Any] = {}

    def write(self, index: int, value: Any) -> None:
        """Set an element; InvalidArgumentError outside of an array that does not grow."""
        if value.dtype is not self.dtype:
            raise invalid("TW102", f"a value of {value.dtype.name}", f"{self.dtype.name}")
        if index < 0 or (index >= len(self.values) and not self.dynamic):
            text = f"Tried to write to index {index} but array is not resizeable and size is: "
            raise invalid("TW206", text + str(len(self.values)))
        self.values += [None] * (index + 1 - len(self.values))
        if self.values[index] is not None and not self.gradients:
            text = f"Could not write to TensorArray index {index} because it has already been "
            raise invalid("TW206", text + "written to.")
        self.values[index] = value

    def read(self, index: int) -> Any:
        """An element; zeros for what was not written, where the shape is known."""
        if not 0 <= index < len(self.values):
            text = f"Tried to read from index {index} but array size is: {len(self.values)}"
            raise invalid("TW206", text)
        value = self.values[index]
        if value is None:
            if self.dims is None or None in self.dims:
                text = f"Could not read index {index} twice or before it was written"
                raise InvalidArgumentError(None, None, compose("TW206", text))
            return look_up("zeros")(self.dims, self.dtype)
        if self.clear:
            self.values[index] = None
        return value


def _array(handle: Any) -> ArrayCell:
    return thing_of(handle, ArrayCell, "TensorArray")


def _flow() -> Any:
    return of_array(0.0, float32)


def array(
    size: Any,
    dtype: Any,
    element_shape: Any = None,
    dynamic_size: bool = False,
    clear_after_read: bool = True,
    identical_element_shapes: bool = False,
    tensor_array_name: str = "",
) -> Any:
    """The handle of a TensorArray."""
    dims = _fixed(as_shape(element_shape))
    count = int(scalar_of(size))
    return handle_of(ArrayCell(count, dtype, dims, dynamic_size, clear_after_read))


def array_and_flow(**options: Any) -> tuple:
    """(the handle of a TensorArray, its first flow)."""
    return array(**options), _flow()


def written(handle: Any, index: Any, value: Any, flow_in: Any) -> Any:
    """The flow after an element was written."""
    _array(handle).write(int(scalar_of(index)), value)
    return _flow()


def read(handle: Any, index: Any, flow_in: Any, dtype: Any) -> Any:
    """One element."""
    return _array(handle).read(int(scalar_of(index)))


def gathered(handle: Any, indices: Any, flow_in: Any, dtype: Any, element_shape: Any) -> Any:
    """Some elements, stacked."""
    cell = _array(handle)
    found = [cell.read(n) for n in integers_of(indices)]
    if not found:
        dims = cell.dims or ()
        return look_up("zeros")([0, *(n or 0 for n in dims)], dtype)
    return stack(found)


def packed(handle: Any, flow_in: Any, dtype: Any, element_shape: Any) -> Any:
    """All elements, stacked."""
    places = of_array(np.arange(len(_array(handle).values)), int32)
    return gathered(handle, places, flow_in, dtype, element_shape)


def scattered_array(handle: Any, indices: Any, value: Any, flow_in: Any) -> Any:
    """The flow after the rows of a tensor were written."""
    cell = _array(handle)
    for row, place in enumerate(integers_of(indices)):
        cell.write(place, value[row])
    return _flow()


def unpacked(handle: Any, value: Any, flow_in: Any) -> Any:
    """The flow after all rows of a tensor were written."""
    return scattered_array(handle, of_array(np.arange(value.dims[0])), value, flow_in)


def joined_array(handle: Any, flow_in: Any, dtype: Any, element_shape_except0: Any) -> tuple:
    """(all elements one after the other, their lengths)."""
    cell = _array(handle)
    found = [cell.read(n) for n in range(len(cell.values))]
    lengths = of_array(np.array([x.dims[0] for x in found], np.int64))
    return concat(found, 0) if found else look_up("zeros")([0], dtype), lengths


def parted_array(handle: Any, value: Any, lengths: Any, flow_in: Any) -> Any:
    """The flow after the parts of a tensor were written."""
    cell = _array(handle)
    for place, part in enumerate(split(value, integers_of(lengths))):
        cell.write(place, part)
    return _flow()


def array_size(handle: Any, flow_in: Any) -> Any:
    """The number of elements."""
    return of_array(len(_array(handle).values), int32)


def closed(handle: Any) -> None:
    """Forget the elements."""
    thing_of(handle, (ArrayCell, StackCell), "close").values.clear()


def array_gradient(handle: Any, flow_in: Any, source: str, shape_to_prepend: Any = None) -> tuple:
    """(the handle of the array of the gradients of an array, its flow)."""
    cell = _array(handle)
    if source not in cell.gradients:
        found = ArrayCell(len(cell.values), cell.dtype, cell.dims, False, False)
        found.gradients[""] = None  # what is written twice replaces
        cell.gradients[source] = handle_of(found)
    return cell.gradients[source], _flow()


def array_gradient_alone(handle: Any, flow_in: Any, source: str) -> Any:
    """The handle of the array of the gradients of an array."""
    return array_gradient(handle, flow_in, source)[0]


# -- stacks


class StackCell:
    """A stack of tensors."""

    def __init__(self, dtype: Any, limit: int):
        self.dtype, self.limit = dtype, limit
        self.values: list = []


def stack_of(elem_type: Any, stack_name: str, max_size: Any = None) -> Any:
    """The handle of a stack."""
    return handle_of(StackCell(elem_type, -1 if max_size is None else int(scalar_of(max_size))))


def push(handle: Any, elem: Any, swap_memory: bool) -> Any:
    """`elem`, after it was put on a stack; InvalidArgumentError if that is full."""
    cell = thing_of(handle, StackCell, "StackPush")
    if elem.dtype is not cell.dtype:
        raise invalid("TW102", f"a value of {elem.dtype.name}", f"{cell.dtype.name}")
    if 0 <= cell.limit <= len(cell.values):
        raise invalid("TW206", f"Stack overflowed its max_size ({cell.limit})")
    cell.values.append(elem)
    return elem


def pop(handle: Any, elem_type: Any) -> Any:
    """The element on top of a stack, which goes; InvalidArgumentError if it is empty."""
    cell = thing_of(handle, StackCell, "StackPop")
    if not cell.values:
        raise invalid("TW206", "Stack is empty when calling Pop().")
    return cell.values.pop()


# -- maps


class MapValue:
    """A map from tensors to tensors; a value, which is copied to be changed."""

    def __init__(self, entries: dict):
        self.entries = entries


def _entries(handle: Any) -> dict:
    return dict(thing_of(handle, MapValue, "TensorMap").entries)


def _key(key: Any) -> tuple:
    array = numbers_of(key)
    return array.dtype.str, array.shape, array.tobytes() if array.dtype != object else str(array)


def empty_map() -> Any:
    """A map without entries."""
    return handle_of(MapValue({}))


def inserted(input_handle: Any, key: Any, value: Any) -> Any:
    """The map with another entry."""
    return handle_of(MapValue({**_entries(input_handle), _key(key): (key, value)}))


def erased(input_handle: Any, key: Any, value_dtype: Any) -> Any:
    """The map without an entry; InvalidArgumentError if there is none."""
    entries = _entries(input_handle)
    if _key(key) not in entries:
        raise invalid("TW104", "Trying to erase non-existent item.")
    del entries[_key(key)]
    return handle_of(MapValue(entries))


def found(input_handle: Any, key: Any, value_dtype: Any) -> Any:
    """The value of a key; InvalidArgumentError if there is none."""
    entries = _entries(input_handle)
    if _key(key) not in entries:
        raise invalid("TW104", "Trying to lookup non-existent key.")
    return entries[_key(key)][1]


def has_key(input_handle: Any, key: Any) -> Any:
    """Whether a map has a key."""
    return of_array(np.bool_(_key(key) in _entries(input_handle)))


def map_size(input_handle: Any) -> Any:
    """The number of entries."""
    return of_array(len(_entries(input_handle)), int32)


def keys(input_handle: Any, key_dtype: Any) -> Any:
    """All keys, stacked."""
    return stack([key for key, _ in _entries(input_handle).values()])
