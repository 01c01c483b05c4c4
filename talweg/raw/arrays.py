"""The TensorArrays and stacks among tf.raw_ops; `table.txt` calls them `arrays.*`.

They change in place.  In a graph each run makes its own, and what is done to it happens in the
order in which it was written; the flow says what has to be done for a result at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.joining import concat, split, stack
from talweg.api.export import look_up
from talweg.core.dtypes import float32, int32
from talweg.core.errors import InvalidArgumentError, compose, invalid
from talweg.core.shapes import as_shape
from talweg.raw.operands import handle_of, integers_of, of_array, scalar_of, sizes_of, thing_of

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike
    from talweg.core.value import Tensor


class ArrayCell:
    """The elements of a TensorArray; those that were not written are None."""

    def __init__(self, size: int, dtype: Any, dims: Any, dynamic: bool, clear: bool):
        self.values: list = [None] * size
        self.dtype, self.dims, self.dynamic, self.clear = dtype, dims, dynamic, clear
        self.gradients: dict[str, Any] = {}
        self.gradient_of: ArrayCell | None = None  # the array whose gradients it has

    def write(self, index: int, value: Tensor) -> None:
        """Set an element; InvalidArgumentError outside of an array that does not grow."""
        if value.dtype is not self.dtype:
            raise invalid("TW102", f"a value of {value.dtype.name}", f"{self.dtype.name}")
        if index < 0 or (index >= len(self.values) and not self.dynamic):
            text = f"Tried to write to index {index} but array is not resizeable and size is: "
            raise invalid("TW206", text + str(len(self.values)))
        self.values += [None] * (index + 1 - len(self.values))
        if self.values[index] is not None and self.gradient_of is not None:
            value = self.values[index] + value
        elif self.values[index] is not None:
            text = f"Could not write to TensorArray index {index} because it has already been "
            raise invalid("TW206", text + "written to.")
        self.values[index] = value

    def read(self, index: int) -> Any:
        """Read an element; zeros for one that was not written, where the shape is known."""
        if not 0 <= index < len(self.values):
            text = f"Tried to read from index {index} but array size is: {len(self.values)}"
            raise invalid("TW206", text)
        value = self.values[index]
        if value is None:
            forward = None if self.gradient_of is None else self.gradient_of.values[index]
            if forward is not None:
                return look_up("zeros_like")(forward)
            if self.dims is None or None in self.dims:
                text = f"Could not read index {index} twice or before it was written"
                raise InvalidArgumentError(None, None, compose("TW206", text))
            return look_up("zeros")(self.dims, self.dtype)
        if self.clear:
            self.values[index] = None
        return value


def _array(handle: Tensor) -> ArrayCell:
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
    """Return the handle of a TensorArray."""
    dims = sizes_of(as_shape(element_shape))
    count = int(scalar_of(size))
    return handle_of(ArrayCell(count, dtype, dims, dynamic_size, clear_after_read))


def array_and_flow(**options: Any) -> tuple:
    """Return (the handle of a TensorArray, its first flow)."""
    return array(**options), _flow()


def write(handle: Tensor, index: Any, value: Tensor, flow_in: Any) -> Any:
    """Return the flow after an element was written."""
    _array(handle).write(int(scalar_of(index)), value)
    return _flow()


def read(handle: Tensor, index: Any, flow_in: Any, dtype: DTypeLike) -> Any:
    """Return one element."""
    return _array(handle).read(int(scalar_of(index)))


def gather(
    handle: Tensor, indices: Tensor, flow_in: Any, dtype: DTypeLike, element_shape: ShapeLike
) -> Any:
    """Gather some elements, stacked."""
    cell = _array(handle)
    found = [cell.read(n) for n in integers_of(indices)]
    if not found:
        dims = cell.dims or ()
        return look_up("zeros")([0, *(n or 0 for n in dims)], dtype)
    return stack(found)


def pack(handle: Tensor, flow_in: Any, dtype: DTypeLike, element_shape: ShapeLike) -> Any:
    """Stack all elements."""
    places = of_array(np.arange(len(_array(handle).values)), int32)
    return gather(handle, places, flow_in, dtype, element_shape)


def scatter_array(handle: Tensor, indices: Tensor, value: Tensor, flow_in: Any) -> Any:
    """Return the flow after the rows of a tensor were written."""
    cell = _array(handle)
    for row, place in enumerate(integers_of(indices)):
        cell.write(place, value[row])
    return _flow()


def unpack(handle: Tensor, value: Tensor, flow_in: Any) -> Any:
    """Return the flow after all rows of a tensor were written."""
    return scatter_array(handle, of_array(np.arange(value.dims[0])), value, flow_in)


def join_array(handle: Tensor, flow_in: Any, dtype: DTypeLike, element_shape_except0: Any) -> tuple:
    """Join all elements: (them one after the other, their lengths)."""
    cell = _array(handle)
    found = [cell.read(n) for n in range(len(cell.values))]
    lengths = of_array(np.array([x.dims[0] for x in found], np.int64))
    return concat(found, 0) if found else look_up("zeros")([0], dtype), lengths


def split_array(handle: Tensor, value: Tensor, lengths: Any, flow_in: Any) -> Any:
    """Return the flow after the parts of a tensor were written."""
    cell = _array(handle)
    for place, part in enumerate(split(value, integers_of(lengths))):
        cell.write(place, part)
    return _flow()


def array_size(handle: Tensor, flow_in: Any) -> Any:
    """Return the number of elements."""
    return of_array(len(_array(handle).values), int32)


def close(handle: Tensor) -> None:
    """Forget the elements."""
    thing_of(handle, (ArrayCell, StackCell), "close").values.clear()


def array_gradient(
    handle: Tensor, flow_in: Any, source: str, shape_to_prepend: Any = None
) -> tuple:
    """Return (the handle of the array of the gradients of an array, its flow)."""
    cell = _array(handle)
    if cell.gradient_of is not None:
        raise invalid("TW402", "TensorArrayGradV3: the array has gradients as elements", "another")
    if source not in cell.gradients:
        found = ArrayCell(len(cell.values), cell.dtype, cell.dims, False, False)
        found.gradient_of = cell  # what is written twice is added
        cell.gradients[source] = handle_of(found)
    return cell.gradients[source], _flow()


def array_gradient_alone(handle: Tensor, flow_in: Any, source: str) -> Any:
    """Return the handle of the array of the gradients of an array."""
    return array_gradient(handle, flow_in, source)[0]


# -- stacks


class StackCell:
    """A stack of tensors."""

    def __init__(self, dtype: Any, limit: int):
        self.dtype, self.limit = dtype, limit
        self.values: list = []


def stack_of(elem_type: Any, stack_name: str, max_size: Any = None) -> Any:
    """Return the handle of a stack."""
    return handle_of(StackCell(elem_type, -1 if max_size is None else int(scalar_of(max_size))))


def push(handle: Tensor, elem: Any, swap_memory: bool) -> Any:
    """Push `elem` on a stack, and return it; InvalidArgumentError if that is full."""
    cell = thing_of(handle, StackCell, "StackPush")
    if elem.dtype is not cell.dtype:
        raise invalid("TW102", f"a value of {elem.dtype.name}", f"{cell.dtype.name}")
    if 0 <= cell.limit <= len(cell.values):
        raise invalid("TW206", f"Stack overflowed its max_size ({cell.limit})")
    cell.values.append(elem)
    return elem


def push_list(handle: Any, elem: Any) -> Any:
    """Push `elem`, a list that stands for the flow of an array, on a stack, and return it."""
    thing_of(handle, StackCell, "StackPush").values.append(elem)
    return elem


def pop(handle: Tensor, elem_type: Any) -> Any:
    """Return the element on top of a stack, which goes; InvalidArgumentError if it is empty."""
    cell = thing_of(handle, StackCell, "StackPop")
    if not cell.values:
        raise invalid("TW206", "Stack is empty when calling Pop().")
    return cell.values.pop()
