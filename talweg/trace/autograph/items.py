"""Assignment to parts of a local name: `x[i] = y`, `x[i] += y` and `x.append(y)`.

A tensor cannot be changed, so the name gets a new tensor; a `tf.TensorArray` likewise.  Everything
else is changed in place, as ever.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from talweg.core.errors import type_error
from talweg.core.hooks import hooks
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.graph import structure
from talweg.graph.symbol import Symbol
from talweg.trace.autograph.values import Undefined, can_be_tensor

if TYPE_CHECKING:
    from talweg.core.dtypes import DType

_OPERATORS = {
    "Add": operator.iadd,
    "Sub": operator.isub,
    "Mult": operator.imul,
    "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv,
    "Mod": operator.imod,
    "Pow": operator.ipow,
    "MatMult": operator.imatmul,
    "BitAnd": operator.iand,
    "BitOr": operator.ior,
    "BitXor": operator.ixor,
    "LShift": operator.ilshift,
    "RShift": operator.irshift,
}


class Nowhere:
    """A marker for `x[i]` where x is a tensor: it is no variable of its own."""

    def __getitem__(self, index: object) -> Any:
        return self

    def __setitem__(self, index: object, value: Any) -> None:
        return None


NOWHERE = Nowhere()


class ItemTarget:
    """The target of a branch's or loop's writes; undefined items are removed there."""

    __slots__ = ("_owner",)

    def __init__(self, owner: object):
        object.__setattr__(self, "_owner", owner)

    def __setattr__(self, name: str, value: Symbol) -> None:
        if not isinstance(value, Undefined):
            setattr(self._owner, name, value)
        elif hasattr(self._owner, name):
            delattr(self._owner, name)

    def __setitem__(self, key: object, value: Any) -> None:
        if not isinstance(value, Undefined):
            self._owner[key] = value
        elif isinstance(self._owner, dict):
            self._owner.pop(key, None)


def is_array(value: object) -> bool:
    """Return whether a value is a `tf.TensorArray`."""
    return hasattr(value, "mark_used") and hasattr(value, "write")


class Appended:
    """A Python list that a traced loop appends to, of symbolic length.

    It is appended to, indexed, gone over in traced loops, and becomes one tensor where a tensor is
    wanted.
    """

    def __init__(self, array: Any):
        self.array = array

    @classmethod
    def of(cls, before: list, after: list) -> Appended:
        """Make one from a list before a loop and after one iteration; TypeError if it is mixed."""
        tensors = []
        for element in after:
            if structure.is_nested(element, composites=True) or not can_be_tensor(element):
                raise type_error(
                    "TW208",
                    f"a loop over tensors appends {element!r} to a list",
                    "tensors",
                    "one list for each part",
                )
            tensors.append(convert_to_tensor(element))
        dtype, shape = tensors[-1].dtype, tensors[-1].shape
        for tensor in tensors:
            if tensor.dtype is not dtype:
                raise type_error(
                    "TW102",
                    f"a loop over tensors appends {dtype.name} to a list with {tensor.dtype.name}",
                    "elements of one dtype",
                )
            shape = shape.most_specific_compatible_shape(tensor.shape)
        array = hooks.look_up_export("TensorArray")(
            dtype, len(before), dynamic_size=True, clear_after_read=False, element_shape=shape
        )
        for position, element in enumerate(before):
            array = array.write(position, element)
        return cls(array)

    def append(self, value: Any) -> None:
        """Append an element."""
        self.array = self.array.write(self.array.size(), value)

    def extend(self, values: Any) -> None:
        """Append several elements."""
        for value in values:
            self.append(value)

    def __iter__(self) -> Any:
        raise type_error(
            "TW208",
            "Python goes over a list that a loop over tensors makes longer",
            "a `for` that AutoGraph converts, or tf.stack(items)",
        )

    def __add__(self, other: Any) -> Appended:
        if not isinstance(other, (list, tuple)):
            return NotImplemented
        longer = Appended(self.array)
        longer.extend(other)
        return longer

    def __iadd__(self, other: Any) -> Appended:
        self.extend(other)
        return self

    def __radd__(self, other: Any) -> Any:
        raise type_error(
            "TW208",
            "a loop over tensors puts elements before those of a list",
            "elements behind them",
            "list.append, and tf.reverse of the stacked elements after the loop",
        )

    def __mul__(self, count: Any) -> Any:
        raise type_error("TW208", "a loop over tensors repeats a list", "list.append")

    __rmul__ = __mul__

    def size(self) -> Any:
        """Return the number of elements, a tensor."""
        return self.array.size()

    def read(self, index: Any) -> Any:
        """Return one element."""
        return self.array.read(index)

    def mark_used(self) -> None:
        """Do nothing: the elements are kept."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.stack()[index]
        if isinstance(index, int):
            return self.array.read(index if index >= 0 else self.array.size() + index)
        where = hooks.look_up_export("where")
        return self.array.read(where(index < 0, index + self.size(), index))

    def stack(self) -> Any:
        """Stack all elements along a new first axis."""
        return self.array.stack()

    def __tf_tensor__(self, dtype: DType | None = None, name: str | None = None) -> Any:
        return convert_to_tensor(self.stack(), dtype)

    def _flat_components(self) -> list:
        return [self.array]

    def _with_components(self, parts: list) -> Any:
        """Return the list itself, where its size is known, for callers in eager mode."""
        array = parts[0]
        size = array.size()
        if isinstance(size, Symbol):
            return Appended(array)
        return [array.read(place) for place in range(int(size))]


def own(value: object) -> Any:
    """Return the value; the analysis counts the name as assigned."""
    return value


def place(value: Symbol) -> Any:
    """Return the object that holds the items of a value."""
    return NOWHERE if isinstance(value, Tensor) or is_array(value) else value


def item_targets(value: Symbol) -> Any:
    """Return the targets of writes to items and attributes of a value."""
    return NOWHERE if isinstance(value, Tensor) or is_array(value) else ItemTarget(value)


def set_item(target: Any, index: Any, value: object) -> Any:
    """Run `target[index] = value` and return the new value of the name."""
    if isinstance(target, Tensor):
        return hooks.tensor_with_item(target, index, value)
    if is_array(target):
        return target.write(index, value)
    target[index] = value
    return target


def update_item(target: Any, index: Any, name: str, value: object) -> Any:
    """Run `target[index] += value`, or another operator, and return the new value of the name."""
    if is_array(target):
        return target.write(index, _OPERATORS[name](target.read(index), value))
    return set_item(target, index, _OPERATORS[name](target[index], value))


def list_append(target: Any, value: object) -> Any:
    """Run `target.append(value)` and return the new value of the name."""
    if is_array(target):
        return target.write(target.size(), value)
    target.append(value)
    return target
