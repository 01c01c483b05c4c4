"""tf.TensorArray: an array of tensors that is written element by element, and its spec.

In eager mode it holds a Python list and changes in place; in a graph it is a value of dtype variant
(`tensor_lists.py`), so it can be a loop variable, the result of a branch, and differentiated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.lists.gradient_lists import GradientList
from talweg.api.lists.tensor_lists import EagerList, GraphList, ListElements
from talweg.core import dispatch
from talweg.core.dtypes import as_dtype, float32, int32
from talweg.core.errors import NeedsStaticError, compose, invalid, value_error
from talweg.core.shapes import TensorShape, as_shape
from talweg.core.spec import TypeSpec
from talweg.eager.convert import convert_to_tensor
from talweg.graph.contents import element
from talweg.graph.symbol import Symbol
from talweg.trace.host import nothing

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike, TensorLike
    from talweg.core.value import Tensor


@export("TensorArray")
class TensorArray:
    """An array of tensors of one dtype, written and read one by one (`tf.TensorArray`).

    size: the number of elements, an int or scalar tensor.  dynamic_size: whether writing past the
    end makes it longer.  clear_after_read: in eager mode, whether an element can be read only once
    (the default).  infer_shape: whether all elements must have one shape; element_shape: that
    shape, as far as it is known.  ValueError without a size in eager mode.  Always go on with what
    `write`, `unstack`, `scatter` and `split` return.

    >>> import talweg as tf
    >>> array = tf.TensorArray(tf.float32, size=2)
    >>> array = array.write(0, 10.0).write(1, 20.0)
    >>> array.stack()
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([10., 20.], dtype=float32)>
    """

    def __init__(
        self,
        dtype: object,
        size: object = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: object = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: ShapeLike | None = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ):
        if dynamic_size not in (None, True, False):
            raise value_error("TW104", f"TensorArray: dynamic_size={dynamic_size!r}", "a bool")
        clear = clear_after_read is None or bool(clear_after_read)
        self._elements = ListElements(
            as_dtype(dtype), element_shape, infer_shape, bool(dynamic_size), clear
        )
        if type(flow) is Symbol:
            self._list: Any = GraphList(self._elements, flow)
            return
        if size is None:
            raise value_error(
                "TW104",
                "Size must be declared for TensorArrays when eager execution is enabled.",
                "size=..., 0 with dynamic_size=True",
            )
        size = tensor(size)
        if dispatch.context.base is not None or type(size) is Symbol:
            self._list = GraphList.new(self._elements, size, _static_size(size))
        else:
            self._list = EagerList(self._elements, max(int(size), 0))

    @classmethod
    def _with(cls, elements: ListElements, values: object) -> TensorArray:
        array = cls.__new__(cls)
        array._elements, array._list = elements, values
        return array

    # -- what it is

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self._elements.dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether it grows when it is written past its end."""
        return self._elements.dynamic

    @property
    def element_shape(self) -> TensorShape:
        """The static shape of an element, as far as it is known."""
        return self._elements.shape

    @property
    def flow(self) -> Any:
        """The tensor that stands for the array in a graph."""
        values = self._list
        return values.flow if isinstance(values, GraphList) else convert_to_tensor(0, int32)

    @property
    def handle(self) -> None:
        """The resource handle: None, there is no resource behind an array."""
        return None

    def _flat_components(self) -> list:
        """Return the tensors it is made of: in a graph one of dtype variant."""
        values = self._here()
        if isinstance(values, GraphList):
            return [values.flow]
        return [value for value in values.values if value is not None]

    def _with_components(self, parts: list) -> TensorArray:
        """Return an array like this one of other tensors."""
        values = self._list
        if isinstance(values, GradientList):
            return self._with(self._elements, values.with_flow(parts[0]))
        if len(parts) == 1 and parts[0].dtype.name == "variant":
            count = values.count if isinstance(values, GraphList) else len(values.values)
            count = None if self._elements.dynamic else count
            return self._with(self._elements, GraphList(self._elements, parts[0], count))
        copy, remaining = EagerList(self._elements, len(values.values)), iter(parts)
        copy.values = [None if value is None else next(remaining) for value in values.values]
        return self._with(self._elements, copy)

    def _in_graphs(self) -> TensorArray:
        """Return the array as a value, which it is in graphs."""
        values = self._list
        return (
            self
            if isinstance(values, GraphList)
            else self._with(self._elements, GraphList.of(values))
        )

    def _here(self) -> Any:
        """Return the elements as the mode in force has them."""
        if isinstance(self._list, EagerList) and dispatch.context.base is not None:
            return GraphList.of(self._list)
        return self._list

    def _with_values(self, values: EagerList | GraphList) -> TensorArray:
        return self if values is self._list else self._with(self._elements, values)

    def _value(self, value: Any) -> Any:
        """Return a tensor to be written; InvalidArgumentError for another dtype."""
        dtype = self._elements.dtype
        value = tensor(value, hint=dtype)
        if value.dtype is not dtype:
            raise invalid(
                "TW102",
                f"TensorArray dtype is {dtype.name} but Op is trying to write dtype "
                f"{value.dtype.name}",
                hint=f"tf.cast(value, tf.{dtype.name})",
            )
        return value

    # -- elements

    def write(self, index: TensorLike, value: Any, name: str | None = None) -> TensorArray:
        """Return the array with `value` as element `index`.

        OutOfRangeError (InvalidArgumentError in a graph) for an index that is not there,
        InvalidArgumentError for another dtype, ValueError for another shape.

        >>> import talweg as tf
        >>> int(tf.TensorArray(tf.int32, 1).write(0, 7).read(0))
        7
        """
        values = self._here()
        return self._with_values(values.put(_place(index), self._value(value)))

    def read(self, index: TensorLike, name: str | None = None) -> Any:
        """Return element `index`; zeros if it was not written and its shape is known.

        >>> import talweg as tf
        >>> int(tf.TensorArray(tf.int32, 2, element_shape=[]).read(1))
        0
        """
        return self._here().get(_place(index))

    def stack(self, name: str | None = None) -> Any:
        """Return all elements along a new first axis, [size, ...].

        >>> import talweg as tf
        >>> tf.TensorArray(tf.int32, 2).unstack([1, 2]).stack().numpy()
        array([1, 2], dtype=int32)
        """
        return self._here().stack()

    def gather(self, indices: TensorLike, name: str | None = None) -> Any:
        """Return the elements at `indices`, a vector, along a new first axis.

        >>> import talweg as tf
        >>> tf.TensorArray(tf.int32, 2).unstack([1, 2]).gather([1, 0, 1]).numpy()
        array([2, 1, 2], dtype=int32)
        """
        return self._here().gather(tensor(indices, hint=int32))

    def concat(self, name: str | None = None) -> Any:
        """Return all elements along their first axis, which may differ in size.

        >>> import talweg as tf
        >>> tf.TensorArray(tf.int32, 2).unstack([[1, 2], [3, 4]]).concat().numpy()
        array([1, 2, 3, 4], dtype=int32)
        """
        return self._here().concat()

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Return the array of the slices of `value` along its first axis.

        >>> import talweg as tf
        >>> int(tf.TensorArray(tf.int32, 2).unstack([5, 6]).read(1))
        6
        """
        return self._with_values(self._here().unstack(self._value(value)))

    def scatter(
        self, indices: TensorLike, value: TensorLike, name: str | None = None
    ) -> TensorArray:
        """Return the array with the slices of `value` as the elements at `indices`, a vector.

        >>> import talweg as tf
        >>> tf.TensorArray(tf.int32, 2).scatter([1, 0], [5, 6]).stack().numpy()
        array([6, 5], dtype=int32)
        """
        values = self._here()
        return self._with_values(values.scatter(tensor(indices, hint=int32), self._value(value)))

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Return the array of consecutive pieces of `value`, of these lengths along its first axis.

        >>> import talweg as tf
        >>> array = tf.TensorArray(tf.int32, 2, infer_shape=False).split([1, 2, 3], [1, 2])
        >>> array.read(1).numpy()
        array([2, 3], dtype=int32)
        """
        values = self._here()
        return self._with_values(values.split(self._value(value), tensor(lengths, hint=int32)))

    def size(self, name: str | None = None) -> Any:
        """Return the number of elements, int32.

        >>> import talweg as tf
        >>> int(tf.TensorArray(tf.int32, 3).size())
        3
        """
        return self._here().size()

    # -- the rest of TensorFlow's interface

    def identity(self) -> TensorArray:
        """Return the array itself."""
        return self

    def close(self, name: str | None = None) -> Any:
        """Let go of the elements; no need of it, since they go with the array.

        In a graph it gives an operation that does nothing.
        """
        self._list.close()
        return nothing() if dispatch.context.base is not None else None

    def grad(self, source: str, flow: TensorLike | None = None, name: str | None = None) -> Any:
        """Return the array of the gradients of this one's elements, in graphs: it begins with
        zeros.

        What is written to it twice is added, and an element that was not written is zero.  flow:
        that of such an array, which is then gone on with.  `source` is accepted: two arrays of
        gradients are two values, whatever their names.  NotImplementedError in eager mode.

        >>> import talweg.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     array = tf.TensorArray(tf.float32, 2).unstack([1.0, 2.0])
        ...     session.run(array.grad("ones").write(0, 1.0).write(0, 1.0).stack())
        array([2., 0.], dtype=float32)
        """
        values = self._here()
        if not isinstance(values, GraphList):
            raise NotImplementedError(
                compose(
                    "TW402",
                    "TensorArray.grad is not supported when executing eagerly",
                    hint="tf.GradientTape, tf.gradients",
                )
            )
        if isinstance(values, GradientList):
            raise invalid(
                "TW402", "TensorArray.grad: the array has gradients as elements", "another array"
            )
        begun = GradientList.begun(values)
        if flow is not None and flow is not values.flow:
            begun = begun.with_flow(flow)
        return self._with(begun.elements, begun)

    def mark_used(self) -> None:
        """Do nothing: no warning is given for arrays that are not used."""


def _place(index: object) -> Any:
    """Return an index as a tensor, a Python int in eager mode."""
    if type(index) is int and dispatch.context.base is None:
        return index
    return tensor(index, hint=int32)


def _static_size(size: Tensor) -> Any:
    """Return a size that is known while a graph is built,
    with the graph it belongs to; else None.
    """
    if type(size) is not Symbol:
        return int(size)
    try:
        found = element(size.node, 0)
    except NeedsStaticError:
        return None
    return found if type(found) is int else (size.node.table, found)


@export("TensorArraySpec")
class TensorArraySpec(TypeSpec):
    """The spec of a `tf.TensorArray`.

    >>> import talweg as tf
    >>> tf.TensorArraySpec.from_value(tf.TensorArray(tf.float32, 2, element_shape=[3]))
    TensorArraySpec(TensorShape([3]), tf.float32, False, True)
    """

    __slots__ = ("dtype", "dynamic_size", "element_shape", "infer_shape")

    def __init__(
        self,
        element_shape: ShapeLike | None = None,
        dtype: Any = float32,
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ):
        self.element_shape, self.dtype = as_shape(element_shape), as_dtype(dtype)
        self.dynamic_size, self.infer_shape = dynamic_size, infer_shape

    @property
    def value_type(self) -> type:
        """The class of the values of this spec, TensorArray."""
        return TensorArray

    def _serialize(self) -> tuple:
        return self.element_shape, self.dtype, self.dynamic_size, self.infer_shape

    def _of(self, value: object) -> TensorArraySpec | None:
        return self.from_value(value) if isinstance(value, TensorArray) else None

    @staticmethod
    def from_value(value: TensorArray) -> TensorArraySpec:
        """Return the spec of an array; TypeError for anything else."""
        if not isinstance(value, TensorArray):
            raise TypeError(f"Expected value to be a TensorArray, got {type(value)}.")
        return TensorArraySpec(
            value.element_shape, value.dtype, value.dynamic_size, value._elements.infer
        )

    def __repr__(self) -> str:
        return (
            f"TensorArraySpec({self.element_shape!r}, tf.{self.dtype.name}, {self.dynamic_size}, "
            f"{self.infer_shape})"
        )
