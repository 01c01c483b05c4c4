"""The element lists of a `tf.TensorArray`: a Python list in eager mode, a list value in graphs.

`EagerList` changes in place, like TensorFlow's; `GraphList` is a value, and every write gives a new
one.  Both know what is known of the shape of an element, which all versions of an array share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.array.creating import zeros
from talweg.api.array.gathering import gather
from talweg.api.array.joining import concat, split, stack, unstack
from talweg.core import dispatch
from talweg.core.dtypes import int32
from talweg.core.errors import OpError, OutOfRangeError, compose, invalid, value_error
from talweg.core.shapes import TensorShape, as_shape
from talweg.eager.convert import convert_to_tensor
from talweg.graph.symbol import Symbol
from talweg.prims.lists import elements as lists
from talweg.prims.lists import parts

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor
    from talweg.graph.node import NodeTable


class ListElements:
    """Describes the elements of an array: dtype, shape as far as it is known, rules."""

    def __init__(self, dtype: object, shape: Any, infer: bool, dynamic: bool, clear: bool):
        self.dtype, self.shape = dtype, as_shape(shape)
        self.infer, self.dynamic, self.clear = infer, dynamic, clear

    def accept(self, shape: TensorShape) -> None:
        """Take in the shape of one more element; ValueError if it does not fit."""
        if not self.infer:
            return
        if not self.shape.is_compatible_with(shape):
            raise value_error(
                "TW204",
                f"TensorArray: Incompatible shape for value ({shape}), expected ({self.shape})",
                "elements of one shape",
                "TensorArray(..., infer_shape=False)",
            )
        self.shape = self.shape.merge_with(shape)

    @property
    def dims(self) -> tuple | None:
        """The dimensions of an element as parameters have them."""
        return self.shape._dims


def _out_of_range(text: str, hint: str = "") -> OpError:
    return OutOfRangeError(None, None, compose("TW206", text, hint=hint))


class EagerList:
    """Elements in a Python list, None where nothing was written."""

    def __init__(self, elements: ListElements, size: int):
        self.elements = elements
        self.values: list = [None] * size
        self.cleared: set[int] = set()

    def put(self, index: Any, value: Any) -> EagerList:
        """Write one element, in place."""
        position = int(index)
        if position < 0:
            raise _out_of_range(f"Writing to negative indices (index {position}) is not allowed.")
        if position >= len(self.values):
            if not self.elements.dynamic:
                raise _out_of_range(
                    f"Tried to write to index {position} but array is not resizeable and size is: "
                    f"{len(self.values)}",
                    "TensorArray(..., dynamic_size=True)",
                )
            self.values.extend([None] * (position + 1 - len(self.values)))
        self.elements.accept(value.shape)
        self.values[position] = value
        self.cleared.discard(position)
        return self

    def _value(self, place: int) -> Any:
        found = self.values[place]
        if found is not None:
            return found
        shape = self.elements.shape
        if not shape.is_fully_defined():
            raise value_error(
                "TW206",
                f"TensorArray: element {place} was not written, and the shape {shape} of elements "
                "is not known: cannot convert a partially known TensorShape",
            )
        return zeros(shape.as_list(), self.elements.dtype)

    def get(self, index: Any) -> Any:
        """Read one element."""
        position = int(index)
        if not 0 <= position < len(self.values):
            raise _out_of_range(
                f"Tried to read from index {position} but array size is: {len(self.values)}"
            )
        if position in self.cleared:
            raise invalid(
                "TW206",
                f"Could not read index {position} twice because it was cleared after a "
                "previous read",
                hint="TensorArray(..., clear_after_read=False)",
            )
        element = self._value(position)
        if self.elements.clear:
            self.values[position] = None
            self.cleared.add(position)
        return element

    def stack(self) -> Any:
        """Return all elements along a new axis."""
        if not self.values:
            return zeros(
                [0, *[size or 0 for size in self.elements.dims or ()]], self.elements.dtype
            )
        return stack([self._value(place) for place in range(len(self.values))])

    def gather(self, indices: Any) -> Any:
        """Return some elements along a new axis."""
        places = indices.numpy().tolist()
        for place in places:
            if not 0 <= place < len(self.values):
                raise _out_of_range(
                    f"Tried to read from index {place} but array size is: {len(self.values)}"
                )
        if not places:
            return zeros([0, *(self.elements.dims or ())], self.elements.dtype)
        return stack([self._value(place) for place in places])

    def concat(self) -> Any:
        """Return all elements along their first axis."""
        parts = [self._value(place) for place in range(len(self.values))]
        if not parts:
            raise invalid("TW207", "TensorArray.concat: the array is empty", "an element")
        return concat(parts, 0)

    def unstack(self, value: Any) -> EagerList:
        """Return the slices of a tensor as the elements."""
        parts = unstack(value)
        if len(parts) > len(self.values) and not self.elements.dynamic:
            raise value_error(
                "TW206",
                f"Cannot unstack {len(parts)} tensors into a TensorArray of static size "
                f"{len(self.values)}",
            )
        if value.ndim:
            self.elements.accept(value.shape[1:])
        self.values, self.cleared = list(parts), set()
        return self

    def scatter(self, indices: Any, value: Any) -> EagerList:
        """Return the slices of a tensor as the elements at places."""
        for place, part in zip(indices.numpy().tolist(), unstack(value)):
            self.put(place, part)
        return self

    def split(self, value: Any, lengths: Any) -> EagerList:
        """Split a tensor into consecutive pieces as the elements."""
        sizes = lengths.numpy().tolist()
        if sum(sizes) != value.dims[0]:
            raise invalid(
                "TW204",
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{sum(sizes)} and value's shape is: {list(value.dims)}",
            )
        if len(sizes) != len(self.values) and not self.elements.dynamic:
            raise invalid(
                "TW204",
                f"TensorArray's size is not equal to the size of lengths ({len(self.values)} vs. "
                f"{len(sizes)}), and the TensorArray is not marked as dynamically resizeable.",
            )
        self.values, self.cleared = list(split(value, sizes)), set()
        self.elements.accept(TensorShape([None, *value.shape[1:]]))
        return self

    def close(self) -> None:
        """Let go of the elements."""
        self.values, self.cleared = [], set()

    def size(self) -> Any:
        """Return the number of elements."""
        return convert_to_tensor(len(self.values), int32)


class GraphList:
    """Elements in a tensor of dtype variant; `count` is their number where it is known."""

    def __init__(self, elements: ListElements, flow: Symbol, count: object = None):
        self.elements, self.flow, self.count = elements, flow, count

    @classmethod
    def new(cls, elements: ListElements, size: TensorLike, count: TensorLike) -> GraphList:
        """Return a list of `size` elements that were not written."""
        return cls(elements, lists.list_new(size), None if elements.dynamic else count)

    @classmethod
    def of(cls, values: EagerList) -> GraphList:
        """Make a list of the graph in force with the elements of an eager list."""
        number = convert_to_tensor(len(values.values), int32)
        flow = lists.list_new(number)
        for place, value in enumerate(values.values):
            if value is not None:
                flow = lists.list_set(flow, _index(place), value, limited=False)
        return cls(values.elements, flow, len(values.values))

    def with_flow(self, flow: Any, count: Any = None) -> GraphList:
        """Return a list with the same rules."""
        return GraphList(self.elements, flow, self.count if count is None else count)

    @property
    def _limited(self) -> bool:
        return not self.elements.dynamic

    def put(self, index: TensorLike, value: Tensor) -> GraphList:
        """Return the list with one more element written."""
        self.elements.accept(value.shape)
        return self.with_flow(lists.list_set(self.flow, index, value, limited=self._limited))

    def get(self, index: TensorLike) -> Any:
        """Return one element."""
        elements = self.elements
        return lists.list_get(self.flow, index, dims=elements.dims, dtype=elements.dtype)

    def stack(self) -> Any:
        """Return all elements along a new axis."""
        elements = self.elements
        return lists.list_stack(
            self.flow, dims=elements.dims, dtype=elements.dtype, size=self.get_known_size()
        )

    def get_known_size(self) -> Any:
        """Return the number of elements, if it is known in the graph in force."""
        if type(self.count) is tuple:
            table, size = self.count
            return size if _is_here(table) else None
        return self.count

    def gather(self, indices: TensorLike) -> Any:
        """Return some elements along a new axis."""
        return gather(self.stack(), indices)

    def concat(self) -> Any:
        """Return all elements along their first axis."""
        return parts.list_concat(self.flow, dims=self.elements.dims, dtype=self.elements.dtype)

    def unstack(self, value: Tensor) -> GraphList:
        """Unstack a tensor into the elements."""
        rank = value.shape.rank
        if rank == 0:
            raise value_error("TW203", "TensorArray.unstack: the value is a scalar", "rank >= 1")
        if rank is not None:
            self.elements.accept(value.shape[1:])
            length = value.shape[0]
            known = type(self.count) is int and length is not None
            if known and length > self.count and self._limited:  # type: ignore
                raise invalid(
                    "TW206",
                    f"Cannot unstack {length} tensors into a TensorArray of static size "
                    f"{self.count}",
                )
            return self.with_flow(lists.list_from(value), count_of(value))
        return GraphList(self.elements, lists.list_from(value))

    def scatter(self, indices: TensorLike, value: Any) -> GraphList:
        """Return the slices of a tensor as the elements at places."""
        if value.shape.rank:
            self.elements.accept(value.shape[1:])
        flow = parts.list_scatter(self.flow, indices, value, limited=self._limited)
        return self.with_flow(flow)

    def split(self, value: Any, lengths: TensorLike) -> GraphList:
        """Return consecutive pieces of a tensor as the elements."""
        if value.shape.rank:
            self.elements.accept(TensorShape([None, *value.shape[1:]]))
        return GraphList(self.elements, parts.list_split(value, lengths))

    def size(self) -> Any:
        """Return the number of elements."""
        return lists.list_size(self.flow)

    def close(self) -> None:
        """Do nothing: a graph's list is a value."""


def _index(place: int) -> Any:
    return convert_to_tensor(place, int32)


def _is_here(table: NodeTable) -> bool:
    base = dispatch.context.base
    return base is not None and base.table is table


def count_of(value: Any) -> Any:
    """Return the first dimension of a tensor: a number, or a size with the graph it belongs to."""
    length = value.dims[0]
    if type(length) is int:
        return length
    return (value.node.table, length) if type(value) is Symbol else None
