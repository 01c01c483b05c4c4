"""tf.TypeSpec and its kinds, and the spec of a value."""

from __future__ import annotations

from typing import Any

from talweg.api.export import export
from talweg.core.errors import type_error
from talweg.core.spec import IndexedSlicesSpec, NoneTensorSpec, TensorSpec, TypeSpec
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.variable import Variable
from talweg.eager.variable_spec import VariableSpec

export("TypeSpec")(TypeSpec)
export("TensorSpec")(TensorSpec)
export("IndexedSlicesSpec")(IndexedSlicesSpec)
export("NoneTensorSpec")(NoneTensorSpec)


@export("type_spec_from_value")
def type_spec_from_value(value: Any) -> TypeSpec:
    """Return the spec of a tensor, a variable, a composite, or a value that converts to a tensor.

    TypeError for other values.

    >>> import talweg as tf
    >>> tf.type_spec_from_value([1, 2])
    TensorSpec(shape=(2,), dtype=tf.int32, name=None)
    """
    if value is None:
        return NoneTensorSpec()
    if isinstance(value, TypeSpec):
        return value
    if isinstance(value, Variable):
        return VariableSpec(value.shape, value.dtype, value.trainable)
    if hasattr(value, "_type_spec"):
        return value._type_spec
    if hasattr(value, "_flat_components"):
        return IndexedSlicesSpec.from_value(value)
    if not isinstance(value, Tensor):
        try:
            value = convert_to_tensor(value)
        except (TypeError, ValueError):
            raise type_error(
                "TW104", f"Could not build a TypeSpec for {value!r} of type {type(value).__name__}"
            ) from None
    return TensorSpec(value.shape, value.dtype)
