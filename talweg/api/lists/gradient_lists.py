"""Lists of the gradients of a TensorArray's elements, which `TensorArray.grad` gives.

What is written twice is added, and what was not written is zero.  As all lists in graphs they are
values: each writing gives a new one, so two that begin for the same source know nothing of each
other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.array.gathering import gather
from talweg.api.array.shapes import reshape
from talweg.api.lists.tensor_lists import GraphList, ListElements
from talweg.api.math.segments import unsorted_segment_sum
from talweg.core import dispatch
from talweg.core.dtypes import int32
from talweg.core.shapes import TensorShape
from talweg.eager.convert import convert_to_tensor
from talweg.graph.symbol import Symbol
from talweg.prims import arithmetic, reduce
from talweg.prims.lists import elements as lists
from talweg.prims.lists import parts

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor


class GradientList(GraphList):
    """The gradients of the elements of `forward`, a list of the graph; their sums so far."""

    def __init__(self, elements: ListElements, flow: Symbol, forward: Any, limited: bool = False):
        super().__init__(elements, flow)
        self.forward = forward  # the flow of the array itself; None where it is not known
        self._is_limited = limited  # whether there are no gradients past its end

    @classmethod
    def begun(cls, forward: GraphList) -> GradientList:
        """Make zeros for each element of an array."""
        own = forward.elements
        elements = ListElements(own.dtype, own.shape, own.infer, False, False)
        zero = lists.list_new(forward.size())
        return cls(elements, zero, forward.flow, True)

    def with_flow(self, flow: Any, count: Any = None) -> GradientList:
        """Return a list of gradients of the same elements."""
        return GradientList(self.elements, flow, self.forward, self._is_limited)

    def put(self, index: TensorLike, value: Tensor) -> GradientList:
        """Return the list with `value` added to one element."""
        self.elements.accept(value.shape)
        dims, dtype = self.elements.dims, self.elements.dtype
        present = lists.list_take(self.flow, index, value, dims=dims, dtype=dtype)
        total = arithmetic.add(present, value)
        return self.with_flow(lists.list_set(self.flow, index, total, limited=self._is_limited))

    def get(self, index: TensorLike) -> Any:
        """Return one element."""
        dims, dtype = self.elements.dims, self.elements.dtype
        like = ()
        if not self.elements.shape.is_fully_defined() and self._is_forward_here():
            like = (lists.list_get(self.forward, index, dims=dims, dtype=dtype),)
        return lists.list_take(self.flow, index, *like, dims=dims, dtype=dtype)

    def stack(self) -> Any:
        """Return all elements along a new axis."""
        return self._stack(self.size())

    def gather(self, indices: TensorLike) -> Any:
        """Return some elements along a new axis."""
        indices = reshape(indices, [-1])
        return gather(self._stack(_end_of(indices)), indices)

    def concat(self) -> Any:
        """Return all elements along their first axis."""
        flow = _at_least(self.flow, self.size())
        return parts.list_concat(flow, dims=self.elements.dims, dtype=self.elements.dtype)

    def unstack(self, value: Tensor) -> GradientList:
        """Return the list with the slices of a tensor added to its elements."""
        if value.shape.rank is not None:
            self.elements.accept(value.shape[1:])
        return self._with_sum(lists.list_from(value))

    def scatter(self, indices: TensorLike, value: Any) -> GradientList:
        """Return the list with the slices of a tensor added to the elements at places."""
        if value.shape.rank:
            self.elements.accept(value.shape[1:])
        indices = reshape(indices, [-1])
        rows = unsorted_segment_sum(value, indices, _end_of(indices))
        return self._with_sum(lists.list_from(rows))

    def split(self, value: Any, lengths: TensorLike) -> GradientList:
        """Return the list with consecutive pieces of a tensor added to its elements."""
        if value.shape.rank:
            self.elements.accept(TensorShape([None, *value.shape[1:]]))
        return self._with_sum(parts.list_split(value, lengths))

    def size(self) -> Any:
        """Return the number of elements of the array itself."""
        return lists.list_size(self.forward if self._is_forward_here() else self.flow)

    def _with_sum(self, flow: Symbol) -> GradientList:
        return self.with_flow(lists.variant_sum(self.flow, flow))

    def _stack(self, size: Any) -> Any:
        elements = self.elements
        flow = _at_least(self.flow, size)
        return lists.list_stack(flow, dims=elements.dims, dtype=elements.dtype)

    def _is_forward_here(self) -> bool:
        """Return whether the array itself can be used in the graph in force."""
        if self.forward is None:
            return False
        graph = dispatch.context.base
        while graph is not None and graph.table is not self.forward.node.table:
            graph = getattr(graph, "outer", None)
        return graph is not None


def _at_least(flow: Symbol, size: Any) -> Any:
    """Return a list with as many elements, those that were absent too."""
    return lists.variant_sum(lists.list_new(size), flow)


def _end_of(indices: Any) -> Any:
    """Return one more than the largest index."""
    last = reduce.reduce_max(indices, axes=(0,), keepdims=False)
    none = convert_to_tensor(-1, indices.dtype)
    end = arithmetic.add(arithmetic.maximum(last, none), convert_to_tensor(1, indices.dtype))
    return arithmetic.cast(end, dtype=int32)
