"""Assignment to parts of a local name: `x[i] = y`, `x[i] += y` and `x.append(y)`.

A tensor cannot be changed, so the name gets a new tensor; a `tf.TensorArray` likewise.  Everything
else is changed in place, as ever.
"""

from __future__ import annotations

import operator
from typing import Any

from talweg.core.value import OPERATIONS, Tensor

_OPERATORS = {
    "Add": operator.iadd, "Sub": operator.isub, "Mult": operator.imul, "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv, "Mod": operator.imod, "Pow": operator.ipow,
    "MatMult": operator.imatmul, "BitAnd": operator.iand, "BitOr": operator.ior,
    "BitXor": operator.ixor, "LShift": operator.ilshift, "RShift": operator.irshift,
}  # fmt: skip


class Nowhere:
    """Stands for `x[i]` where x is a tensor: it is no variable of its own."""

    def __getitem__(self, index: Any) -> Any:
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        return None


NOWHERE = Nowhere()


def is_array(value: Any) -> bool:
    """Whether it is a `tf.TensorArray`."""
    return hasattr(value, "mark_used") and hasattr(value, "write")


def own(value: Any) -> Any:
    """The value; the analysis takes the name for changed."""
    return value


def place(value: Any) -> Any:
    """Where the items of a value are."""
    return NOWHERE if isinstance(value, Tensor) or is_array(value) else value


def set_item(target: Any, index: Any, value: Any) -> Any:
    """`target[index] = value`; what the name stands for afterwards."""
    if isinstance(target, Tensor):
        return OPERATIONS["tensor_with_item"](target, index, value)
    if is_array(target):
        return target.write(index, value)
    target[index] = value
    return target


def update_item(target: Any, index: Any, name: str, value: Any) -> Any:
    """`target[index] += value`, or with another operator."""
    if is_array(target):
        return target.write(index, _OPERATORS[name](target.read(index), value))
    return set_item(target, index, _OPERATORS[name](target[index], value))


def list_append(target: Any, value: Any) -> Any:
    """`target.append(value)`; what the name stands for afterwards."""
    if is_array(target):
        return target.write(target.size(), value)
    target.append(value)
    return target
