"""Converts arguments of operations to the dtypes in their signatures; handles of resources.

A handle is a tensor that holds a Python object: a table, a queue, a dataset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.core import dispatch
from talweg.core.dtypes import DType, as_dtype, int32, resource, variant
from talweg.core.errors import FailedPreconditionError, compose, invalid
from talweg.core.shapes import as_shape
from talweg.core.value import Tensor
from talweg.eager.structured import Variant, as_tensor, content
from talweg.eager.tensor import EagerTensor, array_of, wrap
from talweg.eager.variable import Variable
from talweg.graph.handle import Handle
from talweg.raw.operations import REQUIRED, Argument, OpSignature

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import ShapeLike

OBJECTS = (resource, variant)


def convert(operation: OpSignature, values: dict) -> dict:
    """Convert the arguments, inputs to tensors of the dtypes that the signature says.

    Inputs that share an attribute have the dtype of the first of them that is a tensor.
    """
    values_out = dict(values)
    kinds = {
        name: as_dtype(values[name])
        for name, (kind, _) in operation.attributes.items()
        if kind == "type" and values.get(name) is not None
    }
    for part in operation.inputs:
        if part.kind in operation.attributes and part.kind not in kinds:
            dtype = _own_dtype(values[part.keyword], part.is_list)
            if dtype is not None:
                kinds[part.kind] = dtype
    for part in operation.inputs:
        if part.dtype not in OBJECTS and not part.reference:
            values_out[part.keyword] = _as_tensors(part, values[part.keyword], kinds, operation)
    for name, (kind, _) in operation.attributes.items():
        name = operation.renamed.get(name, name)
        if values_out.get(name) is not None and kind in _KINDS:
            values_out[name] = _KINDS[kind](values_out[name])
    return values_out


def _as_types(values: list[DType]) -> list:
    return [as_dtype(value) for value in values]


_KINDS: dict[str, Any] = {"type": as_dtype, "list(type)": _as_types, "shape": as_shape}


def _own_dtype(value: object, is_list: bool) -> DType | None:
    """Return the dtype of a value that is a tensor, an array or a variable already."""
    for part in value if is_list and isinstance(value, (list, tuple)) else (value,):
        dtype = getattr(part, "dtype", None)
        if dtype is not None:
            return as_dtype(dtype)
    return None


def _as_tensors(part: Argument, value: Tensor, kinds: dict, operation: OpSignature) -> Any:
    dtype = part.dtype or kinds.get(part.kind)
    hint = None
    if dtype is None and part.kind in operation.attributes:
        default = operation.attributes[part.kind][1]
        hint = None if default is REQUIRED else default
    if part.listed:
        return [tensor(x) if not isinstance(x, Tensor) else x for x in value]
    if not part.is_list:
        one = _convert(value, dtype, hint)
        kinds.setdefault(part.kind, one.dtype)
        return one
    tensors = []
    for x in value:
        tensors.append(_convert(x, dtype, hint))
        dtype = dtype or tensors[-1].dtype
    return tensors


def _convert(value: object, dtype: DType | None, hint: DType | None) -> Any:
    if isinstance(value, Tensor) and dtype is not None and value.dtype is not dtype:
        raise invalid("TW102", f"expected a tensor of {dtype.name}, got {value.dtype.name}")
    return value if isinstance(value, Tensor) else tensor(value, dtype, hint)


def attributes_of(operation: OpSignature, values: dict) -> dict | None:
    """Infer all attributes, those that follow from the inputs too; None if one does not."""
    attributes = {
        name: values.get(operation.renamed.get(name, name), default)
        for name, (_, default) in operation.attributes.items()
    }
    for part in operation.inputs:
        value = values[part.keyword]
        if part.number:
            attributes[part.number] = len(value)
        if part.listed:
            attributes[part.listed] = [x.dtype for x in value]
        elif part.kind in attributes:
            first = value[0] if part.is_list and len(value) else value
            if not part.is_list or len(value):
                attributes[part.kind] = getattr(first, "dtype", attributes[part.kind])
    for name, (kind, _) in operation.attributes.items():
        if kind in _KINDS and attributes[name] is not REQUIRED and attributes[name] is not None:
            attributes[name] = _KINDS[kind](attributes[name])
    return None if any(value is REQUIRED for value in attributes.values()) else attributes


def dtypes_of_results(operation: OpSignature, values: dict) -> list | None:
    """Return the dtypes of the results, one for each tensor; None if the arguments do not say."""
    attributes = attributes_of(operation, values)
    if attributes is None:
        return None
    return [dtype for part in operation.outputs for dtype in part.dtypes(attributes)]


def sizes_of(shape: ShapeLike) -> tuple | None:
    """Return the sizes that a shape says, None for each it does not know; None without a rank."""
    return None if shape.rank is None else tuple(shape.as_list())


# -- handles


def handle_of(thing: object) -> EagerTensor:
    """Return a tensor that holds a Python object."""
    return as_tensor(thing)


def thing_of(handle: object, kind: Any, operation: str) -> Any:
    """Return the resource behind a handle; InvalidArgumentError unless it is of this class."""
    found = handle_content(handle)
    if not isinstance(found, kind):
        raise invalid("TW102", f"{operation}: a handle of {found!r}", "one of another resource")
    return found


def handle_content(handle: object) -> Any:
    """Return the resource behind a handle; a variable of its handle; anything else as it is."""
    found = content(handle) if isinstance(handle, EagerTensor) else handle
    if isinstance(found, np.ndarray) and found.dtype == object:
        found = found[()]
    found = found.value if type(found) is Variant else found
    return found.variable if isinstance(found, Handle) else found


_shared: dict[tuple, Any] = {}


def get_shared_handle(kind: str, container: str, name: str, make: Callable[..., Any]) -> Any:
    """Return the handle of this kind and name, made if it is not there; without a name, a new one.

    A graph has handles of its own.
    """
    if not name:
        return make()
    graph = dispatch.context.base
    known = _shared if graph is None else graph.extras.setdefault("shared_handles", {})
    key = (kind, container, name)
    if key not in known:
        known[key] = make()
    return known[key]


class VariableCell:
    """A variable that does not exist before something is assigned to it."""

    def __init__(self, dtype: DType, shape: Any, name: str):
        self.dtype, self.shape, self.name = dtype, shape, name
        self.variable: Any = None


def variable_of(resource: object) -> Any:
    """Return the variable of a handle, or itself; FailedPreconditionError before it has a value."""
    found = handle_content(resource)
    if isinstance(found, VariableCell):
        if found.variable is None:
            text = f"the resource variable '{found.name}' is not initialized"
            raise FailedPreconditionError(None, None, compose("TW401", text))
        return found.variable
    if not isinstance(found, Variable):
        raise invalid("TW102", f"{found!r} is no variable", "a variable or its handle")
    return found


def numbers_of(x: object) -> np.ndarray:
    """Return the array of a tensor with a value; NeedsStaticError in a graph."""
    return np.asarray(array_of(x))


def scalar_of(x: object) -> Any:
    """Return the Python value of a tensor with one element."""
    return numbers_of(x).reshape(-1)[0]


def of_array(array: object, dtype: DType | None = None) -> EagerTensor:
    """Return an array as a tensor."""
    if dtype is not None and dtype.name != "string":
        array = np.asarray(array, dtype.numpy_dtype)
    return wrap(np.asarray(array))


def integers_of(x: object) -> list[int]:
    """Return the numbers of a small tensor, flat."""
    return [int(n) for n in numbers_of(x).reshape(-1)]


def as_size_vector(*numbers: int) -> EagerTensor:
    """Convert integers to an int32 vector."""
    return of_array(np.array(numbers), int32)
